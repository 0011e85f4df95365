import anthropic

MAX_CALLS = 10
TOOLS = [
    {
        "name": "refund",
        "description": "Refund an order.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "integer"}},
            "required": ["order_id"],
        },
    }
]


class Unfinished(Exception):
    """The run ended without an answer."""


def refund(order_id: int) -> str:
    return f"order {order_id} is refunded"


def result_of(call) -> dict:
    """What a call gives; one that can't be run is answered with an error, so that the model can correct itself."""
    try:
        if call.name != "refund":
            raise ValueError(f"there is no tool {call.name}")
        content, failed = refund(**call.input), False
    except Exception as error:
        content, failed = f"{type(error).__name__}: {error}", True
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": failed}


def ask(prompt: str) -> str:
    client = anthropic.Anthropic()
    messages = [{"role": "user", "content": prompt}]
    max_tokens = 1024
    for _ in range(MAX_CALLS):
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=max_tokens, tools=TOOLS, messages=messages
        ) as stream:
            reply = stream.get_final_message()
        if reply.stop_reason == "max_tokens":  # cut: ask again, with more room
            max_tokens *= 4
            continue
        if reply.stop_reason in ("refusal", "model_context_window_exceeded"):
            raise Unfinished(reply.stop_reason)
        if reply.content:
            messages.append({"role": "assistant", "content": reply.content})
        if reply.stop_reason == "pause_turn":  # the provider goes on where it paused
            continue
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls and reply.stop_reason == "tool_use":
            raise Unfinished("the reply stopped for a tool and calls none")
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": [result_of(call) for call in calls]})
    raise Unfinished(f"no answer after {MAX_CALLS} model calls")

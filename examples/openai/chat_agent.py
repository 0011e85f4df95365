"""The same agent over Chat Completions."""

import json

import openai

MAX_CALLS = 10
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "refund",
            "description": "Refund an order.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "integer"}},
                "required": ["order_id"],
            },
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
        if call.function.name != "refund":
            raise ValueError(f"there is no tool {call.function.name}")
        content = refund(**json.loads(call.function.arguments))
    except Exception as error:
        content = f"Error: {type(error).__name__}: {error}"
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def ask(prompt: str) -> str:
    client = openai.OpenAI()
    messages = [{"role": "user", "content": prompt}]
    room = 1024
    for _ in range(MAX_CALLS):
        reply = client.chat.completions.create(
            model="gpt-6-astra", max_completion_tokens=room, tools=TOOLS, messages=messages
        )
        choice = reply.choices[0]
        if choice.finish_reason == "length":  # cut: ask again, with more room
            room *= 4
            continue
        if choice.message.refusal or choice.finish_reason == "content_filter":
            raise Unfinished(choice.message.refusal or "filtered")
        messages.append(choice.message.to_dict())
        if not choice.message.tool_calls and choice.finish_reason == "tool_calls":
            raise Unfinished("the reply stopped for a tool and calls none")
        if not choice.message.tool_calls:
            return choice.message.content or ""
        messages += [result_of(call) for call in choice.message.tool_calls]
    raise Unfinished(f"no answer after {MAX_CALLS} model calls")

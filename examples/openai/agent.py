"""An agent over the Responses API."""

import json

import openai

MAX_CALLS = 10
TOOLS = [
    {
        "type": "function",
        "name": "refund",
        "description": "Refund an order.",
        "strict": False,
        "parameters": {
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
        output = refund(**json.loads(call.arguments))
    except Exception as error:
        output = f"Error: {type(error).__name__}: {error}"
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


def ask(prompt: str) -> str:
    client = openai.OpenAI()
    items = [{"role": "user", "content": prompt}]
    room = 1024
    for _ in range(MAX_CALLS):
        reply = client.responses.create(model="gpt-6-astra", max_output_tokens=room, tools=TOOLS, input=items)
        if reply.status == "incomplete" and reply.incomplete_details.reason == "max_output_tokens":
            room *= 4  # cut: ask again, with more room
            continue
        parts = [part for item in reply.output if item.type == "message" for part in item.content]
        if reply.status != "completed" or any(part.type == "refusal" for part in parts):
            raise Unfinished(f"the reply is {reply.status}: {reply.output_text or 'refused'}")
        items += [item.to_dict() for item in reply.output]
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return reply.output_text
        items += [result_of(call) for call in calls]
    raise Unfinished(f"no answer after {MAX_CALLS} model calls")

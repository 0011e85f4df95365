"""Replies as bytes, rendered once: what differs from one time to the next is only the ids, which all hold the same tag."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from agentsim.core.messages import Reply
from agentsim.wire.base import Codec, HttpResponse, ModelRequest

#: Stands for the tag in what is kept; no reply that holds it is kept.
_TAG = "1sim0tag1"
_BYTES = _TAG.encode()
_KEPT, _LARGEST_KEPT = 256, 16 * 1024

_Template = tuple[int, tuple[tuple[str, str], ...], tuple[int, ...], bytes]
_templates: OrderedDict[Any, _Template | None] = OrderedDict()
_MISSING: Any = object()


def encode(codec: Codec, reply: Reply, asked: ModelRequest, tag: str, size: int | None) -> HttpResponse:
    """As `codec.encode_reply`, the body in one piece where that is as good.

    Raises:
        CannotExpress: this wire has no way to say it.
    """
    variant = codec.variant(asked)
    key = (reply, codec.wire, variant, size)
    try:
        template = _templates.get(key, _MISSING) if variant is not None else None
    except TypeError:  # a server tool's result may hold anything
        template = None
    if template is _MISSING:
        template = _templates[key] = _template(codec, reply, asked, size)
        if len(_templates) > _KEPT:
            _templates.popitem(last=False)
    if template is None:
        return codec.encode_reply(reply, asked, tag, size)
    status, headers, places, body = template
    if places:
        changed = list(headers)
        for place in places:
            changed[place] = (changed[place][0], changed[place][1].replace(_TAG, tag))
        headers = tuple(changed)
    return HttpResponse(status, headers, (body.replace(_BYTES, tag.encode()),))


def _template(codec: Codec, reply: Reply, asked: ModelRequest, size: int | None) -> _Template | None:
    response = codec.encode_reply(reply, asked, _TAG, size)
    body = response.body
    if len(body) > _LARGEST_KEPT or _TAG in repr(reply):
        return None
    places = tuple(index for index, (_, value) in enumerate(response.headers) if _TAG in value)
    return response.status, response.headers, places, body

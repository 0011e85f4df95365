"""Replies as bytes, rendered once: what differs from one time to the next is only the ids, which all hold the same tag."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
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
#: The same, by the reply's identity (which holds as long as the reply is in here): a value's hash is most of the work.
_latest: dict[Any, tuple[Reply, _Template | None]] = {}
_NOTHING: Any = (None, None)


def encode(codec: Codec, reply: Reply, asked: ModelRequest, tag: str, size: int | None) -> HttpResponse:
    """As `codec.encode_reply`, the body in one piece where that is as good.

    Raises:
        CannotExpress: this wire has no way to say it.
    """
    variant = codec.variant(asked)
    if variant is None:
        return codec.encode_reply(reply, asked, tag, size)
    place = id(reply), codec.wire, variant, size
    same, template = _latest.get(place, _NOTHING)
    if same is not reply:
        template = _known(codec, reply, asked, size, variant)
        if len(_latest) >= _KEPT:
            _latest.clear()
        _latest[place] = reply, template
    if template is None:
        return codec.encode_reply(reply, asked, tag, size)
    status, headers, places, body = template
    if places:
        changed = list(headers)
        for place in places:
            changed[place] = (changed[place][0], changed[place][1].replace(_TAG, tag))
        headers = tuple(changed)
    return HttpResponse(status, headers, (body.replace(_BYTES, tag.encode()),))


def _known(codec: Codec, reply: Reply, asked: ModelRequest, size: int | None, variant: Hashable) -> _Template | None:
    """The template of any reply like this one; a call has another id in each session, so it is another value each time."""
    key = (reply, codec.wire, variant, size)
    try:
        template: _Template | None = _templates.get(key, _MISSING)
    except TypeError:  # a server tool's result may hold anything
        return None
    if template is _MISSING:
        template = _templates[key] = _template(codec, reply, asked, size)
        if len(_templates) > _KEPT:
            _templates.popitem(last=False)
    return template


def _template(codec: Codec, reply: Reply, asked: ModelRequest, size: int | None) -> _Template | None:
    response = codec.encode_reply(reply, asked, _TAG, size)
    body = response.body
    if len(body) > _LARGEST_KEPT or _TAG in repr(reply):
        return None
    places = tuple(index for index, (_, value) in enumerate(response.headers) if _TAG in value)
    return response.status, response.headers, places, body

"""An answer as it arrives after what a scenario's `chaos` did to it on its way."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from agentsim.scenario.model import Chaos, Malformed
from agentsim.wire.base import HttpResponse, Silence


@dataclass(slots=True)
class _Piece:
    """A chunk of the body and the seconds before it."""

    data: bytes
    delay: float = 0.0


def spoiled(response: HttpResponse, chaos: Chaos, real: bool) -> HttpResponse:
    """The answer with everything that `chaos` says done to it, in the order in which a body is made and sent.

    Args:
        response: as the provider gave it; of a stream an event a chunk.
        chaos: what happens to it.
        real: whether silence is waited for within this process.
    """
    if response.headless:
        return response
    delays = response.delays or (0.0,) * len(response.chunks)
    pieces = [_Piece(data, delay) for data, delay in zip(response.chunks, delays, strict=True)]
    headers, broken, length = list(response.headers), response.broken, response.length
    if response.streams:
        _change_events(pieces, chaos)
        if chaos.truncate_after_events is not None:
            del pieces[chaos.truncate_after_events :]
            broken = chaos.how
    if chaos.malformed is not None:
        _malform(pieces, chaos.malformed, response.streams)
        headers = _with_type(headers, chaos.malformed)
    if chaos.gzip:
        _compress(pieces)
        headers.append(("content-encoding", "gzip"))
    if chaos.content_length:
        whole = sum(len(piece.data) for piece in pieces)
        length = max(0, whole + chaos.content_length)
        _keep(pieces, length)
        broken = broken or ("end" if length > whole else None)
    silence = _silence(chaos, len(pieces), response.streams, real)
    if chaos.chunk_bytes is not None:
        pieces, silence = _cut(pieces, chaos.chunk_bytes, silence)
    timed = any(piece.delay for piece in pieces) or chaos.chunk_bytes is not None or silence is not None
    return replace(
        response,
        headers=tuple(headers),
        chunks=tuple(piece.data for piece in pieces),
        pieces=(),
        delays=tuple(piece.delay for piece in pieces) if timed else (),
        broken=broken,
        length=length,
        silence=silence,
    )


def _change_events(pieces: list[_Piece], chaos: Chaos) -> None:
    """What stands behind the stream's end can't be changed."""
    for how, number in chaos.events:
        at = number - 1
        if at >= len(pieces):
            continue
        if how == "repeat":
            pieces.insert(number, _Piece(pieces[at].data))
        elif how == "drop":
            del pieces[at]
        elif how == "restart":
            pieces.insert(number, _Piece(pieces[0].data))
        elif number < len(pieces):
            pieces[at].data, pieces[number].data = pieces[number].data, pieces[at].data


def _malform(pieces: list[_Piece], malformed: Malformed, streams: bool) -> None:
    if malformed.body is not None:
        pieces[:] = [_Piece(malformed.body.encode("utf-8", "replace"), sum(piece.delay for piece in pieces))]
    elif streams:
        middle = pieces[len(pieces) // 2]
        middle.data = _half(middle.data.rstrip(b"\n")) + b"\n\n"
    else:
        whole = b"".join(piece.data for piece in pieces)
        pieces[:] = [_Piece(_half(whole), sum(piece.delay for piece in pieces))]


def _half(data: bytes) -> bytes:
    """The first half, ending with a whole character."""
    return data[: len(data) // 2].decode("utf-8", "ignore").encode()


def _with_type(headers: list[tuple[str, str]], malformed: Malformed) -> list[tuple[str, str]]:
    if malformed.body is None:
        return headers
    return [(name, malformed.content_type if name == "content-type" else value) for name, value in headers]


def _compress(pieces: list[_Piece]) -> None:
    """gzip without a time in its header; each piece can be unpacked as it arrives."""
    packer = zlib.compressobj(wbits=31)
    for piece in pieces:
        piece.data = packer.compress(piece.data) + packer.flush(zlib.Z_SYNC_FLUSH)
    end = packer.flush()
    if pieces:
        pieces[-1].data += end
    else:
        pieces.append(_Piece(end))


def _keep(pieces: list[_Piece], length: int) -> None:
    """No more than so many bytes: what a client reads of a body that is longer than stated."""
    for piece in pieces:
        piece.data = piece.data[:length]
        length -= len(piece.data)
    pieces[:] = [piece for piece in pieces if piece.data]


def _silence(chaos: Chaos, count: int, streams: bool, real: bool) -> Silence | None:
    if chaos.stall is None:
        return None
    after = chaos.stall.after_events if streams else None
    return Silence(-1 if after is None else min(after, count - 1), chaos.stall.seconds, real)


def _cut(pieces: list[_Piece], size: int, silence: Silence | None) -> tuple[list[_Piece], Silence | None]:
    """The same bytes in pieces of one size; delays and silence stay before the byte that they stood before."""
    whole = b"".join(piece.data for piece in pieces)
    cut = [_Piece(whole[at : at + size]) for at in range(0, len(whole), size)]
    at, before = 0, -1
    for index, piece in enumerate(pieces):
        place = min(at // size, len(cut) - 1)
        if cut:
            cut[place].delay += piece.delay
        if silence is not None and silence.before == index:
            before = place
        at += len(piece.data)
    return cut, silence if silence is None or silence.before < 0 else replace(silence, before=before)

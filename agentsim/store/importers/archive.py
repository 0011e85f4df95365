"""Members of a zip archive, within bounds, whatever method they are packed with."""

from __future__ import annotations

import importlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from agentsim.limits import limit
from agentsim.store.importers.source import Source, sensible

ZSTANDARD = 93


def open_archive(source: Source) -> zipfile.ZipFile:
    """The archive.

    Raises:
        TranscriptError: it is cut or broken, or has too many members.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.whole()))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error) as error:
        raise source.error(f"broken zip archive, maybe cut: {error}") from None
    most = limit("import_members")
    if len(archive.infolist()) > most:
        raise source.error(f"a zip archive with more than {most} members: refused")
    return archive


class Members:
    """Reads members and keeps account of what they unfold to.

    Args:
        source: for messages.
        archive: an open archive.
    """

    def __init__(self, source: Source, archive: zipfile.ZipFile) -> None:
        self._source, self._archive = source, archive
        self._left = sensible(source.whole())

    def named(self, prefix: str, suffix: str) -> Iterator[zipfile.ZipInfo]:
        """Members by the beginning and the end of their name, in order of names."""
        found = [i for i in self._archive.infolist() if i.filename.startswith(prefix) and i.filename.endswith(suffix)]
        return iter(sorted(found, key=lambda info: info.filename))

    def read(self, info: zipfile.ZipInfo) -> bytes:
        """A member's bytes.

        Raises:
            TranscriptError: it can't be unpacked, or unfolds to more than is sensible.
        """
        where = f"member {info.filename}"
        try:
            data = self._zstandard(info) if info.compress_type == ZSTANDARD else self._other(info)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            RuntimeError,
            NotImplementedError,
            ValueError,
            struct.error,
        ) as error:
            raise self._source.error(f"{where} can't be unpacked: {error}") from None
        self._left -= len(data)
        if self._left < 0:
            raise self._source.error(f"{where} unfolds to more than is sensible: refused")
        return data

    def _other(self, info: zipfile.ZipInfo) -> bytes:
        with self._archive.open(info) as member:
            return member.read(self._left + 1)

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        with io.BytesIO(self._source.whole()) as file:
            file.seek(info.header_offset)
            header = file.read(30)
            if len(header) < 30 or header[:4] != b"PK\x03\x04":
                raise zipfile.BadZipFile("no local header")
            name, extra = struct.unpack("<HH", header[26:30])
            file.seek(info.header_offset + 30 + name + extra)
            packed = file.read(info.compress_size)
        return unfold_zstandard(packed, self._left + 1)


def unfold_zstandard(packed: bytes, most: int) -> bytes:
    """Decompress up to `most` bytes of zstandard.

    Raises:
        ValueError: it is broken.
    """
    zstd = _zstd()
    out = bytearray()
    while packed and len(out) < most:
        decompressor = zstd.ZstdDecompressor()
        try:
            out += decompressor.decompress(packed, most - len(out))
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from None
        if not decompressor.eof:
            if len(out) < most:
                raise ValueError("the data is cut")
            break
        packed = decompressor.unused_data
    return bytes(out)


def _zstd() -> Any:
    """Python's own module from 3.14 on, its backport before."""
    try:
        return importlib.import_module("compression.zstd")
    except ImportError:
        return importlib.import_module("backports.zstd")

"""Texts of strangers as people may see them: names, arguments and results come from models, tools and files of anybody."""

from __future__ import annotations

#: What hides, or reorders the text around it, is shown by its number: direction marks, zero-width characters, line separators,
#: and the tags and selectors in which whole texts have been smuggled past readers.
_HIDDEN = (
    0xAD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF,
    *range(0xE0000, 0xE0200),
)  # fmt: skip
#: C0 controls have pictures of their own in Unicode; tabs and line ends stay. C1 controls, and what is no character, have none.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: "\u2421"}
_NO_CHARACTERS = (
    *range(0x80, 0xA0), *range(0xFDD0, 0xFDF0), *range(0xD800, 0xE000),
    *(plane + last for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)),
)  # fmt: skip
_PLAIN = {
    **_PICTURES,
    **dict.fromkeys(_NO_CHARACTERS, "\ufffd"),
    **{code: f"[U+{code:04X}]" for code in _HIDDEN},
}
_LINE = {**_PLAIN, 0x09: "\u2409", 0x0A: "\u240a", 0x0D: "\u240d"}


def plain(text: str) -> str:
    """Text that steers no terminal, hides nothing, reorders nothing and can be encoded. Its lines stay lines."""
    return text if text.isascii() and text.isprintable() else text.translate(_PLAIN)


def line(text: str) -> str:
    """The same on one line, so that what is told line by line can't be forged."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE)

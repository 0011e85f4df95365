"""Write every generated file anew."""

from __future__ import annotations

from tools.reference.files import ROOT, built, kept


def main() -> None:
    """Write what differs, and say what was written."""
    for path, text in (kept() | built()).items():
        file = ROOT / path
        if not file.exists() or file.read_text("utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            print(f"wrote {path}")


main()

"""From a template and values to a page of its own."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import sys
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from agentsim import __version__
from agentsim.errors import UsageError, not_installed
from agentsim.report.plain import plain
from agentsim.store import places

if TYPE_CHECKING:
    from jinja2 import Environment

#: In place of a file's name: standard output.
STANDARD_OUTPUT = "-"


def require() -> None:
    """Make sure that pages can be written, before the work is done whose result they show.

    Raises:
        UsageError: Jinja2 is not installed; says how to get it.
    """
    if importlib.util.find_spec("jinja2") is None:
        raise UsageError(not_installed("an HTML report", "Jinja2", "html"))


def render(template: str, **values: Any) -> str:
    """A page.

    Args:
        template: its file's name below `templates`.
        values: what it shows. Everything is escaped.
    Raises:
        UsageError: Jinja2 is not installed.
    """
    require()
    from markupsafe import Markup

    style, script = _text("style.css"), _text("script.js")
    policy = (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    return page.render(style=Markup(style), script=Markup(script), policy=Markup(policy), version=__version__, **values)


def write(path: str, page: str) -> None:
    """Write a page as UTF-8, whatever the locale; to standard output where `path` is `-`.

    Raises:
        UsageError: the file can't be written.
    """
    data = page.encode("utf-8")
    if path == STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{path!r} can't be written: {error.strerror or error}") from None


def check_writable(path: str) -> None:
    """Find out that a page could not be written before the work is done that it shows.

    Raises:
        UsageError: the path is a folder, or in a folder that is missing or closed.
    """
    if path == STANDARD_OUTPUT:
        return
    places.check_writable(path)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return value if isinstance(value, Markup) or not isinstance(value, str) else plain(value)

    return jinja2.Environment(
        loader=jinja2.PackageLoader("agentsim.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )


def _text(name: str) -> str:
    return resources.files("agentsim.report.html").joinpath("templates", name).read_text("utf-8")


def _source(content: str) -> str:
    """How a content security policy names the one inline element that may act."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

"""What several commands share: their arguments, and how results are printed."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentsim.errors import Problem, ScenarioError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from agentsim.scenario.model import Scenario

F = TypeVar("F", bound=Callable[..., Any])


class LimitType(click.ParamType):  # type: ignore[type-arg]
    """An integer, a decimal, or `none`."""

    name = "N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value in ("none", "default"):
            return value
        try:
            number = float(value)
        except ValueError:
            self.fail(f"expected an integer, a decimal or 'none', but {value!r} came", param, ctx)
        if number != number or number in (float("inf"), float("-inf")):
            self.fail(f"expected a finite number or 'none', but {value!r} came", param, ctx)
        return int(number) if number == int(number) and "." not in value and "e" not in value.lower() else number


LIMIT = LimitType()


class PageType(click.ParamType):  # type: ignore[type-arg]
    """Where a page goes. That it could not be written is found before the work is done that it shows."""

    name = "FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from agentsim.report.html.page import check_writable, require

        require()
        check_writable(value)
        return value


format_option = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to print the result."
)
limit_option = click.option(
    "--limit", type=LIMIT, default="default", help="The style's knob; left out: the SDK's default."
)
set_option = click.option(
    "--set", "sets", multiple=True, metavar="PATH=JSON", help="Set one option, as toolUseBehavior=stop_on_first_tool."
)
options_option = click.option(
    "--options", "options_file", type=click.Path(dir_okay=False), help="A YAML or JSON file of options by style."
)
html_option = click.option(
    "--html", "html", type=PageType(), help="Write the result as one page, too; '-': as standard output instead."
)
max_calls_option = click.option(
    "--max-calls", type=click.IntRange(1), default=100, show_default=True,
    help="Stop an endless script under no limit after so many model requests.",
)  # fmt: skip


def wire_options(function: F) -> F:
    """`--wire` and `--stream`."""
    function = click.option(
        "--stream/--no-stream", default=None, help="Call the model with streaming, where that is a choice."
    )(function)
    return click.option("--wire", metavar="NAME", help="anthropic-messages, openai-responses or openai-chat.")(function)


def scenarios_of(paths: Iterable[str]) -> list[Scenario]:
    """The scenario or scenarios of each file, which may be a recording.

    Raises:
        ScenarioError: also where a scenario's settings for a style, whichever is played, are no style's.
    """
    from agentsim.judge.settings import check_styles
    from agentsim.store.inputs import scenarios_of_file

    found = [scenario for path in paths for scenario in scenarios_of_file(path)]
    for scenario in found:
        check_styles(scenario)
    return found


def echo_json(value: Any, *, err: bool = False) -> None:
    """Print a JSON value, the same bytes for the same value; `err`: where standard output is another's.

    An output that can't say every character is written in ASCII, which JSON can always be.
    """
    encoding = ((sys.stderr if err else sys.stdout).encoding or "").lower().replace("-", "")
    click.echo(json.dumps(value, ensure_ascii=encoding != "utf8", indent=2, sort_keys=False), err=err)


def write_page(path: str | None, format_: str, page: Callable[[], str]) -> bool:
    """Write the page that `--html` asks for.

    Args:
        path: as the option has it; None: no page is asked for.
        format_: of standard output.
        page: makes it.
    Returns:
        Whether standard output is the page's, so that nothing else may go there.
    Raises:
        UsageError: two things would go to standard output.
    """
    from agentsim.report.html.page import STANDARD_OUTPUT, write

    if path is None:
        return False
    if path == STANDARD_OUTPUT and format_ not in ("text", "html"):
        raise UsageError(f"--html - and --format {format_} both write to standard output; name a file for the page")
    write(path, page())
    return path == STANDARD_OUTPUT


def console() -> Console:
    """Where text goes: a terminal as wide as it is, a pipe wide enough for every column."""
    from rich.console import Console

    from agentsim.report.columns import UNLIMITED

    return Console() if sys.stdout.isatty() else Console(width=UNLIMITED, color_system=None, highlight=False)


def show(printed: Any) -> None:
    """Print what prints itself as a table."""
    from agentsim.report.columns import show as show_at

    show_at(printed, console())


def show_lines(lines: Iterable[str]) -> None:
    """Print lines of a transcript: nothing that a stranger wrote steers the terminal or forges a line."""
    from agentsim.report.plain import line

    text = "\n".join(map(line, lines))
    if text:
        console().print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)


def option_trees(sets: Iterable[str], options_file: str | None, styles: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The option trees of `--options` and `--set`, by style.

    Args:
        sets: `PATH=JSON`; a path may begin with a style's name and a dot, else it goes to each of `styles`.
        options_file: YAML or JSON, option trees by style.
        styles: names that a path without a style is for.
    """
    trees: dict[str, dict[str, Any]] = dict(_options_of_file(options_file)) if options_file else {}
    names = list(styles)
    for each in sets:
        path, equals, text = each.partition("=")
        if not equals:
            raise UsageError(f"--set wants PATH=JSON, but {each!r} came")
        targets, keys = _target(path, names)
        for target in targets:
            _put(trees.setdefault(target, {}), keys, _value(text))
    return trees


def _options_of_file(path: str) -> dict[str, dict[str, Any]]:
    """The trees by style; one under an SDK's name is for those of its entry points that have none of their own."""
    from agentsim.scenario.load import load_tree
    from agentsim.styles import all_styles, select

    root = load_tree(path)
    data = root.plain()
    if not isinstance(data, dict) or not all(isinstance(v, dict) for v in data.values()):
        raise UsageError(f"{path}: expected a mapping of style names to option trees")
    found: dict[str, dict[str, Any]] = {}
    problems = []
    for name, tree in data.items():
        try:
            found |= {style.name: copy.deepcopy(tree) for style in select([name]) if style.name not in data}
        except UsageError as error:
            problems.append(Problem(str(error), root.value[name].key_line, file=path))
    if problems:
        raise ScenarioError(problems)
    return found | {name: tree for name, tree in data.items() if name in all_styles()}


def _target(path: str, names: list[str]) -> tuple[list[str], list[str]]:
    from agentsim.styles import all_styles

    for name in sorted(all_styles(), key=len, reverse=True):
        if path.startswith(f"{name}."):
            if names and name not in names:
                raise UsageError(f"--set {path}: {name} is not played; --style chose {', '.join(names)}")
            return [name], path[len(name) + 1 :].split(".")
    if "/" in path.split(".", 1)[0]:
        from agentsim.styles import find

        find(path.rsplit(".", 1)[0])
    if not names:
        raise UsageError(f"--set {path}: name the style, as STYLE.{path}=…, or choose one with --style")
    return names, path.split(".")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        if text and text[0] in '[{"':
            raise UsageError(f"--set: {text!r} is neither JSON nor a plain word") from None
        return text


def _put(tree: dict[str, Any], keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
        if not isinstance(tree, dict):
            raise UsageError(f"--set: {key!r} is already a value, not a mapping")
    tree[keys[-1]] = value

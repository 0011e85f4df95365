"""The functions behind `import agentsim`: run, arun, compare, least_limit, budget."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentsim.core.wires import WIRES
from agentsim.errors import UsageError, kind, nearest
from agentsim.judge.result import Result
from agentsim.judge.simulate import DEFAULT, Play, prepare
from agentsim.report.table import Table
from agentsim.scenario.load import known
from agentsim.scenario.model import Scenario
from agentsim.styles import find, select

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from agentsim.report.budgets import Budgets


def run(
    scenario: Scenario,
    style: str = "reference",
    *,
    limit: Any = DEFAULT,
    wire: str | None = None,
    stream: bool | None = None,
    options: Mapping[str, Any] | None = None,
    max_calls: int = 100,
    tools: Mapping[str, Callable[..., Any]] | None = None,
) -> Result:
    """Play a scenario under one style.

    Args:
        scenario: from `agentsim.load` or `agentsim.loads`.
        style: its name, as `agentsim styles` lists it.
        limit: the style's knob: a number, None or "none" for no limit; left out, the SDK's default.
        wire: which provider stands behind the SDK; None: the first that can say the scenario.
        stream: whether the model is called with streaming, where that is a choice.
        options: the style's option tree.
        max_calls: an endless script under no limit is stopped after so many model requests.
        tools: functions to run in place of the scenario's results, by tool name.
    Returns:
        The run.
    Raises:
        UsageError: this is no scenario; an unknown style, wire, option, or a value that they don't take.
    Example:
        >>> scenario = agentsim.load("scenarios/three_rounds.yaml")
        >>> run = agentsim.run(scenario, "langchain/create_agent", limit=7)
        >>> run.ended, run.returned, run.model_calls, run.least_limit
        ('limit', 'error', 4, 8)
    """
    play = _play("run", scenario, style, wire, stream, options, max_calls, tools)
    return play.result(_limit(scenario, style, limit))


async def arun(
    scenario: Scenario,
    style: str = "reference",
    *,
    limit: Any = DEFAULT,
    wire: str | None = None,
    stream: bool | None = None,
    options: Mapping[str, Any] | None = None,
    max_calls: int = 100,
    tools: Mapping[str, Callable[..., Any]] | None = None,
) -> Result:
    """As `run`; `tools` may be coroutine functions, and overlap as the SDK lets them.

    Example:
        >>> async def refund(order_id):
        ...     return f"order {order_id} is refunded"
        >>> scenario = agentsim.load("scenarios/cut_refund.yaml")
        >>> run = asyncio.run(agentsim.arun(scenario, tools={"refund": refund}))
        >>> [each.output for each in run.tool_runs]
        ['order 42 is refunded']
    """
    play = _play("arun", scenario, style, wire, stream, options, max_calls, tools)
    return await play.aresult(_limit(scenario, style, limit))


def _play(
    what: str,
    scenario: Scenario,
    style: str,
    wire: str | None,
    stream: bool | None,
    options: Mapping[str, Any] | None,
    max_calls: int,
    tools: Mapping[str, Callable[..., Any]] | None,
) -> Play:
    _check(what, wire=wire, stream=stream, options=options, max_calls=max_calls, tools=tools)
    return prepare(
        known(scenario, what),
        find(style),
        wire=wire,
        stream=stream,
        options=options,
        max_calls=max_calls,
        functions=tools,
    )


#: Arguments that several functions share: what each is, in words, and how it is told.
_TAKES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "wire": ("a wire's name, as 'openai-chat', or None", lambda value: value is None or isinstance(value, str)),
    "stream": ("True, False or None", lambda value: value is None or isinstance(value, bool)),
    "options": ("a mapping, the option tree", lambda value: value is None or isinstance(value, Mapping)),
    "max_calls": (
        "a whole number above 0",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value > 0,
    ),
    "tools": (
        "a mapping of tool names to functions",
        lambda value: value is None or (isinstance(value, Mapping) and all(map(callable, value.values()))),
    ),
}


def _check(what: str, **given: Any) -> None:
    """Refuse a value of a wrong type where it is given, not where it is used.

    Raises:
        UsageError: says which argument, what was expected and what came.
    """
    for name, value in given.items():
        if name not in _TAKES:
            near = nearest(name, _TAKES)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(_TAKES)}"
            raise UsageError(f"{what} has no setting {name!r}; {hint}")
        expected, fits = _TAKES[name]
        if not fits(value):
            raise UsageError(f"{what}: expected {expected} as {name}, but {kind(value)} came")


def _limit(scenario: Scenario, style: str, limit: Any) -> Any:
    """The limit to play with: the caller's, else the scenario's for this style, else the SDK's default."""
    if isinstance(limit, str) and limit == DEFAULT:
        settings = scenario.settings(style)
        return settings.limit if settings is not None else DEFAULT
    if limit is None or limit == "none":
        return None
    if (
        isinstance(limit, bool)
        or not isinstance(limit, int | float)
        or limit != limit
        or limit in (float("inf"), float("-inf"))
    ):
        raise UsageError(f"a limit is a number, None or 'none', but {limit!r} came")
    return limit


def compare(
    scenario: Scenario,
    *,
    limit: Any = DEFAULT,
    styles: Iterable[str] = (),
    wire: str | None = None,
    stream: bool | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    max_calls: int = 100,
) -> Table:
    """Play a scenario under many styles.

    Args:
        styles: names of styles or of SDKs; none: all.
        options: option trees by style name.
        limit, wire, stream, max_calls: as `run`; a wire or stream value that a style does not have leaves it
            as it is, which its row says, and the table in a line.
    Returns:
        A row for each style, which prints as the command's table.
    Example:
        >>> table = agentsim.compare(
        ...     agentsim.load("scenarios/paused_search.yaml"), styles=["anthropic", "tanstack-ai/chat"]
        ... )
        >>> [(row.style.name, row.final_text, row.silent) for row in table]
        [('anthropic/tool_runner', 'It changed in 2019.', False), ('tanstack-ai/chat', 'Let me search for that.', True)]
    """
    known(scenario, "compare")
    _check("compare", wire=wire, stream=stream, options=options, max_calls=max_calls)
    if wire is not None and wire not in WIRES:
        raise UsageError(f"there is no wire {wire!r}; there are {', '.join(WIRES)}")
    rows = []
    for style in select(styles):
        play = prepare(
            scenario,
            style,
            wire=wire if wire in style.wires else None,
            stream=stream if style.streams is None else None,
            options=(options or {}).get(style.name),
            max_calls=max_calls,
        )
        rows.append(play.result(_limit(scenario, style.name, limit)))
    return Table(rows, wire=wire, stream=stream)


def least_limit(scenario: Scenario, style: str, **settings: Any) -> int | None:
    """The smallest limit under which the style does what it would do without one; None where there is none.

    Args:
        settings: `wire`, `stream`, `options`, `max_calls` as `run` takes them.
    Example:
        >>> agentsim.least_limit(agentsim.load("scenarios/three_rounds.yaml"), "langchain/create_agent")
        8
    """
    _check("least_limit", **settings)
    return prepare(known(scenario, "least_limit"), find(style), **settings).least_limit()


def budget(
    files: Iterable[str | os.PathLike[str] | Scenario] | str | os.PathLike[str] | Scenario,
    *,
    percentile: float = 100,
    styles: Iterable[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    executor: Executor | None = None,
) -> Budgets:
    """The least limit in each style that lets recorded runs finish, and what each SDK's default would have cut.

    Args:
        files: scenarios, and files or folders of scenarios and recordings. A generator is gone through as results come back, and
            results are added up, so memory does not grow with their number.
        percentile: share of the runs (0 to 100) that has to finish.
        styles: names of styles or of SDKs; none: all.
        options: option trees by style name.
        executor: any of `concurrent.futures` or with its interface (Dask: `client.get_executor()`), whose workers can open the
            files; None: one file after the other, here.
    Returns:
        A need for each style; prints as the command's table. Files that can't be read are in `skipped`, with the reason.
    Raises:
        UsageError: an unknown style or option, a percentile out of range, no run to be read, or a worker that died.
    Example:
        >>> for need in agentsim.budget(
        ...     "scenarios/three_rounds.yaml", styles=["langchain/create_agent", "openai-agents/Runner.run"]
        ... ):
        ...     print(need.style.knob, need.limit)
        recursion_limit 8
        max_turns 4
    """
    from agentsim.judge.fleet import over  # budgets over folders are rare, and `compare` has to start fast
    from agentsim.report.budgets import Budgets

    _check("budget", options=options)
    if isinstance(percentile, bool) or not isinstance(percentile, int | float) or not 0 < percentile <= 100:
        raise UsageError(f"a percentile is above 0 and at most 100, but {percentile!r} came")
    items = [files] if isinstance(files, str | os.PathLike | Scenario) else files
    if not isinstance(items, Iterable):
        raise UsageError(f"budget: expected files, folders or scenarios, but {kind(files)} came")
    found = over(map(_file, items), select(styles), percentile=percentile, options=options, executor=executor)
    if not found.runs:
        reasons = list(found.skipped.values())
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise UsageError(f"budget: no run was read: {reasons[0] if reasons else 'there is no file'}{more}")
    return Budgets(found)


def _file(item: Any) -> str | os.PathLike[str] | Scenario:
    """A file, folder or scenario, and nothing else.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(item, str | os.PathLike | Scenario):
        raise UsageError(f"budget: expected a file, a folder or a Scenario, but {kind(item)} came")
    return item

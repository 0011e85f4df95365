"""Run scripts through a real SDK against the fake server, and write what it did as rows.

``python tests/sdk/measure.py NAME [--case ID…] [--style S…] [--wire W…] [--cases FILE]``

With ``--print`` or ``--full`` the rows are only shown.

NAME is a folder beside this file with a manifest, a driver, and ``entries.json``::

    {"versions": ["langchain", …],           packages whose versions the first row tells
     "threads": true,                         tools run in threads: runs of a reply are put in call order
     "entries": [{"style": "langchain/create_agent", "wires": ["anthropic-messages", …],
                  "streams": [false, true],  the values of `stream` that are a choice
                  "no_limit": true,          whether the SDK has a value for "no limit"
                  "says_twice": true,        a text protocol: two requests for a reply without calls
                  "caller": true,            Claude's calls all have the optional ``caller`` field (see `server.py`)
                  "cases": ["answer"],       the only cases that it is measured with, where not all
                  "rows": ["answer"],        the same, but random scripts are tried on it too
                  "more_limits": [20],       also for cases that name no limits of their own
                  "options": {"stream": false}}]}   a variant: the row then tells these options

The environment is made on first use (`environments.py`). Rows that are measured replace their
older versions in ``tests/styles/measured/NAME.jsonl``, the others stay. A driver may answer
``{"skip": true}`` for a combination that can't be expressed: then there is no row.

A case may have: ``only`` ("anthropic", or a list of wires), ``styles``, ``streams``, ``caps`` (limits;
null is the SDK's default), ``limits`` (limits as the driver gets them, "default" and null included),
``tools`` (added to the file's, by name), ``only_tools`` (names of those that are offered), ``prompt``, ``system``, ``options``, ``max_requests``, ``timeout``; of
drivers that know them: ``prompts`` (runs on one thread), ``approvals``, ``abort``, ``output`` as in a scenario;
``agents`` (name -> tools, handoffs, limit; a reply's ``by`` names the one that gives it) and the main one's ``handoffs``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import server
from environments import Driver, prepare, versions, without_moments, without_places
from scripts import with_short_names

Json = dict[str, Any]

HERE = Path(__file__).resolve().parent
MEASURED = HERE.parent / "styles" / "measured"
ODD_LIMITS: list[Any] = [0, -1, 2.5, None]
KEY_FIELDS = ("case", "style", "wire", "stream", "limit")


# --- what is run -----------------------------------------------------------------------------------


def limits_of(case: Json, entry: Json) -> list[Any]:
    """The limits under which a case is run."""
    if "limits" in case:
        limits = list(case["limits"])
    else:
        caps = case.get("caps") or [None, *entry.get("more_limits", [])]
        limits = ["default" if cap is None else cap for cap in caps]
        if case["id"] in ("rounds3", "endless"):
            limits += ODD_LIMITS
    return [limit for limit in limits if limit is not None or entry.get("no_limit", True)]


def wires_of(case: Json, entry: Json) -> list[str]:
    """The wires of an entry point that a case can be said on."""
    only = case.get("only")
    if isinstance(only, str):
        return [wire for wire in entry["wires"] if wire.startswith(only)]
    return [wire for wire in entry["wires"] if only is None or wire in only]


def plan(document: Json, description: Json, chosen: argparse.Namespace) -> Iterator[Json]:
    """Every run as the driver will be asked for it, with its script beside it."""
    own = {"full": chosen.full, "threads": bool(description.get("threads"))}
    for entry in description["entries"]:
        for case in document["cases"]:
            if chosen.case and case["id"] not in chosen.case:
                continue
            if chosen.style and entry["style"] not in chosen.style:
                continue
            styles = case.get("styles", document.get("styles", [entry["style"]]))
            if entry["style"] not in styles:
                continue
            if case["id"] not in entry.get("cases", entry.get("rows", [case["id"]])):
                continue
            for wire in wires_of(case, entry):
                if chosen.wire and wire not in chosen.wire:
                    continue
                for stream in entry["streams"]:
                    if stream in case.get("streams", [stream]):
                        for limit in limits_of(case, entry):
                            asked = question(document, case, entry, wire, stream, limit)
                            yield asked | own


def question(document: Json, case: Json, entry: Json, wire: str, stream: bool, limit: Any) -> Json:
    """What the driver is asked, apart from where the server is."""
    tools = {tool["name"]: tool for tool in [*document["tools"], *case.get("tools", [])]}
    if "only_tools" in case:
        tools = {name: tools[name] for name in case["only_tools"]}
    return {
        "case": case,
        "style": entry["style"],
        "wire": wire,
        "stream": stream,
        "limit": limit,
        "prompt": case.get("prompt", document.get("prompt", "go")),
        "system": case.get("system"),
        "tools": list(tools.values()),
        "options": entry.get("options", {}) | case.get("options", {}),
        "variant": entry.get("options", {}),
        "says_twice": entry.get("says_twice", False),
        "caller": entry.get("caller", False),
        "timeout": case.get("timeout", 30),
        **{
            name: case[name]
            for name in ("prompts", "approvals", "abort", "output", "agents", "handoffs")
            if name in case
        },
    }


def control(port: int, key: str, script: Json | None = None) -> Json:
    """Make a session, or read what came of it."""
    url = f"http://127.0.0.1:{port}/control/{key}"
    data = json.dumps(script).encode() if script else None
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:
        return dict(json.load(answer))


def measure(port: int, driver: Driver, number: int, asked: Json) -> Json | None:
    """One run: script to the server, case to the driver, and a row of both their accounts."""
    case, key = asked["case"], f"k{number}"
    script = {name: case.get(name) for name in ("replies", "then", "max_requests")} | {"caller": asked["caller"]}
    if asked["says_twice"]:
        script["replies"] = [one for reply in case["replies"] for one in [reply] * (1 if _asks_once(reply) else 2)]
    control(port, key, script)
    where = {"base_url": f"http://127.0.0.1:{port}/s/{key}", "api_key": f"sim-{key}"}
    sent = {name: value for name, value in asked.items() if name not in ("case", "full", "variant")}
    answer = driver.ask({"id": number, **sent, **where})
    if answer.get("skip"):
        return None
    told = without_moments(without_places(json.dumps(answer))).replace(where["base_url"], "BASE_URL")
    answer = json.loads(told.replace(f"127.0.0.1:{port}", "HOST"))
    seen = control(port, key)
    line = row(asked, answer, seen, asked["threads"])
    if asked["full"]:
        line["full"] = [[json.loads(text) for text in one["full"]] for one in seen["requests"][-1:]]
    return line


def _asks_once(reply: Json) -> bool:
    """Whether a text protocol has one request for this reply: it has a call, or is a failure."""
    return (
        "http_error" in reply
        or "broken" in reply
        or bool(reply.get("calls"))
        or any("call" in one for one in reply.get("content", ()))
    )


# --- rows --------------------------------------------------------------------------------------------


def row(asked: Json, answer: Json, seen: Json, threads: bool) -> Json:
    """One line of the result."""
    replied = [request for request in seen["requests"] if not request["faulted"]]
    runs, rounds = tool_rounds(replied, answer.get("tool_runs") or [], threads)
    if asked.get("says_twice"):
        rounds = len(runs)  # a text protocol's reply has one run
    said = {name: answer.get(name) for name in ("returned", "finish_reason", "final_text", "reported_count", "error")}
    said["final_text"] = with_short_names(said["final_text"], asked["tools"])
    return {
        "case": asked["case"]["id"],
        "style": asked["style"],
        "wire": asked["wire"],
        "stream": asked["stream"],
        "limit": asked["limit"],
        **({"options": asked["variant"]} if asked["variant"] else {}),
        "model_calls": len(replied),
        "model_requests": len(seen["requests"]),
        "tool_rounds": rounds,
        "tool_runs": [{name: run.get(name) for name in ("name", "input", "output", "is_error")} for run in runs],
        **said,
        "requests": new_messages(seen["requests"]),
        "unbounded": seen["unbounded"],
        "out_of_script": seen["out_of_script"],
        "seconds": None,
    }


def tool_rounds(replied: list[Json], runs: list[Json], threads: bool) -> tuple[list[Json], int]:
    """The runs, and the number of replies with at least one.

    A run belongs to a call by its call id where the driver tells one, else by order. The start order
    of threads is noise, so there the runs are put in the order of their calls.
    """
    calls = [(number, call) for number, reply in enumerate(replied) for call in reply["calls"]]
    open_calls, ranked, rounds, rank = list(calls), [], set(), 0
    taken: set[str] = set()
    for run in runs:
        if run.get("call_id") in taken - {call["id"] for _, call in open_calls}:
            ranked.append((rank, run))  # the same call once more: a retry
            continue
        found = _call_of(open_calls, run)
        if found is not None:
            taken.add(found[1]["id"])
            open_calls.remove(found)
            rounds.add(found[0])
            rank = next(at for at, call in enumerate(calls) if call is found)
        ranked.append((rank, run))
    if threads:
        ranked.sort(key=lambda item: item[0])
    return [run for _, run in ranked], len(rounds)


def _call_of(calls: list[tuple[int, Json]], run: Json) -> tuple[int, Json] | None:
    """The first call that this run can be of; the input decides where it came through unchanged."""
    same = [item for item in calls if item[1]["name"] == run["name"]]
    if "call_id" in run:  # the name may be another by then: some SDKs let their users repair it
        same = [item for item in calls if item[1]["id"] == run["call_id"]] or same
        same = [item for item in same if item[1]["name"] == run["name"]] or same
    exact = [item for item in same if item[1]["args"] == run["input"]]
    return next(iter([*exact, *same]), None)


def new_messages(requests: list[Json]) -> list[Json]:
    """Each request as what it kept of the one before, and its new messages in short."""
    shown: list[Json] = []
    before: list[str] = []
    for request in requests:
        kept = 0
        for old, new in zip(before, request["full"], strict=False):
            if old != new:
                break
            kept += 1
        shown.append({"kept": kept, "new": request["messages"][kept:]})
        before = request["full"]
    return _without_minted_ids(shown, {call["id"] for one in requests for call in one["calls"]})


def _without_minted_ids(shown: list[Json], scripted: set[str]) -> list[Json]:
    """Some SDKs give a call a random id of their own; it becomes a counted one."""
    minted: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        told = (
            found[1]
            if found[1] in scripted or found[1].startswith(("srvtoolu_", "ws_"))
            else minted.setdefault(found[1], f"minted_{len(minted) + 1}")
        )
        return f"tool_result({told})"

    for request in shown:
        request["new"] = [re.sub(r"tool_use\(extract-\d+\)", "tool_use(extract-1)", text) for text in request["new"]]
        request["new"] = [
            re.sub(r"tool_use\(response_format_\w+\)", "tool_use(response_format)", t) for t in request["new"]
        ]
        request["new"] = [re.sub(r"(?<!server_)tool_result\(([^)]*)\)", name, text) for text in request["new"]]
    return shown


def key_of(line: Json) -> str:
    """What tells rows apart, as a text that sorts."""
    return json.dumps([*(line[name] for name in KEY_FIELDS), line.get("options", {})])


def sort_key(line: Json) -> tuple[Any, ...]:
    """Default first, then no limit, then numbers."""
    limit = line["limit"]
    rank = 0 if limit == "default" else 1 if limit is None else 2
    number = limit if rank == 2 else 0
    variant = json.dumps(line.get("options", {}))
    return (line["case"], line["style"], variant, line["wire"], line["stream"], rank, number)


def store(path: Path, header: Json, rows: list[Json]) -> None:
    """Put measured rows in place of their older versions."""
    lines: dict[str, Json] = {}
    if path.exists():
        for text in path.read_text().split("\n")[1:-1]:  # a row may hold U+2028, at which splitlines would break it
            line = json.loads(text)
            lines[key_of(line)] = line
    lines |= {key_of(line): line for line in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    shown = [header, *sorted(lines.values(), key=sort_key)]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in shown))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name")
    for option in ("--case", "--style", "--wire"):
        parser.add_argument(option, nargs="+", default=[])
    parser.add_argument("--cases", type=Path, default=HERE / "cases.json")
    parser.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs")
    parser.add_argument("--print", action="store_true", help="show the rows, store nothing")
    text = "show the rows with the whole of the last request, store nothing"
    parser.add_argument("--full", action="store_true", help=text)
    return parser.parse_args()


def main() -> None:
    """Measure what the command line asks for."""
    chosen = arguments()
    description = json.loads((HERE / chosen.name / "entries.json").read_text())
    document = json.loads((HERE / "cases.json").read_text())
    document |= json.loads(chosen.cases.read_text())
    driver = Driver(chosen.name, prepare(chosen.name))
    port = server.start()
    rows = []
    for number, asked in enumerate(plan(document, description, chosen)):
        line = measure(port, driver, number, asked)
        if line is not None:
            rows.append(line)
            if chosen.print or chosen.full:
                print(json.dumps(line, ensure_ascii=False), flush=True)
        if sys.stderr.isatty():
            print(f"\r{number + 1} {asked['case']['id']}   ", end="", file=sys.stderr)
    driver.close()
    path = MEASURED / f"{chosen.name}.jsonl"
    if chosen.print or chosen.full:
        return
    if chosen.fresh:
        path.unlink(missing_ok=True)
    store(path, {"versions": versions(chosen.name, description["versions"])}, rows)
    print(f"{len(rows)} rows", file=sys.stderr)


if __name__ == "__main__":
    main()

"""Budgets over many recordings: whatever lies in the folder, on whatever executor, the same answer."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import agentsim
from agentsim.judge import fleet
from agentsim.judge.budget import rounds
from agentsim.styles import find

STYLES = ["reference", "langchain/create_agent", "ai-sdk/generateText"]


def session(number: int) -> str:
    """A list of Claude messages with so many tool rounds."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for at in range(number):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": "look", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": "found"}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return json.dumps([*messages, {"role": "assistant", "content": "done"}])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty sessions of 0 to 9 tool rounds, two files that are none, and a hidden one."""
    for number in range(40):
        place = tmp_path / "sessions" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:02}.json").write_text(session(number % 10))
    (tmp_path / "sessions" / "notes.txt").write_text("Buy milk.")
    (tmp_path / "sessions" / "broken.jsonl").write_bytes(b"\x00\xff{")
    (tmp_path / "sessions" / ".hidden.json").write_text(session(99))
    return tmp_path / "sessions"


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentsim", "budget", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_a_folder_needs_what_its_longest_run_needs(folder: Path) -> None:
    found = agentsim.budget(folder, styles=["reference"])
    assert (found.runs, found.files, found["reference"].limit) == (40, 40, 10)
    assert "every run ends as without one (40 runs)" in str(found)


@pytest.mark.parametrize(("percentile", "limit"), [(100, 10), (95, 10), (90, 9), (50, 5), (10, 1), (0.1, 1)])
def test_a_percentile_lets_the_longest_runs_go(folder: Path, percentile: float, limit: int) -> None:
    assert agentsim.budget([folder], percentile=percentile, styles=["reference"])["reference"].limit == limit


def test_what_the_defaults_would_have_cut_is_counted(folder: Path) -> None:
    found = agentsim.budget([folder], styles=["ai-sdk/generateText"])
    assert found["ai-sdk/generateText"].cut == 36  # all but the four sessions without a tool


def test_what_can_not_be_read_is_skipped_counted_and_named(folder: Path) -> None:
    found = agentsim.budget([folder, folder / "none.json"], styles=["reference"])
    assert [Path(name).name for name in found.skipped] == ["broken.jsonl", "none.json", "notes.txt"]
    assert "Buy milk." in found.skipped[str(folder / "notes.txt")]
    assert "there is no file" in found.skipped[str(folder / "none.json")]


def test_one_need_of_many_runs_stays_as_small_as_that_of_few() -> None:
    found = fleet.Fleet((find("reference"),))
    part = fleet.part_of(rounds(3), ["reference"], None)
    tracemalloc.start()
    for _ in range(1000):
        found.add(part)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(20_000):
        found.add(part)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert (found.runs, found.needs[0].limit) == (21_000, 4)
    assert grown < 10_000


class Backwards(Executor):
    """Runs its tasks in the wrong order, a few at a time, and counts how many wait."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, Any]] = []
        self.most = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, fn, args))
        self.most = max(self.most, len(self.waiting))
        if len(self.waiting) == fleet.AHEAD or args[0] == "last":
            random.Random(1).shuffle(self.waiting)
            for each, function, given in self.waiting:
                each.set_result(function(*given))
            self.waiting.clear()
        return future


def test_files_are_gone_through_only_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "AHEAD", 8)
    monkeypatch.setattr(fleet, "part_of", lambda item, styles, options: fleet.Part(str(item), (({1: 1}, 0),)))
    executor = Backwards()
    taken: list[int] = []

    def endless() -> Iterator[str]:
        for number in range(100):
            taken.append(number)
            yield f"{number}"
        yield "last"

    ahead = []
    done = fleet.over(
        endless(), [find("reference")], executor=executor, told=lambda part: ahead.append(len(taken) - len(ahead))
    )
    assert (done.files, executor.most) == (101, 8)
    assert max(ahead) <= 16


def test_a_thread_pool_gives_the_same_answer(folder: Path) -> None:
    alone = agentsim.budget([folder], percentile=95, styles=STYLES)
    with ThreadPoolExecutor(3) as executor:
        together = agentsim.budget([folder], percentile=95, styles=STYLES, executor=executor)
    assert (together.to_dicts(), together.skipped) == (alone.to_dicts(), alone.skipped)


def test_a_process_pool_gives_the_same_answer(folder: Path) -> None:
    alone = agentsim.budget([folder], percentile=95, styles=STYLES)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        together = agentsim.budget([folder], percentile=95, styles=STYLES, executor=executor)
    assert (together.to_dicts(), together.skipped) == (alone.to_dicts(), alone.skipped)


def test_dask_gives_the_same_answer(folder: Path) -> None:
    from distributed import Client, LocalCluster

    alone = agentsim.budget([folder], percentile=95, styles=STYLES)
    settings = {"processes": False, "dashboard_address": None, "silence_logs": 50}
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, **settings) as cluster,
        Client(cluster) as client,
        client.get_executor() as executor,
    ):
        together = agentsim.budget([folder], percentile=95, styles=STYLES, executor=executor)
    assert (together.to_dicts(), together.skipped) == (alone.to_dicts(), alone.skipped)


class Losing(ThreadPoolExecutor):
    """A cluster that loses the worker of one file."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if args[0].endswith("05.json"):
            future.set_exception(ConnectionError("worker lost"))
        else:
            future.set_result(fn(*args))
        return future


def test_a_lost_worker_costs_its_file_and_says_so(folder: Path) -> None:
    found = agentsim.budget([folder], styles=["reference"], executor=Losing(1))
    assert found.runs == 39
    assert "its worker failed: ConnectionError: worker lost" in found.skipped[str(folder / "2" / "05.json")]


def test_a_mistake_of_the_call_is_no_property_of_the_files(folder: Path) -> None:
    with pytest.raises(agentsim.UsageError):
        agentsim.budget([folder], styles=["reference"], options={"reference": {"nonsense": 1}})
    with pytest.raises(agentsim.UsageError, match="percentile"):
        agentsim.budget([folder], percentile=0)


def test_the_command_reads_folders_with_any_number_of_processes(folder: Path) -> None:
    one, two = (cli(str(folder), "--percentile", "95", "--jobs", jobs, "--format", "json") for jobs in ("1", "2"))
    assert (one.returncode, one.stdout, one.stderr) == (0, two.stdout, two.stderr)
    assert json.loads(one.stdout)[0]["runs"] == 40
    assert one.stderr.startswith("2 files were skipped:\n")
    assert "notes.txt" in one.stderr


def test_the_command_fails_where_nothing_could_be_read(tmp_path: Path) -> None:
    shutil.copy(__file__, tmp_path / "a.py")
    none, empty = cli(str(tmp_path)), cli(str(tmp_path / "nowhere"))
    assert (none.returncode, empty.returncode) == (2, 2)
    assert "not a recording that is known" in none.stderr
    assert "there is no file" in empty.stderr
    assert "Traceback" not in none.stderr + empty.stderr


def test_there_is_no_progress_bar_where_there_is_no_terminal(folder: Path) -> None:
    assert "reading" not in cli(str(folder), "--jobs", "1").stderr

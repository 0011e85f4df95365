"""Requests pass through a recorder as they are, and every exchange is kept once it is finished."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

import agentsim
from agentsim.http.forward import Forward, upstreams
from agentsim.http.record import Files, Recorder, goes_live
from agentsim.http.server import Server
from agentsim.store.httplog import first_line
from agentsim.store.importers import read
from agentsim.store.recording import facts
from tests.record.upstream import FIRST, SCENARIO, SECOND, Slow, files, provider

BODY: dict[str, Any] = {"model": "m", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"x-api-key": "plain-looking-key", "anthropic-version": "2023-06-01"}

on_posix = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C as a terminal sends it on POSIX")

#: The agent under test as a program: a loop of one tool over the official SDK.
PROGRAM = """
import anthropic
client = anthropic.Anthropic(max_retries=0)
tool = {"name": "lookup_order", "input_schema": {"type": "object", "properties": {"order_id": {"type": "integer"}}}}
messages = [{"role": "user", "content": "Refund order 42"}]
while True:
    with client.messages.stream(model="m", max_tokens=9, messages=messages, tools=[tool]) as stream:
        reply = stream.get_final_message()
    messages.append({"role": "assistant", "content": reply.content})
    calls = [block for block in reply.content if block.type == "tool_use"]
    if not calls:
        print(reply.content[0].text)
        break
    messages.append({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": call.id, "content": "order 42: shipped"} for call in calls]})
"""


def agent() -> None:
    scope: dict[str, Any] = {}
    try:
        exec(compile(PROGRAM, "agent.py", "exec"), scope)
    finally:
        scope["client"].close()  # its connection is real, and would be found open whenever it is collected


def record(folder: Path, url: str, *command: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    ours = [sys.executable, "-m", "agentsim", "record", "-o", "it.yaml", "--upstream", url, *options, "--"]
    environment = {**os.environ, "ANTHROPIC_API_KEY": "plain-looking-key"}
    return subprocess.run(
        [*ours, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_a_command_is_recorded_as_scenario_transcript_and_traffic(tmp_path: Path) -> None:
    with provider() as (url, seen):
        done = record(tmp_path, url, sys.executable, "-c", PROGRAM)
    assert (done.returncode, done.stdout) == (0, "Refunded.\n"), done.stderr
    assert files(tmp_path) == {"it.yaml", "it.http.jsonl", "it.transcript.jsonl"}
    assert seen.requests[0].headers["authorization"] == "Bearer plain-looking-key"
    scenario = agentsim.load(tmp_path / "it.yaml")
    assert scenario.prompts == ("Refund order 42",)
    assert [run.output for run in agentsim.run(scenario, limit=None).tool_runs] == ["order 42: shipped"]
    assert facts(read(tmp_path / "it.transcript.jsonl")) | {"format": ""} == facts(read(tmp_path / "it.http.jsonl")) | {
        "format": ""
    }
    assert not [path for path in tmp_path.iterdir() if "plain-looking-key" in path.read_text()]


def test_a_recording_is_replayed_to_the_agent_that_it_is_of(tmp_path: Path) -> None:
    with provider() as (url, _):
        record(tmp_path, url, sys.executable, "-c", PROGRAM)
    with agentsim.replay(tmp_path / "it.http.jsonl") as sim:
        agent()
    assert sim.model_calls == 2


def test_the_same_run_is_recorded_in_the_same_bytes(tmp_path: Path) -> None:
    kept = []
    for _ in range(2):
        with provider() as (url, _seen), agentsim.record(tmp_path / "it.yaml", mode="all", upstream=url):
            agent()
        kept.append({name: (tmp_path / name).read_bytes() for name in files(tmp_path)})
    assert kept[0] == kept[1]


def test_a_recording_that_exists_is_only_replaced_when_asked(tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text("mine")
    with provider() as (url, seen):
        refused = record(tmp_path, url, sys.executable, "-c", PROGRAM)
        assert (refused.returncode, len(seen.requests)) == (2, 0)
        assert "'it.yaml' exists; --force replaces it" in refused.stderr
        assert (tmp_path / "it.yaml").read_text() == "mine"
        assert record(tmp_path, url, sys.executable, "-c", PROGRAM, options=("--force",)).returncode == 0
    assert agentsim.load(tmp_path / "it.yaml").prompts == ("Refund order 42",)


def test_the_exit_status_is_the_commands(tmp_path: Path) -> None:
    done = record(
        tmp_path, "http://127.0.0.1:9", sys.executable, "-c", "raise SystemExit(7)", options=("--format", "json")
    )
    assert done.returncode == 7
    assert json.loads(done.stderr.partition("{")[1] + done.stderr.partition("{")[2])["exchanges"] == 0
    assert files(tmp_path) == set()


def test_an_upstream_that_is_none_is_a_mistake_of_the_call() -> None:
    with pytest.raises(agentsim.UsageError, match="no provider 'claude'"):
        upstreams(("claude=http://x",), {})
    with pytest.raises(agentsim.UsageError, match="wants a URL"):
        upstreams(("x.test",), {})


def test_upstreams_are_the_providers_unless_told_otherwise() -> None:
    assert upstreams((), {})["openai"] == "https://api.openai.com"
    assert upstreams((), {"OPENAI_BASE_URL": "https://gateway.test/v1/"})["openai"] == "https://gateway.test"
    assert upstreams(("openai=http://one.test/v1",), {})["anthropic"] == "https://api.anthropic.com"
    assert set(upstreams(("http://one.test",), {}).values()) == {"http://one.test"}


# -- passing through ------------------------------------------------------------------------------------------------------


def test_a_stream_comes_through_piece_by_piece_while_the_provider_still_speaks(tmp_path: Path) -> None:
    slow, recorder = Slow(), Recorder(tmp_path / "it.yaml")
    with Server(None, app=slow) as up, Server(None, app=Forward(recorder, upstreams((up.url,), {}))) as server:
        with httpx.stream(
            "POST", f"{server.url}/v1/messages", json=BODY, headers=HEADERS, trust_env=False, timeout=30
        ) as response:
            pieces = response.iter_raw()
            first = b""
            while len(first) < len(FIRST):
                first += next(pieces)
            assert first == FIRST  # the provider has not sent the rest, and won't before this
            slow.go.set()
            assert b"".join(pieces) == SECOND
        recorder.finish()
    assert agentsim.load(tmp_path / "it.yaml").script[0].reply.text == "one two"  # type: ignore[union-attr]


def test_a_client_that_goes_away_takes_the_providers_connection_with_it(tmp_path: Path) -> None:
    slow, recorder = Slow(), Recorder(tmp_path / "it.yaml")
    with Server(None, app=slow) as up, Server(None, app=Forward(recorder, upstreams((up.url,), {}))) as server:
        with httpx.stream(
            "POST", f"{server.url}/v1/messages", json=BODY, headers=HEADERS, trust_env=False, timeout=30
        ) as response:
            next(response.iter_raw())
        assert slow.left.wait(20)
        recorder.finish()
    (entry,) = agentsim.load(tmp_path / "it.yaml").script
    assert entry.fault.disconnect == "end"  # type: ignore[union-attr]


def test_what_no_codec_knows_passes_and_is_not_kept(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "it.yaml")
    with provider() as (url, _), Server(None, app=Forward(recorder, upstreams((url,), {}))) as server:
        assert httpx.post(f"{server.url}/v1/files", content=b"x", trust_env=False).status_code == 404
        assert httpx.get(f"{server.url}/elsewhere?q=a%20b", trust_env=False).status_code == 404
    assert (recorder.passed, recorder.finish()) == (2, [])


def test_a_provider_that_is_not_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder(tmp_path / "it.yaml")
    with Server(None, app=Forward(recorder, upstreams(("http://127.0.0.1:9",), {}), tell=told.append)) as server:
        response = httpx.post(f"{server.url}/v1/messages", json=BODY, headers=HEADERS, trust_env=False)
    recorder.abandon()
    assert response.status_code == 502
    assert "http://127.0.0.1:9/v1/messages can't be reached" in response.json()["error"]["message"]
    assert len(told) == 1


@pytest.mark.parametrize("how", ["end", "reset"])
def test_a_connection_that_the_provider_drops_is_dropped(tmp_path: Path, how: str) -> None:
    text = f"agentsim: 1\nprompt: hi\nreplies: [{{disconnect: {{before: headers, how: {how}}}}}, {{text: Hi.}}]"
    recorder = Recorder(tmp_path / "it.yaml")
    with provider(text) as (url, _), Server(None, app=Forward(recorder, upstreams((url,), {}))) as server:
        with pytest.raises(httpx.TransportError):
            httpx.post(f"{server.url}/v1/messages", json=BODY, headers=HEADERS, trust_env=False)
        assert "Hi." in httpx.post(f"{server.url}/v1/messages", json=BODY, headers=HEADERS, trust_env=False).text
    recorder.finish()
    fault, reply = agentsim.load(tmp_path / "it.yaml").script
    assert fault.fault.disconnect == how  # type: ignore[union-attr]
    assert reply.reply.text == "Hi."  # type: ignore[union-attr]


def test_a_killed_recorder_leaves_every_finished_exchange(tmp_path: Path) -> None:
    program = PROGRAM + "\nimport os, time\nopen('done', 'w').close()\ntime.sleep(60)\n"
    with provider() as (url, _):
        ours = [
            sys.executable,
            "-m",
            "agentsim",
            "record",
            "-o",
            "it.yaml",
            "--upstream",
            url,
            "--",
            sys.executable,
            "-c",
            program,
        ]
        environment = {**os.environ, "ANTHROPIC_API_KEY": "plain-looking-key"}
        running = subprocess.Popen(
            ours,
            cwd=tmp_path,
            env=environment,
            start_new_session=True,
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            while not (tmp_path / "done").exists():
                assert running.poll() is None
                with pytest.raises(subprocess.TimeoutExpired):
                    running.wait(0.1)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    left = tmp_path / "it.http.jsonl.part"
    assert facts(read(left))["model_calls"] == 2
    with left.open("ab") as file:  # and a line that was being written costs nothing but itself
        file.write(b'{"number":3,"request":{"meth')
    assert facts(read(left))["model_calls"] == 2
    with pytest.raises(agentsim.UsageError, match="left of a recording that was killed"):
        Recorder(tmp_path / "it.yaml")


# -- in process: none, once, new, all ---------------------------------------------------------------------------------------


def test_once_records_what_is_not_there_and_plays_what_is(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    assert goes_live(path, "once")
    with provider() as (url, seen):
        with agentsim.record(path, upstream=url) as live:
            agent()
        assert live.prompt == "Refund order 42"
        assert live.transcript.model_calls == 2
        with agentsim.record(path, upstream=url) as sim:
            agent()
        assert (sim.transcript.model_calls, len(seen.requests)) == (2, 2)
    assert not goes_live(path, "once")


def test_none_never_goes_live(tmp_path: Path) -> None:
    with pytest.raises(agentsim.UsageError, match="the mode 'once' makes it"):
        agentsim.record(tmp_path / "it.yaml", mode="none")
    with pytest.raises(agentsim.UsageError, match="a recording mode is one of none, once, new, all"):
        goes_live(tmp_path / "it.yaml", "some")


def test_new_goes_live_only_for_what_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    with provider() as (url, _), agentsim.record(path, upstream=url):
        agent()
    hi = "agentsim: 1\nprompt: hi\nreplies: [{text: Hi.}]"
    with provider(hi) as (url, seen), agentsim.record(path, mode="new", upstream=url) as live:
        agent()
        with anthropic.Anthropic() as client:
            message = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}])
        assert message.content[0].text == "Hi."  # type: ignore[union-attr]
        assert len(seen.requests) == 1
    assert [each.name for each in live.written if each.suffix == ".yaml"] == ["it.yaml", "it-2.yaml"]
    assert facts(read(Files(path).traffic))["model_calls"] == 3


def test_new_plays_a_written_scenario_and_goes_live_where_its_replies_run_out(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    begun = "agentsim: 1\nname: begun by hand\nprompt: Refund order 42\nreplies: [{text: Wait., tool_use: {lookup_order: {order_id: 42}}}]\n"
    path.write_text(begun + "expect: {final_text: Refunded.}\n", "utf-8")
    last = "agentsim: 1\nprompt: Refund order 42\nreplies: [{text: Refunded.}]"
    with provider(last) as (url, seen), agentsim.record(path, mode="new", upstream=url) as live:
        agent()
        assert live.model_calls == 2
        live.check_expectations("Refunded.")
    assert len(seen.requests) == 1
    scenario = agentsim.load(path)
    assert (scenario.name, len(scenario.script), set(scenario.tools)) == ("begun by hand", 2, {"lookup_order"})
    assert scenario.expect == {"final_text": "Refunded."}
    assert facts(read(Files(path).traffic))["model_calls"] == 2


def test_all_records_anew_and_a_failing_test_leaves_the_old_recording(tmp_path: Path) -> None:
    path = tmp_path / "it.yaml"
    with provider() as (url, _), agentsim.record(path, upstream=url):
        agent()
    before = path.read_bytes()

    def failing(url: str) -> None:
        with agentsim.record(path, mode="all", upstream=url):
            agent()
            raise ZeroDivisionError

    with provider() as (url, _), pytest.raises(ZeroDivisionError) as caught:
        failing(url)
    assert path.read_bytes() == before
    assert "it.http.jsonl.part" in caught.value.__notes__[0]
    with provider(SCENARIO.replace("Refunded.", "Done.")) as (url, _), agentsim.record(path, mode="all", upstream=url):
        agent()
    assert "Done." in path.read_text()


async def _ask(client: anthropic.AsyncAnthropic) -> str:
    async with (
        client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        return (await stream.get_final_message()).content[0].text  # type: ignore[union-attr]


def test_clients_made_before_and_async_ones_are_recorded_where_they_meant_to_go(tmp_path: Path) -> None:
    import asyncio

    with provider("agentsim: 1\nprompt: hi\nreplies: [{text: Hi.}]") as (url, seen):
        early = anthropic.AsyncAnthropic(base_url=url, api_key="plain-looking-key")
        with agentsim.record(tmp_path / "it.yaml"):
            assert asyncio.run(_ask(early)) == "Hi."
    assert len(seen.requests) == 1
    assert agentsim.load(tmp_path / "it.yaml").prompts == ("hi",)


def test_a_child_process_finds_the_recorder_by_its_environment(tmp_path: Path) -> None:
    with provider() as (url, seen), agentsim.record(tmp_path / "it.yaml", upstream=url) as live:
        environment = {**live.environment, "ANTHROPIC_API_KEY": "plain-looking-key"}
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=120
        )
    assert len(seen.requests) == 2
    assert agentsim.load(tmp_path / "it.yaml").prompts == ("Refund order 42",)


def test_a_command_that_can_not_be_run_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    done = record(tmp_path, "http://127.0.0.1:9", "no-such-command")
    assert (done.returncode, files(tmp_path)) == (2, set())
    assert "'no-such-command' can't be run" in done.stderr


def test_an_empty_rest_of_a_killed_recorder_is_not_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "it.http.jsonl.part").write_bytes(
        first_line()
    )  # what one leaves that is killed before the first exchange
    Recorder(tmp_path / "it.yaml").abandon()
    assert files(tmp_path) == set()


def test_what_agentsim_says_in_a_providers_place_is_no_reply(tmp_path: Path) -> None:
    done = record(tmp_path, "http://127.0.0.1:9", sys.executable, "-c", PROGRAM)
    assert files(tmp_path) == set()
    assert done.returncode == 1  # the command's own: its provider was not there
    assert "warning: 1 request is not kept: the provider could not be reached" in done.stderr


def test_a_recording_goes_into_a_folder_that_is_named(tmp_path: Path) -> None:
    with provider() as (url, _):
        done = subprocess.run(
            [sys.executable, "-m", "agentsim", "record", "-o", ".", "--upstream", url, "--", sys.executable, "-c", PROGRAM],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == {"recording.yaml", "recording.http.jsonl", "recording.transcript.jsonl"}


@pytest.mark.parametrize("name", [".", "/", ""])
def test_a_recording_has_a_name(name: str) -> None:
    with pytest.raises(agentsim.UsageError, match="wants the name of a file"):
        Files(name)


def interrupted(folder: Path, url: str, program: str, *, times: int = 1) -> int:
    """The status of a recording whose command is ended with Ctrl-C once it says that it is ready."""
    ours = [sys.executable, "-m", "agentsim", "record", "-o", "it.yaml", "--upstream", url, "--"]
    with subprocess.Popen(
        [*ours, sys.executable, "-c", program],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        env={**os.environ, "ANTHROPIC_API_KEY": "plain-looking-key"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # where tests run in the background it is ignored
    ) as recorder:  # fmt: skip
        assert recorder.stdout is not None
        try:
            for _ in range(times):
                while recorder.stdout.readline() not in ("ready\n", ""):
                    pass
                os.killpg(recorder.pid, signal.SIGINT)
            return recorder.wait(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(recorder.pid, signal.SIGKILL)


@on_posix
def test_an_interrupted_recording_without_an_exchange_leaves_nothing(tmp_path: Path) -> None:
    assert interrupted(tmp_path, "http://127.0.0.1:9", "import time; print('ready', flush=True); time.sleep(60)") == 130
    assert files(tmp_path) == set()


@on_posix
def test_a_chat_that_ends_with_ctrl_c_is_recorded(tmp_path: Path) -> None:
    with provider() as (url, _):
        program = PROGRAM + "\nimport time\nprint('ready', flush=True)\ntime.sleep(60)"
        assert interrupted(tmp_path, url, program) == 130
    assert files(tmp_path) == {"it.yaml", "it.http.jsonl", "it.transcript.jsonl"}


@on_posix
def test_a_command_may_go_on_after_ctrl_c_and_is_killed_by_the_second(tmp_path: Path) -> None:
    stubborn = """
import signal, time
signal.signal(signal.SIGINT, lambda *_: print('ready', flush=True))
print('ready', flush=True)
while True:
    time.sleep(60)
"""
    with provider() as (url, _):
        assert interrupted(tmp_path, url, PROGRAM + stubborn, times=2) == 128 + signal.SIGKILL
    assert files(tmp_path) == {"it.yaml", "it.http.jsonl", "it.transcript.jsonl"}

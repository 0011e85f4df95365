"""`agentsim import`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentsim.cli.common import echo_json, format_option
from agentsim.errors import TranscriptError, UsageError
from agentsim.store.places import STANDARD_INPUT, check_writable, stream_at, title, unwritable

if TYPE_CHECKING:
    from agentsim.scenario.model import Scenario
    from agentsim.store.recording import Recording


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o", "--output", metavar="OUT", help="A file for one scenario, a folder for several; else standard output."
)
@click.option("--from", "format_name", metavar="FORMAT", help="Read it as this format in place of recognising it.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@format_option
def command(files: tuple[str, ...], output: str | None, format_name: str | None, force: bool, format_: str) -> None:
    """Write recordings of other tools as scenarios that play back to the same transcript.

    What a format does not record is inferred by stated rules, and told on standard error.
    """
    from agentsim.store.recording import scenarios

    found: list[tuple[str, Recording, list[Scenario]]] = []
    for file in files:
        recording = _read(file, format_name)
        found.append((file, recording, scenarios(recording, "scenario" if file == STANDARD_INPUT else Path(file).stem)))
    for file, recording, made in found:
        _tell(file, recording, len(made))
    written = _write([s for *_, made in found for s in made], output, force)
    if format_ == "json":
        echo_json([_data(file, recording, made) for file, recording, made in found])
    elif not output:
        click.echo(written, nl=False)


def _read(file: str, format_name: str | None) -> Recording:
    from agentsim.store.importers import read
    from agentsim.store.inputs import begins_a_scenario, names_a_scenario

    data = stream_at(file)
    try:
        return read(file if data is None else data, format=format_name, name=title(file))
    except TranscriptError:
        is_one = begins_a_scenario(data) if data is not None else os.path.isfile(file) and names_a_scenario(file)
        if is_one:
            text = f"{title(file)} is a scenario already; `run`, `compare` and `show` take it as it is"
            raise UsageError(text) from None
        raise


def _write(made: list[Scenario], output: str | None, force: bool) -> str:
    """Write the scenarios; returns the text where there is no file to write to."""
    from agentsim.scenario.dump import dumps

    if not made:
        raise UsageError("none of these files holds a reply of a model to play")
    if output == "":
        raise UsageError("-o wants a file or a folder, but its name is empty")
    if output is None:
        if len(made) > 1:
            raise UsageError(f"{len(made)} scenarios were found; name a folder for them with -o")
        return dumps(made[0])
    if len(made) == 1 and not (os.path.isdir(output) or output.endswith(os.sep)):
        _replace(Path(output), dumps(made[0]), force)
        return ""
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    for number, scenario in enumerate(made, 1):
        _replace(folder / f"{number:02}-{_slug(scenario.name)}.yaml", dumps(scenario), force)
    return ""


def _replace(path: Path, text: str, force: bool) -> None:
    """Write to a temporary file beside it, then rename: what is there is never half a file."""
    if path.exists() and not force:
        raise UsageError(f"{str(path)!r} exists; --force replaces it")
    check_writable(path)
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise unwritable(path, error) from None


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60] or "scenario"


def _tell(file: str, recording: Recording, made: int) -> None:
    from agentsim.store.recording import RULES

    click.echo(f"{file}: {recording.format}, {made} scenario{'' if made == 1 else 's'}", err=True)
    for line in (*recording.notes, *recording.skipped):
        click.echo(f"  {line}", err=True)
    for what in recording.inferred:
        click.echo(f"  inferred: {RULES.get(what, what)}", err=True)


def _data(file: str, recording: Recording, made: list[Any]) -> dict[str, Any]:
    from agentsim.scenario.dump import to_data

    return {
        "file": file,
        "format": recording.format,
        "scenarios": [to_data(scenario) for scenario in made],
        "notes": list(recording.notes),
        "skipped": list(recording.skipped),
        "inferred": sorted(recording.inferred),
    }

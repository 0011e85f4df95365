"""Every row that was measured on the real SDKs comes out of the styles, or is listed as a divergence with its reason."""

from __future__ import annotations

import json
import re

import pytest

from agentsim.styles import all_styles
from tests.styles.agreement import disagreements, worded
from tests.styles.cases import MEASURED, SDK, rows_of, scripts
from tests.styles.divergences import reason_for

#: It throws before any call, whatever the script: "Not implemented".
WITHOUT_RANDOM_SCRIPTS = {"ai-sdk/WorkflowAgent.generate"}
AGREEMENT = json.loads((SDK / "agreement.json").read_text("utf-8"))
NAMES = sorted(path.stem for path in MEASURED.glob("*.jsonl"))


@pytest.mark.parametrize("name", NAMES)
def test_the_styles_do_what_the_real_sdk_did(name):
    told = [(row, found) for row, found in disagreements(name) if reason_for(row) is None]
    lines = [
        f"{row['case']} {row['style']} {row['wire']} stream={row['stream']} limit={row['limit']}: "
        + "; ".join(f"{key}: real {real!r}, simulated {given!r}" for key, (real, given) in found.items())
        for row, found in told[:10]
    ]
    assert not told, f"{len(told)} rows differ:\n" + "\n".join(lines)


@pytest.mark.parametrize("name", NAMES)
def test_errors_have_the_real_sdk_s_own_words_where_a_style_claims_them(name):
    other = [
        f"{row['case']} {row['style']} {row['wire']}: {real!r}, simulated {said!r}" for row, real, said in worded(name)
    ]
    assert not other, "\n".join(other[:10])


@pytest.mark.parametrize("name", NAMES)
def test_every_measured_row_has_a_style_and_a_script(name):
    known = scripts(name)
    for row in rows_of(name):
        assert row["style"] in all_styles()
        assert row["case"] in known


@pytest.mark.parametrize("name", NAMES)
def test_no_row_tells_where_it_was_measured(name):
    text = (MEASURED / f"{name}.jsonl").read_text("utf-8")
    assert re.findall(r'/[^\s"]*/(?:site-packages|node_modules|\.sdk-cache)/', text) == []


def test_every_entry_point_of_an_sdk_was_measured():
    measured = {row["style"] for name in NAMES for row in rows_of(name)}
    unproved = {name for name in all_styles() if "@" not in name} - measured
    assert unproved == {"reference"}


@pytest.mark.parametrize("name", NAMES)
def test_a_listed_divergence_still_diverges(name):
    diverging = {(row["style"], row["case"], row["wire"], row["stream"]) for row, _ in disagreements(name)}
    listed = {
        (row["style"], row["case"], row["wire"], row["stream"]) for row in rows_of(name) if reason_for(row) is not None
    }
    assert listed <= diverging


@pytest.mark.parametrize("style", sorted(AGREEMENT))
def test_a_stored_proof_is_of_the_measured_versions_and_accounts_for_every_script(style):
    told = AGREEMENT[style]
    header = (MEASURED / f"{told['sdk']}.jsonl").read_text("utf-8").split("\n", 1)[0]
    assert told["versions"] == json.loads(header)["versions"]
    assert told["agreements"] + sum(one["examples"] for one in told["divergences"]) == told["examples"]
    assert all(one["reason"] and one["smallest"] for one in told["divergences"])


def test_every_entry_point_was_compared_with_its_sdk_on_random_scripts():
    measured = {row["style"] for name in NAMES for row in rows_of(name)}
    assert sorted(AGREEMENT) == sorted(measured - WITHOUT_RANDOM_SCRIPTS)

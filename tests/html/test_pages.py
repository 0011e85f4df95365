"""What holds for every page: it is right HTML, loads nothing, can be read by everybody, and is the same each time."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from agentsim.report.html import page as pages
from tests.html.pages import PAGES
from tests.html.reading import find, hash_of, label_of, one, parsed, tag, with_id, words

ROOT = Path(__file__).parents[2]


@cache
def root_of(name: str) -> Element:
    return parsed(PAGES[name]())


@pytest.fixture(params=PAGES)
def root(request: pytest.FixtureRequest) -> Element:
    """Each page in turn."""
    return root_of(request.param)


def test_it_loads_nothing_and_sends_nothing(root):
    for element in root.iter():
        for name in ("href", "src", "srcset", "action", "formaction", "poster", "data", "background"):
            value = element.get(name)
            assert value is None or value == "data:," or value.startswith("#"), (element.tag, name, value)
    assert not {"iframe", "img", "object", "embed", "base", "form"} & {tag(e) for e in root.iter()}
    style = "".join(one(root, "style").itertext())
    assert "@import" not in style
    assert set(re.findall(r"url\(([^)]*)\)", style)) <= {"#hatch", "#dots"}


def test_its_policy_lets_nothing_act_but_its_own_style_and_script(root):
    policy = next(e.get("content") for e in find(root, "meta") if e.get("http-equiv"))
    assert policy == (
        f"default-src 'none'; style-src {hash_of(one(root, 'style'))}; script-src {hash_of(one(root, 'script'))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    for element in root.iter():
        assert not [name for name in element.attrib if str(name).startswith("on") or name == "style"], element.attrib


def test_a_screen_reader_finds_its_way(root):
    assert root.get("lang") == "en"
    assert words(one(one(root, "head"), "title"))
    assert next(tag(e) for e in one(root, "body") if tag(e) != "svg") == "a", (
        "the first stop is the link to the content"
    )
    assert len(find(root, "main")) == len(find(root, "h1")) == len(find(root, "footer")) == 1
    levels = [int(tag(e)[1]) for e in root.iter() if re.fullmatch("h[1-6]", tag(e))]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels)), levels
    for element in root.iter():
        if tag(element) in ("nav", "section", "table") or element.get("role") == "region":
            assert label_of(root, element), (element.tag, element.attrib)


def test_tables_name_their_cells(root):
    for table in find(root, "table"):
        heads = find(table, "th")
        assert heads
        assert {head.get("scope") for head in heads} <= {"col", "row"}
        widths = {len([cell for cell in row if tag(cell) in ("td", "th")]) for row in find(table, "tr")}
        assert len(widths) == 1, f"rows of {label_of(root, table)!r} differ in length: {widths}"


def test_charts_say_in_words_what_they_show(root):
    for svg in find(root, "svg"):
        assert svg.get("aria-hidden") == "true" or (svg.get("role") == "img" and svg.get("aria-label"))


def test_what_it_points_at_is_there_once(root):
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for element in root.iter():
        if (target := element.get("href", "")).startswith("#") and len(target) > 1:
            with_id(root, target[1:])


def test_what_scrolls_can_be_reached_with_the_keyboard(root):
    for element in root.iter():
        if element.get("class") == "scroll":
            assert (element.get("tabindex"), element.get("role")) == ("0", "region")


def test_the_same_input_gives_the_same_bytes():
    code = (
        "import hashlib; from tests.html.pages import PAGES;"
        "print([hashlib.sha256(make().encode()).hexdigest() for make in PAGES.values()])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


# --- colours ---------------------------------------------------------------------------------------------------------


def palettes() -> list[dict[str, str]]:
    """The colours of light, dark and paper."""
    style = pages._text("style.css")
    light, dark, paper = (
        dict(re.findall(r"--([\w-]+):(#[0-9a-f]+)", block)) for block in re.findall(r":root\{([^}]*)\}", style)
    )
    return [light, light | dark, light | paper]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXTS = [("text", "ground"), ("text", "raised"), ("quiet", "ground"), ("quiet", "raised"), ("accent", "ground")]
TEXTS += [("bad", "raised"), ("ground", "bad")] + [(k, f"{k}-soft") for k in ("good", "warn", "error", "bad")]


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark", "paper"])
def test_texts_can_be_told_from_their_ground(palette):
    weak = {pair: contrast(palette[pair[0]], palette[pair[1]]) for pair in TEXTS}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark", "paper"])
def test_marks_can_be_told_from_their_ground(palette):
    marks = ("good", "warn", "error", "bad", "accent", "strong")
    assert {name: 1 for name in marks if contrast(palette[name], palette["ground"]) < 3} == {}

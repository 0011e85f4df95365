"""The report card: a row for each rule and scenario, and what a rule comes to over all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from agentsim.core.transcript import Transcript
from agentsim.judge.rules import FAILED, NOT_APPLICABLE, PASSED, Rule
from agentsim.report.plain import plain


@dataclass(frozen=True, slots=True)
class Row:
    """What a rule says of one scenario.

    Args:
        rule, result, scenario, detail: as the report card has them.
        transcript: of a broken rule, the run in lines. `run`: its events, for the page.
    """

    rule: str
    result: str
    scenario: str
    detail: str = ""
    transcript: tuple[str, ...] = ()
    run: Transcript | None = None

    def data(self) -> dict[str, str]:
        """As the contract's JSON has it."""
        return {"rule": self.rule, "result": self.result, "scenario": self.scenario, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Report:
    """What an audit found.

    Args:
        target: as the user named it.
        rows: a row for each rule and scenario.
        rules: that were looked at.
    """

    target: str
    rows: tuple[Row, ...]
    rules: tuple[Rule, ...]

    @property
    def failed(self) -> list[str]:
        """Names of the rules that were broken somewhere, in the rules' order."""
        broken = {row.rule for row in self.rows if row.result == FAILED}
        return [rule.name for rule in self.rules if rule.name in broken]

    def result(self, rule: str) -> str:
        """What a rule comes to: failed where it was broken once, passed where it was kept once."""
        results = {row.result for row in self.rows if row.rule == rule}
        return FAILED if FAILED in results else PASSED if PASSED in results else NOT_APPLICABLE

    def to_dict(self) -> dict[str, Any]:
        """The object that `audit --format json` prints."""
        return {"target": self.target, "rules": [row.data() for row in self.rows], "failed": self.failed}

    def lines(self) -> Iterator[str]:
        """The report card as text."""
        yield f"audit of {self.target}"
        yield ""
        for rule in self.rules:
            result = self.result(rule.name)
            yield f"{result.replace('_', ' '):<15}{rule.name}"
            if result == FAILED:
                yield from self._failures(rule)
            elif result == NOT_APPLICABLE and (why := self._why(rule)):
                yield f"{'':<15}  {why}"
        yield ""
        counts = {
            word: sum(self.result(rule.name) == word for rule in self.rules)
            for word in (PASSED, FAILED, NOT_APPLICABLE)
        }
        yield f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[NOT_APPLICABLE]} not applicable"

    def _failures(self, rule: Rule) -> Iterator[str]:
        pad = f"{'':<15}  "
        yield f"{pad}{rule.sentence}"
        yield f"{pad}source: {rule.source}"
        failures = [row for row in self.rows if row.rule == rule.name and row.result == FAILED]
        for number, row in enumerate(failures):
            yield f"{pad}{row.scenario}: {row.detail}"
            if number == 0:
                yield from (f"{pad}    {line}" for line in row.transcript[:40])
                if len(row.transcript) > 40:
                    yield f"{pad}    … {len(row.transcript) - 40} further lines"

    def _why(self, rule: Rule) -> str:
        return next((row.detail for row in self.rows if row.rule == rule.name and row.detail), "")

    def to_html(self) -> str:
        """The report card as a page of its own; needs `agentsim[html]`."""
        from agentsim.audit.page import page

        return page(self)

    def junit(self) -> str:
        """The report as JUnit XML: a test case for each rule and scenario that provokes it or broke it."""
        cases = [row for row in self.rows if row.result != NOT_APPLICABLE or self._provokes(row)]
        suite = ElementTree.Element(
            "testsuite",
            name=plain(f"agentsim audit {self.target}"),
            tests=str(len(cases)),
            failures=str(sum(row.result == FAILED for row in cases)),
            skipped=str(sum(row.result == NOT_APPLICABLE for row in cases)),
        )
        for row in cases:
            case = ElementTree.SubElement(suite, "testcase", classname=row.rule, name=row.scenario)
            if row.result == FAILED:
                failure = ElementTree.SubElement(case, "failure", message=plain(row.detail))
                failure.text = plain("\n".join(row.transcript))
            elif row.result == NOT_APPLICABLE:
                ElementTree.SubElement(case, "skipped", message=plain(row.detail) or "not applicable")
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        text: bytes = ElementTree.tostring(root, "us-ascii", xml_declaration=False)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{text.decode("ascii")}\n'

    def _provokes(self, row: Row) -> bool:
        return any(rule.name == row.rule and row.scenario in rule.scenarios for rule in self.rules)

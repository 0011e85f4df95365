"""What the comparison with the real SDKs came to: counted while it runs, told at its end, stored on request."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

PATH = Path(__file__).parent / "agreement.json"


@dataclass
class Tally:
    """One entry point: how many scripts were compared, how many agree, and what is knowingly not modelled.

    Args:
        sdk: the folder of its driver.
        versions: of the packages.
        digest: of the styles and the driver that were compared.
        divergences: reason -> [how many scripts, the smallest of them].
        kinds: what the scripts were made of.
    """

    sdk: str
    versions: dict[str, str]
    digest: str
    examples: int = 0
    agreements: int = 0
    divergences: dict[str, tuple[int, Json]] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)

    def count(self, case: Json, kinds: Counter[str], reason: str | None) -> None:
        """Count a script that agreed, or that differs for a known reason."""
        self.examples += 1
        self.kinds.update(kinds)
        if reason is None:
            self.agreements += 1
            return
        count, smallest = self.divergences.get(reason, (0, case))
        self.divergences[reason] = (
            count + 1,
            min(smallest, case, key=lambda one: (len(json.dumps(one)), json.dumps(one))),
        )

    def to_data(self, seed: int, date: str) -> Json:
        """As `agreement.json` holds it."""
        return {
            "sdk": self.sdk,
            "versions": self.versions,
            "digest": self.digest,
            "date": date,
            "seed": seed,
            "examples": self.examples,
            "agreements": self.agreements,
            "divergences": [
                {"reason": reason, "examples": count, "smallest": smallest}
                for reason, (count, smallest) in sorted(self.divergences.items())
            ],
        }


class Ledger:
    """Every entry point's tally of one run of the suite."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.failed: set[str] = set()

    def of(self, style: str, sdk: str, versions: dict[str, str], digest: str) -> Tally:
        """The tally of a style, made on first use."""
        return self.tallies.setdefault(style, Tally(sdk, versions, digest))

    def lines(self) -> list[str]:
        """What is told at the end of a run."""
        shown = []
        for style, tally in sorted(self.tallies.items()):
            other = sum(count for count, _ in tally.divergences.values())
            more = f", {other} of known kinds that differ" if other else ""
            shown.append(f"{style}: {tally.agreements} of {tally.examples} random scripts agree{more}")
        kinds: Counter[str] = Counter()
        for tally in self.tallies.values():
            kinds.update(tally.kinds)
        total = sum(tally.examples for tally in self.tallies.values())
        if total:
            shown.append("what the scripts were made of, in per cent of them:")
            shown += [f"  {kind}: {100 * count / total:.0f}" for kind, count in kinds.most_common()]
        return shown

    def store(self, seed: int, date: str, path: Path = PATH) -> None:
        """Put the entry points that were compared, and did not fail, in place of their older proofs."""
        known: Json = json.loads(path.read_text("utf-8")) if path.exists() else {}
        for style, tally in self.tallies.items():
            if style not in self.failed and tally.examples:
                known[style] = tally.to_data(seed, date)
        part = path.with_name(f".{path.name}.part")
        part.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(part, path)

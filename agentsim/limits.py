"""What a stranger's input may cost: sizes, counts and depths, each with a name, a default and a variable that changes it.

`AGENTSIM_LIMIT_REQUEST_BODY_BYTES=1000000` sets the limit `request_body_bytes`. Variables, because they hold for every command, for the
plugin and for child processes alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from agentsim.errors import UsageError

PREFIX = "AGENTSIM_LIMIT_"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: its default, what it is of, and the largest value that makes sense; None: any."""

    default: int
    says: str
    most: int | None = None


LIMITS: Mapping[str, Limit] = {
    "scenario_yaml_bytes": Limit(4 * _MIB, "a scenario file in YAML"),
    "scenario_json_bytes": Limit(32 * _MIB, "a scenario file in JSON"),
    "scenario_depth": Limit(100, "levels of nesting in a scenario file", 300),
    "request_body_bytes": Limit(32 * _MIB, "the body of a request to the server"),
    "request_header_bytes": Limit(64 << 10, "the request line and headers of a request to the server"),
    "import_file_bytes": Limit(
        1024 * _MIB, "a recording that is read whole, and one line of one that is read line by line"
    ),
    "import_unfolded_bytes": Limit(256 * _MIB, "what a compressed recording, or one member or body in it, unfolds to"),
    "import_ratio": Limit(100, "how many times its size compressed data may unfold to, once that is more than 16 MiB"),
    "import_members": Limit(100_000, "members of an archive"),
    "import_files": Limit(1_000_000, "files of the folders that one command reads"),
    "audit_output_bytes": Limit(32 * _MIB, "what an audited command prints"),
}


def limit(name: str) -> int:
    """The value of a limit: what its variable says, else its default.

    Args:
        name: one of LIMITS.
    Raises:
        UsageError: the variable holds no whole number, or one out of bounds; says what was expected.
    """
    known = LIMITS[name]
    variable = PREFIX + name.upper()
    text = os.environ.get(variable)
    if text is None:
        return known.default
    most = "" if known.most is None else f" up to {known.most}"
    if not text.isascii() or not text.isdigit() or not int(text[:20]) or int(text[:20]) > (known.most or 10**18):
        raise UsageError(f"{variable}: expected a whole number from 1{most or ' on'}, but {text[:40]!r} came")
    return int(text)

"""Plain values as YAML that a person reads: small collections on one line, texts of several lines as blocks."""

from __future__ import annotations

import re
from typing import Any

from agentsim.scenario.yamltext import BASED, FLOAT, INTEGER, NO_NUMBER

LONE = re.compile("[\ud800-\udfff]")

#: Characters that only an escape can carry safely through every YAML reader.
ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def written(data: dict[str, Any]) -> str:
    """The values as a YAML document."""
    import yaml

    return str(
        yaml.dump(data, Dumper=_dumper(yaml), sort_keys=False, allow_unicode=True, width=10**6, default_flow_style=None)
    )


def _dumper(yaml: Any) -> Any:
    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        """Quotes what YAML 1.1 or 1.2 would take for something else than text; writes no aliases."""

        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        value = LONE.sub("\ufffd", value)
        style = '"' if ESCAPED.search(value) else "|" if "\n" in value and not value.startswith((" ", "\n")) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def number(dumper: Any, value: float) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))

    Dumper.add_representer(str, text)
    Dumper.add_representer(float, number)
    for tag, pattern, first in (
        ("int", re.compile(f"(?:{INTEGER.pattern}|{BASED.pattern})$"), "+-0123456789"),
        ("float", re.compile(f"(?:{FLOAT.pattern}|{NO_NUMBER.pattern})$"), "+-.0123456789"),
    ):
        Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", pattern, list(first))
    return Dumper

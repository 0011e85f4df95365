"""YAML, as recorders of HTTP traffic write it."""

from __future__ import annotations

import re
from typing import Any

from agentsim.store.importers.source import Source, reason

_TOP = re.compile(rb"^(interactions|http_interactions|requests|responses|messages):", re.MULTILINE)
_SCENARIO = re.compile(rb"^[\"']?agentsim[\"']?:", re.MULTILINE)


def is_cassette(head: bytes) -> bool:
    """Whether this is the beginning of a recording in YAML, and not of a scenario."""
    return bool(_TOP.search(head)) and not _SCENARIO.search(head)


def load_yaml(source: Source) -> Any:
    """The document of a YAML file. Tags that nobody knows (`!!python/…`) are read as what they stand before.

    Raises:
        TranscriptError: it is no YAML.
    """
    import yaml

    try:
        return yaml.load(source.text(), _loader())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise source.error(f"broken YAML: {error.problem or error.context}", line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise source.error(f"broken YAML: {' '.join(reason(error).split())[:200]}") from None


def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Dates stay texts; unknown tags are tolerated."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    Loader.add_multi_constructor("", _plain)
    return Loader


def _plain(loader: Any, suffix: str, node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node)

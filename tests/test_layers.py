"""A module imports only from its own package or from a lower layer, and third-party packages only where they are allowed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import agentsim

PACKAGE = Path(agentsim.__file__).parent

#: Layer of each package or module below agentsim/.
LAYERS = {
    "": 0, "errors": 0, "limits": 0.5, "core": 0.5,
    "styles": 1, "scenario": 1, "wire": 1,
    "drive": 2, "store": 2,
    "judge": 3, "http": 3,
    "report": 4, "session": 4, "strategies": 4,
    "api": 5, "audit": 5, "snapshot": 5, "live": 5,
    "pytest_sim": 6, "pytest_report": 6, "cli": 6, "pytest_plugin": 7, "__main__": 7,
}  # fmt: skip

#: Third-party packages that each may import; the others use the standard library only.
ALLOWED = {
    "scenario": {"yaml", "jsonschema_rs", "pydantic"},
    "store": {"yaml", "zstandard", "backports", "orjson", "msgspec"},
    "http": {"httpx", "httpx2", "httpcore", "httpcore2", "respx", "uvicorn", "httptools", "aiohttp", "uvloop"},
    "session": {"httpx", "httpx2"},
    "report": {"rich", "jinja2", "markupsafe"},
    "strategies": {"hypothesis"},
    "snapshot": {"syrupy"},
    "cli": {"click", "rich"},
    "pytest_plugin": {"pytest"},
    "pytest_sim": {"pytest"},
    "pytest_report": {"pytest"},
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module with the package (or top-level module) that it belongs to."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield ("" if parts == ("__init__",) else parts[0]), path


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """Every imported module's full name, its line, and whether it is for type checkers only."""
    tree = ast.parse(path.read_text("utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, id(node) in typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno, id(node) in typing_only


def complaints() -> Iterator[str]:
    for home, path in modules():
        where = path.relative_to(PACKAGE)
        for name, line, typing_only in imports(path):
            root, _, rest = name.partition(".")
            if root == "agentsim":
                target = rest.partition(".")[0]
                if home and target != home and target in LAYERS and LAYERS[target] >= LAYERS[home] and not typing_only:
                    yield f"{where}:{line}: {home} (layer {LAYERS[home]}) imports {target} (layer {LAYERS[target]})"
                if target not in LAYERS and target != "__version__":
                    yield f"{where}:{line}: {target} has no layer"
            elif root not in sys.stdlib_module_names and root not in ALLOWED.get(home, set()) and not typing_only:
                yield f"{where}:{line}: {home or 'agentsim'} imports {root}"


def test_every_import_goes_down_the_layers():
    assert not list(complaints())


def test_every_module_has_a_layer():
    assert {home for home, _ in modules()} <= set(LAYERS)

"""Do something with a module as soon as it is imported, without importing it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Then = Callable[[ModuleType], None]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the awaited modules as everybody else does, and adds what comes then."""

    def __init__(self) -> None:
        self.awaited: dict[str, list[Then]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.awaited:
            return None
        spec = None
        for finder in sys.meta_path:
            if finder is not self and (find := getattr(finder, "find_spec", None)) is not None:
                spec = find(fullname, path, target)
                if spec is not None:
                    break
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads a module, then does what was asked for."""

    def __init__(self, loader: importlib.abc.Loader, finder: _Finder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        for then in self._finder.awaited.pop(module.__name__, []):
            then(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


_finder = _Finder()


def when_imported(name: str, then: Then) -> None:
    """Call `then` with the module: at once where it is imported, else once it is."""
    module = sys.modules.get(name)
    if module is not None and getattr(getattr(module, "__spec__", None), "_initializing", False) is not True:
        then(module)
        return
    _finder.awaited.setdefault(name, []).append(then)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(name: str, then: Then) -> None:
    """Take back what `when_imported` was told."""
    waiting = _finder.awaited.get(name, [])
    if then in waiting:
        waiting.remove(then)
    if not waiting:
        _finder.awaited.pop(name, None)
    if not _finder.awaited and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)

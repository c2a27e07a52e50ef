"""Registries of parts from this package and from entry points.

Our own are named by text and imported when they are wanted, so that a folder can ask for what lies above it; other
packages are only looked at where a name is not ours, or all names are asked for. A part of theirs that cannot be used
is named once and omitted. ``docs/plugins.md`` shows how to write one.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from topodesign.base.declared import Declared

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class PluginError(Exception):
    """Why a part of another package is omitted."""


@cache
def load(name: str) -> Any:
    """Return what a text such as ``graphs.torus:torus`` names in this package."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(f"topodesign.{module}"), attribute)


def load_members(package: str, kind: type[T]) -> tuple[T, ...]:
    """Return the values of a class that modules of a package define.

    Sub-packages are not searched.
    """
    import pkgutil  # noqa: PLC0415  where all modules of a folder are asked

    names = (name for _, name, inner in pkgutil.iter_modules(sys.modules[package].__path__) if not inner)
    modules = [importlib.import_module(f"{package}.{name}") for name in names]
    found = (value for module in modules for value in vars(module).values() if isinstance(value, kind))
    return tuple(dict.fromkeys(found))


def load_declared(package: str, name: str, first: Sequence[str] = ()) -> list[Any]:
    """Return the values of a name in all modules of a folder.

    Those named first come first, then the others by name.
    """
    import pkgutil  # noqa: PLC0415  where all modules of a folder are asked

    there = sorted(name for _, name, inner in pkgutil.iter_modules(sys.modules[package].__path__) if not inner)
    ordered = [*(one for one in first if one in there), *(one for one in there if one not in first)]
    modules = (importlib.import_module(f"{package}.{one}") for one in ordered)
    return [getattr(module, name) for module in modules if hasattr(module, name)]


@dataclass(frozen=True)
class Plugin(Declared):
    """An entry point of another package.

    * ``package``, ``version``: who brings it.
    """

    group: str  # group of the entry points
    name: str  # what it is called
    package: str
    version: str
    value: str  # where it is, as the package says
    error: str | None = None  # why it is omitted; null if it is not

    KEYS = "group name package version value error"


class EntryPointGroup(Mapping[str, Any]):
    """All parts of one sort by name: the package's own, then plugins.

    * ``group``: group of the entry points.
    * ``what``: what comes in, in words, in the plural.
    * ``table``: our own: text that names a mapping, whose values may be such text themselves, or things that have a
      name.
    * ``kind``: text that names the class of all of them; anything that can be called if None.
    """

    def __init__(self, group: str, what: str, table: str, kind: str | None = None) -> None:
        self.group = group
        self.what = what
        self._table = table
        self._kind = kind

    @cached_property
    def own(self) -> Mapping[str, Any]:
        """Those of this package."""
        table = load(self._table)
        return table if isinstance(table, Mapping) else {one.name: one for one in table}

    @cached_property
    def _opened(self) -> tuple[dict[str, Any], tuple[Plugin, ...]]:
        found: dict[str, Any] = {}
        plugins = []
        for entry in _entry_points().get(self.group, ()):
            error = None
            try:
                found[entry.name] = self._load_part(entry, found)
            except (Exception, SystemExit) as caught:  # noqa: BLE001  whatever the code of others does
                error = str(caught) if isinstance(caught, PluginError) else f"{type(caught).__name__}: {caught}"
                package = f"{_package(entry)[0]!r} (package {' '.join(_package(entry)[1:])})"
                print(f"topodesign: the plugin {package} is omitted: {error}", file=sys.stderr)
            plugins.append(Plugin(self.group, *_package(entry), entry.value, error))
        return found, tuple(plugins)

    @property
    def others(self) -> Mapping[str, Any]:
        """Those of other packages."""
        return self._opened[0]

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins of other packages, including those that are omitted."""
        return self._opened[1]

    def _load_part(self, entry: EntryPoint, others: Mapping[str, Any]) -> Any:
        if entry.name in self.own or entry.name in others:
            raise PluginError("the name is taken")
        found = entry.load()
        if self._kind is None:
            if not callable(found):
                raise PluginError(f"{entry.value} cannot be called")
        elif not isinstance(found, load(self._kind)):
            raise PluginError(f"{entry.value} is no {self._kind.partition(':')[2]}")
        elif getattr(found, "name", entry.name) != entry.name:
            raise PluginError(f"the entry point must be called {found.name}")
        return found

    def __getitem__(self, name: str) -> Any:
        """Return the part of a name."""
        found = self.own[name] if name in self.own else self.others[name]
        return load(found) if isinstance(found, str) else found

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a part."""
        return name in self.own or name in self.others

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, ours first."""
        yield from self.own
        yield from self.others

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.own) + len(self.others)


@cache
def _entry_points() -> Mapping[str, list[EntryPoint]]:
    """Return the entry points of all groups by name.

    Most often there are none, which a look at the files tells without the import of importlib.metadata (50 ms).
    """
    roots = (path for path in map(Path, sys.path) if path.is_dir())
    folders = (entry for root in roots for entry in os.scandir(root) if entry.name.endswith("-info"))
    files = (Path(folder.path, "entry_points.txt") for folder in folders)
    if not any(file.is_file() and b"[topodesign." in file.read_bytes() for file in files):
        return {}
    from importlib import metadata  # noqa: PLC0415  heavy

    found = metadata.entry_points()
    return {group.group: sorted(found.select(group=group.group), key=_package) for group in GROUPS}


def _package(entry: EntryPoint) -> tuple[str, str, str]:
    """Return name, package and version."""
    return (entry.name, entry.dist.name, entry.dist.version) if entry.dist else (entry.name, "?", "?")


FAMILIES = EntryPointGroup("topodesign.families", "families of graphs", "graphs:FAMILIES", "topology.family:Family")
EXPANSIONS = EntryPointGroup(
    "topodesign.expansions", "expansions", "graphs.expansions:EXPANSIONS", "graphs.expansions.expansion:Expansion"
)
FABRICS = EntryPointGroup("topodesign.fabrics", "presets of fabrics", "fabrics.presets:FABRICS")
SCHEDULERS = EntryPointGroup(
    "topodesign.schedulers", "methods of schedule", "schedulers.scheduling:METHODS", "schedulers.method:Method"
)
BACKENDS = EntryPointGroup(
    "topodesign.backends", "targets of compile", "compiler.backends:BACKENDS", "compiler.backends.backend:Backend"
)
EXPORTS = EntryPointGroup(
    "topodesign.exports", "formats of wire export", "wiring.exports.export:FORMATS", "wiring.exports.format:Format"
)
GROUPS = (FAMILIES, EXPANSIONS, FABRICS, SCHEDULERS, BACKENDS, EXPORTS)

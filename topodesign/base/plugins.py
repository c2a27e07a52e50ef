"""Plugins of other packages, and plugins that could not be loaded."""

from __future__ import annotations

from dataclasses import dataclass

from topodesign.base.declared import Declared, key
from topodesign.base.doors import DOORS, Plugin
from topodesign.base.records import Result, Table
from topodesign.base.wording import counted


@dataclass(frozen=True)
class Opened(Declared):
    """A door, and how much of our own is behind it."""

    door: str  # group of the entry points
    what: str  # what comes in there
    own: tuple[str, ...]  # names of what this package has of the sort

    KEYS = "door what own"


@dataclass(frozen=True, repr=False)
class Plugins(Result):
    """What is behind the doors of this package."""

    doors: tuple[Opened, ...]  # all doors, with what is there without plugins
    plugins: tuple[Plugin, ...]  # what other packages bring

    KEYS = ("doors plugins", key("failed=len(failed)", "How many are omitted."))
    ROWS = "plugins"

    @property
    def failed(self) -> tuple[Plugin, ...]:
        """Those that are omitted."""
        return tuple(plugin for plugin in self.plugins if plugin.error is not None)

    def heading(self) -> str:
        """Return how many there are."""
        out = f", {len(self.failed)} omitted" if self.failed else ""
        return f"{counted(len(self.plugins), 'plugin')}{out}; {len(self.doors)} doors"

    def table(self) -> Table:
        """Return the plugins by door, below the parts of the package."""
        rows = []
        for door in self.doors:
            rows.append((door.door, f"{len(door.own)} {door.what}", "topodesign", ""))
            for one in self.plugins:
                if one.door == door.door:
                    why = "" if one.error is None else f"omitted: {one.error}"
                    rows.append(("", one.name, f"{one.package} {one.version}", why))
        columns = ("door", "what", "package", "")
        return Table(self.heading(), columns, tuple(rows), words=frozenset(columns))


def plugins() -> Plugins:
    """List plugins of other packages.

    Families, expansions, presets, methods, targets, formats and drivers of switches.

    Examples
    --------
    >>> from topodesign import plugins
    >>> [door.door for door in plugins().doors][:2]
    ['topodesign.families', 'topodesign.expansions']
    """
    return Plugins(
        tuple(Opened(door.group, door.what, tuple(door.own)) for door in DOORS),
        tuple(plugin for door in DOORS for plugin in door.plugins),
    )

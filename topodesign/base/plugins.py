"""Plugins of other packages, and plugins that could not be loaded."""

from __future__ import annotations

from dataclasses import dataclass

from topodesign.base.declared import Declared, key
from topodesign.base.entry_points import GROUPS, Plugin
from topodesign.base.records import Result, Table
from topodesign.base.wording import count_noun


@dataclass(frozen=True)
class Group(Declared):
    """A group of entry points, with the built-in parts of its sort."""

    group: str  # name of the group of entry points
    what: str  # sort of its parts, in the plural
    own: tuple[str, ...]  # names of the built-in parts

    KEYS = "group what own"


@dataclass(frozen=True, repr=False)
class Plugins(Result):
    """Parts of this package and of plugins, by group of entry points."""

    groups: tuple[Group, ...]  # all groups, with the built-in parts
    plugins: tuple[Plugin, ...]  # what other packages bring

    KEYS = ("groups plugins", key("failed=len(failed)", "How many are omitted."))
    ROWS = "plugins"

    @property
    def failed(self) -> tuple[Plugin, ...]:
        """Those that are omitted."""
        return tuple(plugin for plugin in self.plugins if plugin.error is not None)

    def heading(self) -> str:
        """Return how many there are."""
        out = f", {len(self.failed)} omitted" if self.failed else ""
        return f"{count_noun(len(self.plugins), 'plugin')}{out}; {count_noun(len(self.groups), 'group')}"

    def table(self) -> Table:
        """Return the plugins by group, below the parts of the package."""
        rows = []
        for group in self.groups:
            rows.append((group.group, f"{len(group.own)} {group.what}", "topodesign", ""))
            for plugin in self.plugins:
                if plugin.group == group.group:
                    why = "" if plugin.error is None else f"omitted: {plugin.error}"
                    rows.append(("", plugin.name, f"{plugin.package} {plugin.version}", why))
        columns = ("group", "name", "package", "problem")[: 4 if self.failed else 3]
        return Table(self.heading(), columns, tuple(row[: len(columns)] for row in rows), words=frozenset(columns))


def plugins() -> Plugins:
    """List plugins of other packages.

    Families, expansions, presets, methods, targets, formats and drivers of switches.

    Examples
    --------
    >>> from topodesign import plugins
    >>> [group.group for group in plugins().groups][:2]
    ['topodesign.families', 'topodesign.expansions']
    """
    return Plugins(
        tuple(Group(found.group, found.what, tuple(found.own)) for found in GROUPS),
        tuple(plugin for found in GROUPS for plugin in found.plugins),
    )

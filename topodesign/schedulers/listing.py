"""List of the methods that schedule collectives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from topodesign.base import entry_points
from topodesign.base.declared import key
from topodesign.base.records import Result, ResultList, Table
from topodesign.schedulers import SCHEDULERS


@dataclass(frozen=True, repr=False)
class Listed(Result):
    """Scheduling method with its ``--algorithm`` name and description."""

    method: str
    about: str

    KEYS = (key("method", "Its name."), key("about", "What it makes."))


class Methods(ResultList[Listed]):
    """Methods in the order that ``auto`` tries them."""

    __slots__ = ()

    def heading(self) -> str:
        """Return a title with the number of methods."""
        return f"{len(self)} methods, in the order in which auto asks those that it asks"

    def table(self) -> Table:
        """Return a table with one line per method."""
        rows = tuple((one.method, one.about) for one in self)
        return Table(self.heading(), ("", " "), rows, words=frozenset(("", " ")))

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"methods": self.to_records()}


def methods() -> Methods:
    """List the methods that schedule collectives.

    :func:`topodesign.compare_methods` compares them on a network.

    Examples
    --------
    >>> from topodesign import methods
    >>> [one.method for one in methods()][:3]
    ['spff', 'deferred', 'stored']
    """
    known = SCHEDULERS | dict.fromkeys(
        entry_points.SCHEDULERS.others, "of another package, which topodesign info plugins names"
    )
    return Methods(Listed(name, about) for name, about in known.items())

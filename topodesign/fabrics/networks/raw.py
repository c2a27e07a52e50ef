"""Networks before their attributes are understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLAIN: Mapping[str, Any] = {}
"""The attributes of an edge that has none; shared, since files have many such."""


@dataclass
class RawNetwork:
    """Nodes, edges and attributes under the names of a file.

    Attributes
    ----------
    form
        Name of the format.
    nodes
        Attributes of each node, by name, in the order of the file.
    edges
        Two ends and the attributes of each edge; parallel edges are repeated.
    directed
        Whether an edge is a link in one direction only.
    about
        Attributes of the whole graph.
    notes
        What the reader assumed, a phrase each.
    exact
        Whether the format fixes which attributes there are, so that none can be unknown.
    """

    form: str
    nodes: dict[str, Mapping[str, Any]]
    edges: list[tuple[str, str, Mapping[str, Any]]]
    directed: bool
    about: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    exact: bool = False


def is_whole(text: str) -> bool:
    """Return whether a text is a plain whole number that fits an array."""
    return text.isascii() and text.isdecimal() and len(text) <= 18

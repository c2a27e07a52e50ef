"""Words for parts of a fabric: nodes by groups, links by classes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from topodesign.base.declared import key
from topodesign.base.wording import join_words
from topodesign.fabrics.fabric import Fabric, FabricLink

_GROUP = re.compile(r"[^/.:_-]+(?=[/.:_-])")
_NUMBERS = (
    "",
    "",
    "two ",
    "three ",
    "four ",
    "five ",
    "six ",
    "seven ",
    "eight ",
    "nine ",
    "ten ",
    "eleven ",
    "twelve ",
)

FABRIC_KEYS = (
    key("fabric=fabric.name", "What it is called."),
    key("nodes=len(fabric.compute)", "Nodes that compute."),
    key("switches=len(fabric.topology.switches)", "Switches."),
    key("links=len(fabric.classes)", "Links."),
)
"""How documents tell the fabric of a result."""
RATE_KEYS = (
    key("algorithmic_bandwidth=bandwidth", "Whole data over the time, without latency, in bytes per second."),
    key(
        "algorithmic_bandwidth_GBps",
        "The same in units of 10^9 bytes per second.",
        kind=float,
        value=lambda found: float(found.bandwidth / 10**9),
    ),
)
"""How they tell its algorithmic bandwidth."""


def names_in_words(fabric: Fabric, nodes: Sequence[int]) -> str:
    """Name nodes: whole groups by their prefix, up to a few singly."""
    total = Counter(_group(fabric.names[node]) for node in fabric.compute)
    chosen = Counter(_group(fabric.names[node]) for node in nodes)
    words: dict[str, None] = {}
    for node in nodes:
        group = _group(fabric.names[node])
        whole = group and total[group] > 1 and chosen[group] == total[group]
        name = fabric.names[node]
        words[group if whole else f"node {name}" if name.isdecimal() else name] = None  # a number says what it counts
    return join_words(list(words))


def with_switches(fabric: Fabric, side: Sequence[int], ends: Sequence[str]) -> str:
    """Name the near switches that the nodes' names do not suggest."""
    groups = {_group(fabric.names[node]) for node in side}
    switches = {fabric.names[node] for node in fabric.topology.switches}
    extra = [end for end in dict.fromkeys(ends) if end in switches and {end, _group(end)}.isdisjoint(groups - {""})]
    return f" with {join_words(extra)}" if extra else ""


def links_in_words(links: Sequence[FabricLink]) -> str:
    """Count links by class: ``the eight InfiniBand links``."""
    counts = Counter(link.kind for link in links)
    words = []
    for kind, count in counts.items():
        number = _NUMBERS[count] if count < len(_NUMBERS) else f"{count} "
        words.append(f"the {number}{f'{kind} ' if kind else ''}link{'s' if count > 1 else ''}")
    return join_words(words)


def change_in_words(now: Fraction, then: Fraction) -> str:
    """Say by how many percent a figure has changed."""
    return f"{float(now / then - 1) * 100:+.1f}%"


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with the cells of each column below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def _group(name: str) -> str:
    match = _GROUP.match(name)
    return match[0] if match else ""

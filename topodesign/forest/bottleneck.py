"""A bottleneck cut in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from topodesign.base.wording import listed
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.forest.throughput import Throughput

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
_UNITS = ((10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "B/s"))


def bottleneck_in_words(fabric: Fabric, result: Throughput) -> str:
    """Say which links bind and what has to cross them, as the side with fewer nodes sees it.

    Nodes whose names begin alike, up to a ``/``, ``.``, ``:``, ``_`` or ``-``, are a group, called by that beginning.
    Where no cut alone is the reason, switches are that have more bandwidth in than out, or the reverse.
    """
    if not result.cut:
        return _balance_in_words(fabric, result)
    sending = [node for node in fabric.compute if node in result.cut]
    receiving = [node for node in fabric.compute if node not in result.cut]
    links = result.links(fabric)
    vertices = len(result.cut)
    out = (len(sending), vertices) < (len(receiving), len(fabric.names) - vertices)
    side = sending if out else receiving
    own = set(result.owners) <= set(side)
    number = len(result.owners)
    owners = "its {} nodes" if own else "the {} other nodes"
    whose = owners.format(number) if number > 1 else names_in_words(fabric, result.owners)
    data = "the data of" if own is out else "its share of the sums for" if out else "the others' share of the sums for"
    verb = f"{'have' if len(links) > 1 else 'has'} to {'send out' if out else 'bring in'}"
    rate = sum((link.bandwidth for link in links), Fraction(0))
    together = " together" if len(links) > 1 else ""
    where = names_in_words(fabric, side) + _with_switches(fabric, side, [k.src if out else k.dst for k in links])
    return f"{_links_in_words(links)} of {where}, {brief_speed(rate)}{together}, {verb} {data} {whose}"


def names_in_words(fabric: Fabric, nodes: Sequence[int]) -> str:
    """Name nodes: whole groups by their common beginning, others one by one, at most a few."""
    total = Counter(_group(fabric.names[node]) for node in fabric.compute)
    chosen = Counter(_group(fabric.names[node]) for node in nodes)
    words: dict[str, None] = {}
    for node in nodes:
        group = _group(fabric.names[node])
        whole = group and total[group] > 1 and chosen[group] == total[group]
        words[group if whole else _called(fabric.names[node])] = None
    return listed(list(words))


def brief_speed(rate: Fraction) -> str:
    """Write bytes per second as :func:`speed` does, without needless decimals."""
    number, unit = speed(rate).split()
    return f"{number.rstrip('0').rstrip('.')} {unit}"


def speed(rate: Fraction) -> str:
    """Write bytes per second with three decimals, in units of 10^9 unless it is slow, for people."""
    unit, word = next((pair for pair in _UNITS if 10 * rate >= pair[0]), _UNITS[-1])
    return f"{float(rate / unit):.3f} {word}"


def _balance_in_words(fabric: Fabric, result: Throughput) -> str:
    """Say at which switches and links bandwidth is lost since what comes in must go out."""
    unequal = fabric.unequal(sorted(fabric.topology.switches))
    others = f" (and {len(unequal) - 1} more are unequal)" if len(unequal) > 1 else ""
    reason = f"{fabric.imbalance(unequal[0])}{others}, and a switch has to pass on what it gets"
    if result.bandwidth < result.bound:
        return f"{reason}; none is proven to reach more than {speed(result.bound)}"
    links = result.links(fabric)
    rate = sum((link.bandwidth for link in links), Fraction(0))
    together = f"{_links_in_words(links)}, {brief_speed(rate)} in all," if len(links) > 1 else _links_in_words(links)
    return f"{reason}; so {together} {'bind' if len(links) > 1 else 'binds'}"


def _with_switches(fabric: Fabric, side: Sequence[int], ends: Sequence[str]) -> str:
    """Name the switches among the near ends of the links that the names of the nodes do not suggest."""
    groups = {_group(fabric.names[node]) for node in side}
    switches = {fabric.names[node] for node in fabric.topology.switches}
    extra = [end for end in dict.fromkeys(ends) if end in switches and {end, _group(end)}.isdisjoint(groups - {""})]
    return f" with {listed(extra)}" if extra else ""


def _links_in_words(links: Sequence[FabricLink]) -> str:
    """Count links by class: ``the eight InfiniBand links``."""
    counts = Counter(link.kind for link in links)
    words = []
    for kind, count in counts.items():
        number = _NUMBERS[count] if count < len(_NUMBERS) else f"{count} "
        words.append(f"the {number}{f'{kind} ' if kind else ''}link{'s' if count > 1 else ''}")
    return listed(words)


def _called(name: str) -> str:
    """Return a name as it reads in a sentence: a number says what it counts."""
    return f"node {name}" if name.isdecimal() else name


def _group(name: str) -> str:
    match = _GROUP.match(name)
    return match[0] if match else ""

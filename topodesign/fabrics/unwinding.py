"""Switches unwound into links between what is plugged into them."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.fabrics.fabric import Fabric, FabricLink


def replace_switches(fabric: Fabric, degree: int | None = None, *, both_ways: bool = False) -> Fabric:
    """Return the fabric with switches replaced by links between neighbours.

    Of a switch with the neighbours 0 to n - 1, in the order of their numbers, neighbour i gets links to i + 1, i + 2,
    ..., i + degree modulo n, which share its bandwidth into the switch evenly, and that of their other end out of it.

    Parameters
    ----------
    fabric
        With or without switches; those behind others are unwound after them.
    degree
        Links out of each neighbour; to all others if None or as many as there are.
    both_ways
        Whether there are as many in the other direction, to i - 1, ..., i - degree, and the bandwidth is shared by all.

    Raises
    ------
    ParameterError
        If the degree is not above zero.

    References
    ----------
    TACOS, section IV-D and figure 10: a degree of 1 makes a ring, and one both ways a two-way ring.

    Examples
    --------
    >>> from topodesign import build_fabric, replace_switches
    >>> ring = replace_switches(build_fabric("dgx_a100(1)"), 1)
    >>> print(ring, len(ring.links()))
    unwound(1) dgx_a100(1): 8 nodes, 0 switches 8
    """
    if not isinstance(fabric, Fabric):
        raise ParameterError(f"a fabric is needed, not {fabric!r:.60}")
    if degree is not None:
        as_integer("degree", degree, 1)
    rates: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    kinds: dict[tuple[str, str], str] = {}
    for link in fabric.links():
        rates[link.src, link.dst] += link.bandwidth
        kinds[link.src, link.dst] = link.kind
    for switch in sorted(fabric.topology.switches):
        name = fabric.names[switch]
        into = {u: rate for (u, v), rate in rates.items() if v == name}
        out = {v: rate for (u, v), rate in rates.items() if u == name}
        ring = [one for one in fabric.names if one in into or one in out]
        for pair in [pair for pair in rates if name in pair]:
            del rates[pair]
        steps = range(1, min(len(ring), len(ring) if degree is None else degree + 1))
        turns = sorted({step % len(ring) for one in steps for step in ((one, -one) if both_ways else (one,))})
        for at, one in enumerate(ring):
            for turn in turns:
                other = ring[(at + turn) % len(ring)]
                if one in into and other in out:
                    rates[one, other] += min(into[one], out[other]) / len(turns)
                    kinds.setdefault((one, other), name)
    how = "all" if degree is None else f"{degree}, both ways" if both_ways else str(degree)
    names = [name for at, name in enumerate(fabric.names) if at not in fabric.topology.switches]
    links = [FabricLink(u, v, rate, kinds[u, v]) for (u, v), rate in sorted(rates.items())]
    return Fabric.from_links(f"unwound({how}) {fabric.name}", names, (), links)

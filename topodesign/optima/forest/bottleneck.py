"""A bottleneck cut in words."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.units import format_rate
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.wording import links_in_words, names_in_words, with_switches
from topodesign.optima.forest.throughput import Throughput


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
    where = names_in_words(fabric, side) + with_switches(fabric, side, [k.src if out else k.dst for k in links])
    return f"{links_in_words(links)} of {where}, {format_rate(rate)}{together}, {verb} {data} {whose}"


def _balance_in_words(fabric: Fabric, result: Throughput) -> str:
    """Say at which switches and links bandwidth is lost since what comes in must go out."""
    unequal = fabric.unequal(sorted(fabric.topology.switches))
    others = f" (and {len(unequal) - 1} more are unequal)" if len(unequal) > 1 else ""
    reason = f"{fabric.imbalance(unequal[0])}{others}, and a switch has to pass on what it gets"
    if result.bandwidth < result.bound:
        return f"{reason}, which leaves {format_rate(result.bound)} or less"
    links = result.links(fabric)
    rate = sum((link.bandwidth for link in links), Fraction(0))
    together = f"{links_in_words(links)}, {format_rate(rate)} in all," if len(links) > 1 else links_in_words(links)
    return f"{reason}; so {together} {'bind' if len(links) > 1 else 'binds'}"

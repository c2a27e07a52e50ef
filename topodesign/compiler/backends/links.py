"""Links of trace simulators: equal, one per rank pair."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.errors import ParameterError
from topodesign.base.latency import ALPHA
from topodesign.base.units import format_rate, format_time
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.ir import Messages
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.runtime.chakra.network import Network
from topodesign.topology.topology import Topology


def network_of(program: Messages, options: Options) -> tuple[Network, list[str]]:
    """Return the simulator's network, and notes on its omissions.

    Links that differ become links as slow as the slowest of them. Ranks that all hang on one switch by equal links are
    a switch to the simulator, too; of other switches it knows nothing, and every pair of ranks gets a link.
    """
    place = options.place
    if place is None:
        raise ParameterError("traces require a place: a topology or a fabric")
    topology = place.topology if isinstance(place, Fabric) else place
    ranks = program.ranks
    rates, alphas = _rates(program, place, topology, options), _alphas(program, place, options)
    notes = []
    if len(set(rates)) > 1:
        slow, quick = format_rate(min(rates)), format_rate(max(rates))
        notes.append(f"links have {slow} to {quick}, and here all have {slow}")
    if len(set(alphas)) > 1:
        notes.append(
            f"latencies are {format_time(min(alphas))} to {format_time(max(alphas))}, and here all the largest"
        )
    shape = "FullyConnected"
    if topology.switches:
        if _star(topology):
            shape = "Switch"
            notes.append("the simulator's switch stores what it forwards")
        else:
            notes.append("the simulator does not support such switches: here every two ranks have their own link")
    return Network(shape, ranks, float(min(rates) / 2**30), float(max(alphas) * 10**9)), notes


def _rates(program: Messages, place: Topology | Fabric, topology: Topology, options: Options) -> list[Fraction]:
    if isinstance(place, Fabric):
        place.check_bandwidth(options.bandwidth)
        return [place.unit * ports for ports in topology.capacity.tolist()]
    if program.own is not None and options.bandwidth is None:
        return list(program.own.rates)
    whole = NODE_BANDWIDTH if options.bandwidth is None else options.bandwidth / 8
    if whole <= 0:
        raise ParameterError("the bandwidth must be above zero")
    return [whole / max(1, topology.degree) * ports for ports in topology.capacity.tolist()]


def _alphas(program: Messages, place: Topology | Fabric, options: Options) -> list[Fraction]:
    if options.alpha is not None:
        return [options.alpha]
    if program.own is not None:
        return list(program.own.alphas)
    if isinstance(place, Fabric) and place.latency:
        known = dict(place.latency)
        return [known.get(one, Fraction(0)) for one in place.classes]
    return [ALPHA]


def _star(topology: Topology) -> bool:
    """Return whether one switch joins all nodes by equal links."""
    if len(topology.switches) != 1 or len(set(topology.capacity.tolist())) > 1:
        return False
    (switch,) = topology.switches
    others = {(v, switch) for v in range(topology.nodes) if v != switch}
    return {(u, v) for u, v, _ in topology.links()} == others | {(v, u) for u, v in others}

"""Early checks for inputs too large under any schedule."""

from __future__ import annotations

import numpy as np

from topodesign.base.entry_points import BACKENDS
from topodesign.base.errors import ParameterError
from topodesign.collectives import Collective, as_collective
from topodesign.compiler.backends.backend import Backend, Options
from topodesign.compiler.compilation import FRONT_ENDS
from topodesign.compiler.frontends import all_to_all, layout
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_place
from topodesign.pricing.closed_form import distances
from topodesign.runtime.msccl.profiles import RuntimeProfile
from topodesign.topology.topology import Topology

_OVER_TREES = frozenset({"forest", "in-network", "fluid"})
"""Methods whose plans may be trees also where there are no switches."""


def require_compilable(
    place: PlaceLike,
    collective: Collective | str,
    target: str = "msccl",
    *,
    method: str = "auto",
    runtime: str | RuntimeProfile | None = None,
    channels: int = 1,
    parts: int = 1,
) -> None:
    """Reject a collective too large to compile under any schedule.

    Examples
    --------
    >>> require_compilable("torus(4,4)", "all-to-all")
    >>> require_compilable("torus(9,9,9)", "all-to-all")
    Traceback (most recent call last):
    topodesign.base.errors.TooLargeError: 729 nodes with 1 chunk per block or more are too many to compile; ...
    """
    found, asked = as_place(place), as_collective(collective)
    if target not in BACKENDS:
        raise ParameterError(f"unknown target {target!r}; known are {', '.join(BACKENDS)}")
    backend = BACKENDS[target]
    topology = found.topology if isinstance(found, Fabric) else found
    ranks = topology.nodes - len(topology.switches)
    backend.limits(Options(runtime or backend.runtimes[0], "", channels=channels)).check_ranks(ranks)
    if type(backend).lower is not Backend.lower:
        return  # it has messages of its own, and no front end
    if asked.like(*all_to_all.COLLECTIVES):
        if not asked.rooted:
            all_to_all.check_hops(ranks, channels, channels * _hops(topology, ranks))
    elif asked.like(*FRONT_ENDS["trees"].collectives) and not asked.rooted:
        if topology.switches or method in _OVER_TREES:
            layout.check_size(ranks, ranks * parts, len(asked.movements))
        else:
            layout.check_size(ranks, ranks * channels)


def _hops(topology: Topology, ranks: int) -> int:
    """Return a lower bound on the hops of an all-to-all."""
    least = ranks * (ranks - 1)
    if topology.switches or least > all_to_all.MAX_HOPS:
        return least
    nodes = np.arange(ranks)
    stand = nodes if topology.symmetry is None else topology.symmetry.represented_by
    if np.any(stand < 0):
        stand = nodes
    sources, times = np.unique(stand, return_counts=True)
    pairs = zip(sources.tolist(), times.tolist(), strict=True)
    return sum(many * int(np.maximum(distances(topology, source), 0).sum()) for source, many in pairs)

"""Everyday names of topologies, with the specs that rebuild them.

A topology that was asked for by one of these names says the longer spec, so that no file depends on them. To add one,
write a function of integers that returns a spec, and list it below.
"""

from __future__ import annotations

from collections.abc import Callable

from topodesign.base.errors import ParameterError
from topodesign.base.spec import Spec
from topodesign.topology.family import inspect_call


def slimfly(q: int) -> Spec:
    """Slim Fly for a prime power q: 2q^2 nodes, some 3q/2 ports, diameter 2.

    The McKay-Miller-Siran graph.
    """
    return Spec("mms", (q,))


def jellyfish(n: int, d: int, seed: int = 0) -> Spec:
    """Jellyfish: a random regular duplex graph of n nodes with d ports.

    Another seed makes another one.
    """
    return Spec("randomregulargraph", (n, d, seed))


def hyperx(*sides: int) -> Spec:
    """HyperX: complete graphs along every coordinate of a grid.

    The ports are the sum of all sides less one each.
    """
    if len(sides) < 2:
        return Spec("complete", sides)
    return Spec("product", tuple(Spec("complete", (side,)) for side in sides))


def dragonfly(a: int, h: int) -> Spec:
    """Dragonfly of groups of a nodes with h global links, without switches.

    With hosts it is a fabric.
    """
    return Spec("dragonflygroups", (a, h))


def ring(n: int, d: int = 2) -> Spec:
    """Ring of n nodes both ways, over d ports: d/2 links to either side."""
    return Spec("biring", (d, n))


def fullmesh(n: int) -> Spec:
    """Full mesh: every node has a link to every other."""
    return Spec("complete", (n,))


def torus2d(a: int, b: int) -> Spec:
    """Torus of two dimensions."""
    return Spec("torus", (a, b))


def torus3d(a: int, b: int, c: int) -> Spec:
    """Torus of three dimensions."""
    return Spec("torus", (a, b, c))


SPOKEN: dict[str, Callable[..., Spec]] = {
    one.__name__: one for one in (slimfly, jellyfish, hyperx, dragonfly, ring, fullmesh, torus2d, torus3d)
}
"""Every everyday name with the function that says what it stands for."""

SPOKEN_FABRICS = {"fattree": "fat_tree", "clos": "fat_tree", "rail_optimized": "rail_optimised"}
"""Everyday names of fabrics, and what they stand for."""


def expand_everyday(spec: Spec) -> Spec | None:
    """Return the spec of an everyday name, or None.

    Examples
    --------
    >>> from topodesign.base.spec import parse
    >>> print(expand_everyday(parse("hyperx(4,6)")))
    product(complete(4),complete(6))
    """
    with_hosts = spec.name == "dragonfly" and len(spec.args) > 2
    if spec.name not in SPOKEN or with_hosts:
        return None
    meaning = SPOKEN[spec.name]
    inspect_call(meaning, spec.args)
    if not all(isinstance(argument, int) for argument in spec.args):
        raise ParameterError("it requires integers")
    return meaning(*spec.args)

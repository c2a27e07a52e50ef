"""Bases of symmetric topologies: links between orbits with voltages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topodesign.base.spec import Spec
from topodesign.search.cosets import CosetNumbering
from topodesign.topology.groups import Group
from topodesign.topology.topology import IntArray

MAX_VOLTAGES = 256  # a spec has room for twice as many numbers
LARGEST_TWISTED = 10_000  # of larger groups it would take long to list the units


@dataclass(frozen=True)
class Links:
    """The links of a base, sorted by ends, with their dependencies.

    Some follow others with their voltages.

    A link's voltage is the image of its leader's under a map (see ``voltage_kernels.Base``).
    """

    tail: IntArray
    head: IntArray
    leader: IntArray
    image: IntArray


def spec_of(group: CosetNumbering, links: Links, row: IntArray, *, duplex: bool) -> Spec:
    """Return the spec for voltages and heads.

    With 1 at its end if the transpose is meant.
    """
    voltage, head = row[:-1].reshape(2, -1)
    orbits = int(links.tail[-1]) + 1
    if orbits == 1:
        place = group.inverse[voltage] if row[-1] else voltage
        return cayley_spec(group.base, sorted(group.element[place].tolist()), duplex=duplex)
    spec = lift_spec(group.base.spec, links.tail, head, group.element[voltage])
    return Spec("transpose", (spec,)) if row[-1] else spec


def simplex_base(orbits: int, degree: int, rng: np.random.Generator) -> Links:
    """Return a random base with d links out of and into every node."""
    tail = np.repeat(np.arange(orbits), degree)
    head = np.sort(rng.permutation(tail).reshape(orbits, degree), axis=1).ravel()
    return Links(tail, head, np.arange(len(tail)), np.zeros(len(tail), dtype=np.int64))


def make_twisted_base(degree: int, maps: int) -> Links:
    """Return a one-node base whose links follow each other in groups.

    Through all maps but the identity and 1.
    """
    nowhere = np.zeros(degree, dtype=np.int64)
    number = np.arange(degree)
    size = maps - 1
    image = number % size
    return Links(nowhere, nowhere, number - image, np.where(image > 0, image + 1, 0))


def duplex_base(orbits: int, degree: int, involutions: bool, rng: np.random.Generator) -> Links | None:
    """Return a random duplex base.

    Links are in pairs; a loop of its own has an involution for its voltage.
    """
    ports = rng.permutation(np.repeat(np.arange(orbits), degree))
    single = len(ports) % 2
    if involutions:
        single = min(len(ports), single + 2 * int(rng.integers(0, 1 + orbits)))
    elif single:
        return None
    mate = np.arange(len(ports))
    mate[single:] ^= 1
    if single % 2:
        mate[single:] = np.arange(single, len(ports)).reshape(-1, 2)[:, ::-1].ravel()
    head = ports[mate]
    order = np.lexsort((head, ports))
    partner = np.argsort(order)[mate[order]]
    number = np.arange(len(ports))
    return Links(ports[order], head[order], np.minimum(number, partner), (partner <= number).astype(np.int64))


def lift_spec(group: Spec | None, tail: IntArray, head: IntArray, voltage: IntArray) -> Spec:
    """Return the spec of a voltage lift of a regular base.

    Of the base without a group.

    Its links go from ``tail`` to ``head``, in any order.
    """
    order = np.lexsort((voltage, head, tail))
    base = Spec("successors", (len(head) // (int(tail.max()) + 1), *head[order].tolist()))
    return base if group is None else Spec("lift", (base, group, *voltage[order].tolist()))


def cayley_spec(base: Group, elements: Sequence[int], *, duplex: bool) -> Spec:
    """Return the plainest spec of a Cayley digraph.

    A circulant where the group is cyclic.
    """
    n = base.order
    if base.spec.name != "cyclic":
        return Spec("cayley", (base.spec, *elements))
    if duplex and 2 * len(half := [a for a in elements if 2 * a < n]) == len(elements):
        return Spec("circulant", (n, *half))
    return Spec("dicirculant", (n, *elements))

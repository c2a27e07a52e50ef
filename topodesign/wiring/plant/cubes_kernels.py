"""Compiled changes of the translations that join cubes, for short distances."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled, next_random


@compiled
def _write(inside: Ints, ports: Ints, times: Ints, voltage: Ints, near: Ints, count: Ints) -> None:
    """Write the neighbours of every node; node (place, cube) is place * cubes + cube."""
    order = len(times)
    count[:] = 0
    for link in range(inside.shape[1]):
        for cube in range(order):
            u, v = inside[0, link] * order + cube, inside[1, link] * order + cube
            near[u, count[u]] = v
            count[u] += 1
            near[v, count[v]] = u
            count[v] += 1
    for port in range(ports.shape[1]):
        for cube in range(order):
            u, v = ports[0, port] * order + cube, ports[1, port] * order + times[cube, voltage[port]]
            near[u, count[u]] = v
            count[u] += 1
            near[v, count[v]] = u
            count[v] += 1


@compiled
def _distances(near: Ints, count: Ints, order: int, far: Ints, queue: Ints) -> int:
    """Return the sum of distances from the nodes of one cube, the largest number if some node is not reached."""
    nodes, total = len(near), 0
    for source in range(0, nodes, order):
        far[:] = -1
        far[source] = 0
        queue[0] = source
        first, last = 0, 1
        while first < last:
            u = queue[first]
            first += 1
            for i in range(count[u]):
                v = near[u, i]
                if far[v] < 0:
                    far[v] = far[u] + 1
                    total += far[v]
                    queue[last] = v
                    last += 1
        if last < nodes:
            return LARGEST
    return total


@compiled
def shorten(inside: Ints, ports: Ints, times: Ints, voltage: Ints, moves: int, state: Masks) -> int:
    """Change voltages one at a time as long as distances become no more in sum; return the sum from one cube.

    ``inside`` has the two ends of the links in a cube, ``ports`` those of the links between cubes, '+' and '-';
    ``times[g, s]`` is the product of two elements.
    """
    order = len(times)
    nodes = order * (max(inside.max(), ports.max()) + 1)
    near, count = np.empty((nodes, 64), np.int64), np.empty(nodes, np.int64)
    far, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    _write(inside, ports, times, voltage, near, count)
    best = _distances(near, count, order, far, queue)
    for _ in range(moves):
        port = int(next_random(state) % np.uint64(len(voltage)))
        before = voltage[port]
        voltage[port] = int(next_random(state) % np.uint64(order))
        _write(inside, ports, times, voltage, near, count)
        total = _distances(near, count, order, far, queue)
        if total <= best:
            best = total
        else:
            voltage[port] = before
    return best

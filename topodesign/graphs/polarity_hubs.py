"""The polarity graph of W(8) with copied points and hubs.

Large duplex graphs of diameter 3.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.loops import pair_free_ports
from topodesign.graphs.polarity import quadrangle_graph
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.topology import IntArray, Topology

_POINTS, _OWN, _TURN = 585, 65, 13
_TABLES = {
    13: (
        "11 24 33 41 5a 72 80 j3 kc",
        """
        046 04b 059 0i3 0o9 1a0 1b9 1e6 1fc 296 2c9 2e8 2oa 3c8 3f3 3g5 3ha 4e5 4nb 598 5dc 5o6 678 688
        6d8 6e3 6fa 7l0 7l1 7ma 8ac 8h2 8ia 9ec 9h1 9n0 ad4 ai0 al1 bb4 bk0 bk1 cga cj8 cn3 dg9 dja fgb
        fm3 gm0 hma ho9 ik4 ioa jl1 jm3 kn8 ln6
        """,
    ),
    14: (
        "13 38 e8 fa ib j5 m1 o1 p3 q4",
        """
        097 0bb 0c9 0fb 0p9 0q6 146 148 1c7 1p9 1ra 294 2g0 2m2 2n6 2pc 2q6 372 37a 3a2 3b6 3d7 45b 462
        49c 4a7 57b 5a4 5i8 5qc 5rc 6a7 6cc 6e8 6eb 6k4 7gc 7j3 7l4 882 8bb 8oc 8pc 8t8 9l7 9q5 9t6 am7
        ao0 bm8 bqa br8 ch1 ci8 cm6 de3 dh1 di1 dl8 ds2 ekb en0 fh2 fr5 fs4 fs8 gi6 gia gkb gsb hjb hk9
        hn8 jk8 jlb jn8 ko4 lo2 ls1 mra nn2 ot8 ptb rt3 st6
        """,
    ),
}
"""For each degree the lists of copies that hubs are joined with, and which lists are joined with which.

A word is base 36: one or two lists and how far the nodes of the second one are turned. List 5k + a holds copy k of the
points 13a to 13a + 12 among those on their own lines, or the points themselves for k = 0.
"""


@make_family(
    lambda n, d: make_sizes(d in _TABLES and _OWN * d < n <= _OWN * d + _TURN, n, d),
    size=("n", "d", "gqpolarityhubs(856,13)"),
)
def gqpolarityhubs(n: int, d: int) -> Topology:
    """Polarity graph of W(8) with copies and 13 hubs: d = 13 or 14.

    65d + 1 to 65d + 13 nodes, diameter 3.

    As in :func:`topodesign.graphs.polarity.gqpolaritycopies` with k = d - 9, but the copies of a point on its own line,
    d - 8 with itself, are not joined with one another: all but these have no free port, and these d - 8 each. They
    are joined with one another and with 13 more nodes, the hubs; a hub is joined with four others, 1 and 5 places
    further in both directions, and with d - 4 copies. From any hub at most two links lead to one of the copies of
    every point, thus three to every other node of the polarity graph, and at most three to every copy and hub; the
    polarity graph itself sees to all other pairs. All is symmetric under a turn of the hubs and of five lists of 13
    points. That leads of its own to 65d + 13 nodes; for fewer the last copies are omitted, by which no other path
    goes, and ports that are free then are joined in pairs.

    The points of the polarity graph come first, then the hubs, then the copies.

    References
    ----------
    Delorme, Grands graphes de degre et diametre donnes (1985), for the graph and its copies; Gomez, Some new large
    (Delta,3)-graphs (2009), reaches n = 856 for d = 13 and 916 for d = 14. Which copies are joined was found by
    simulated annealing here.
    """
    if d not in _TABLES:
        raise ParameterError(f"d must be one of {', '.join(map(str, _TABLES))}, not {d}")
    if not _OWN * d < n <= _OWN * d + _TURN:
        raise ParameterError(f"n must be {_OWN * d + 1} to {_OWN * d + _TURN} for d = {d}, not {n}")
    plain = quadrangle_graph(8)
    loops = plain.src == plain.dst
    own = plain.src[loops]
    place = np.full(_POINTS, -1)
    place[own] = np.arange(_OWN)
    copied = ~loops & (place[plain.src] >= 0)
    first = _POINTS + _TURN
    numbers = np.concatenate(([own], first + np.arange((d - 9) * _OWN).reshape(-1, _OWN)))
    source, target = [plain.src[~loops]], [plain.dst[~loops]]

    def join(one: IntArray, other: IntArray) -> None:
        source.extend((one, other))
        target.extend((other, one))

    for copy in numbers[1:]:
        join(copy[place[plain.src[copied]]], plain.dst[copied])
    lists, hubs = numbers.reshape(-1, _TURN), _POINTS + np.arange(_TURN)
    for step in (1, 5):
        join(hubs, np.roll(hubs, -step))
    to_hubs, among = _TABLES[d]
    for which, turn in (_read(word) for word in to_hubs.split()):
        join(hubs, np.roll(lists[which], -turn))
    for one, other, turn in (_read(word) for word in among.split()):
        join(lists[one], np.roll(lists[other], -turn))
    tails, heads = np.concatenate(source), np.concatenate(target)
    kept = np.maximum(tails, heads) < n
    return pair_free_ports(Topology.from_arrays(n, tails[kept], heads[kept]), d)


def _read(word: str) -> list[int]:
    return [int(letter, 36) for letter in word]

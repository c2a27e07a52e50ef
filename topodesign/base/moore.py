"""Moore's bound and theorems on graphs that meet or nearly meet it.

A digraph of degree d and diameter k has at most M = 1 + d + ... + d^k nodes, a graph whose links are all in pairs at
most M = 1 + d (1 + (d-1) + ... + (d-1)^(k-1)). What it has less is its defect. The theorems are of digraphs of largest
out-degree d and graphs of largest degree d, whether regular or not; loops and parallel links only lead to fewer nodes.

Where nodes and degree are odd, a graph is never regular: its links take an even number of ports, so that some node has
d-1 at most, and reaches 1 + (d-1) + ... + (d-1)^k nodes at most. As all of them are near it, there are no more.
"""

from __future__ import annotations

import functools
from bisect import bisect_left

from topodesign.base.wording import count_noun


@functools.lru_cache(1024)
def moore_order(degree: int, steps: int, *, duplex: bool = False) -> int:
    """Return the number of nodes M that Moore's bound allows.

    Examples
    --------
    >>> moore_order(2, 3), moore_order(3, 2, duplex=True)
    (15, 10)
    """
    onward, layer, order = degree - 1 if duplex else degree, degree, 1
    for _ in range(steps):
        order, layer = order + layer, layer * onward
    return order


@functools.lru_cache(1024)
def _moore_orders(degree: int, most: int, duplex: bool) -> list[int]:
    """Return :func:`moore_order` for 1, 2, ... steps."""
    orders = [degree + 1]
    while orders[-1] < most:
        orders.append(moore_order(degree, len(orders) + 1, duplex=duplex))
    return orders


def moore_steps(nodes: int, degree: int, *, duplex: bool = False) -> int:
    """Return the fewest steps for which Moore's bound allows a number of nodes.

    * ``degree``: more than one.

    Examples
    --------
    >>> moore_steps(1024, 4), moore_steps(1024, 4, duplex=True)
    (5, 6)
    """
    if degree == 2 and duplex:
        return nodes // 2  # a cycle
    return 1 + bisect_left(_moore_orders(degree, 1 << nodes.bit_length(), duplex), nodes)


def free_port_order(degree: int, steps: int) -> int:
    """Return the maximum number of nodes if some node has a free port.

    That node has d-1 links; from each of its neighbours, as from all others, d-1 lead on.

    Examples
    --------
    >>> free_port_order(5, 2), moore_order(5, 2, duplex=True)
    (21, 26)
    """
    return moore_order(degree - 1, steps)


def explain_impossible(nodes: int, degree: int, steps: int, *, duplex: bool = False) -> str | None:
    """Return the theorem that excludes a size, degree and steps, or None.

    References
    ----------
    Digraphs. Defect 0, d, k >= 2: Plesnik and Znam, Strongly geodetic directed graphs (1974); Bridges and Toueg, On the
    impossibility of directed Moore graphs (1980). Defect 1: d = 2, k >= 3, Miller and Fris, Maximum order digraphs for
    diameter 2 or degree 2 (1992); d = 3, k >= 3, Baskoro, Miller, Siran and Sutton, Complete characterisation of almost
    Moore digraphs of degree three (2005); k = 3, Conde, Gimbert, Gonzalez, Miret and Moreno, Nonexistence of almost
    Moore digraphs of diameter three (2008); k = 4, Conde, Gimbert, Gonzalez, Miller and Miret, On the nonexistence of
    almost Moore digraphs (2014). Defect 2, d = 2, k >= 3: Miller and Siran, Digraphs of degree two which miss the Moore
    bound by two (2001).

    Graphs. Defect 0, d >= 3: k = 2 unless d is 3, 7 or 57, and k = 3, Hoffman and Singleton, On Moore graphs with
    diameters 2 and 3 (1960); k >= 3, Bannai and Ito, On finite Moore graphs (1973), and Damerell, On Moore graphs
    (1973). Defect 1, d >= 3: k = 2, Erdos, Fajtlowicz and Hoffman, Maximum degree in graphs of diameter 2 (1980);
    k >= 3, Bannai and Ito, Regular graphs with excess one (1981), and Kurosawa and Tsujii, Considerations on diameter
    of communication networks (1981). Defect 2: d even, k >= 4, and d = 4, k = 3, Feria-Puron, Miller and
    Pineda-Villavicencio, On graphs of defect at most 2 (2011); d odd, k >= 5 and d mod k 0 or 2, there too. d = 3:
    k = 4, at most 38 nodes, Buset, Maximal cubic graphs with diameter 4 (2000); k >= 4, defect below 4, Jorgensen,
    Diameters of cubic graphs (1992); k >= 5, defect 4, Miller and Pineda-Villavicencio, Complete catalogue of graphs of
    maximum degree 3 and defect at most 4 (2009), and odd defects as cubic graphs have even orders. d = 6, k = 2: at
    most 32 nodes, Molodtsov, Largest graphs of diameter 2 and maximum degree 6 (2006). N and d odd:
    :func:`free_port_order`, by the handshaking lemma.

    Examples
    --------
    >>> explain_impossible(7, 2, 2)
    "no digraph reaches Moore's bound (Plesnik and Znam 1974; Bridges and Toueg 1980)"
    >>> explain_impossible(6, 2, 2)
    """
    defect = moore_order(degree, steps, duplex=duplex) - nodes
    if defect < 0:
        return "more nodes than Moore's bound allows"
    if duplex and nodes * degree % 2 and nodes > (most := free_port_order(degree, steps)):
        return f"{_PORT_FREE}, and reaches {most} nodes at most in {count_noun(steps, 'step')}"
    if duplex and degree >= 3 and (reason := _of_graphs(defect, degree, steps)) is not None:
        return reason
    defect = moore_order(degree, steps) - nodes if duplex else defect
    return _of_digraphs(defect, degree, steps) if degree >= 2 and steps >= 2 else None


_PORT_FREE = "of an odd number of nodes with an odd number of ports some node has a port free"
_MAX_OF_DIGRAPHS, _MAX_OF_GRAPHS = 2, 7  # defects that some theorem below is about
_ONE_LESS = "no digraph has one node less than Moore's bound, if"


def _of_digraphs(defect: int, d: int, k: int) -> str | None:
    if defect > _MAX_OF_DIGRAPHS:
        return None
    rules = (
        (defect == 0, "no digraph reaches Moore's bound (Plesnik and Znam 1974; Bridges and Toueg 1980)"),
        (defect == 1 and d == 2 and k >= 3, f"{_ONE_LESS} it is of degree 2 (Miller and Fris 1992)"),
        (defect == 1 and d == 3 and k >= 3, f"{_ONE_LESS} it is of degree 3 (Baskoro, Miller, Siran and Sutton 2005)"),
        (defect == 1 and k == 3, f"{_ONE_LESS} it is of diameter 3 (Conde, Gimbert, Gonzalez, Miret and Moreno 2008)"),
        (defect == 1 and k == 4, f"{_ONE_LESS} it is of diameter 4 (Conde, Gimbert, Gonzalez, Miller and Miret 2014)"),
        (defect == 2 and d == 2 and k >= 3, "digraphs of degree 2 miss Moore's bound by three (Miller and Siran 2001)"),
    )
    return next((words for holds, words in rules if holds), None)


def _of_graphs(defect: int, d: int, k: int) -> str | None:
    if defect > _MAX_OF_GRAPHS:
        return None
    even = d % 2 == 0 and k >= 4
    rules = (
        (
            defect == 0 and k == 2 and d not in {3, 7, 57},
            "graphs that reach Moore's bound with diameter 2 have degree 2, 3, 7 or 57 (Hoffman and Singleton 1960)",
        ),
        (defect == 0 and k >= 3, "no graph of such a diameter reaches Moore's bound (Bannai and Ito, Damerell 1973)"),
        (
            defect == 1 and k == 2,
            "no graph of diameter 2 has one node less than Moore's bound (Erdos, Fajtlowicz and Hoffman 1980)",
        ),
        (
            defect == 1 and k >= 3,
            "no graph has one node less than Moore's bound (Bannai and Ito; Kurosawa and Tsujii 1981)",
        ),
        (d == 3 and k == 4 and defect < 8, "cubic graphs of diameter 4 have at most 38 nodes (Buset 2000)"),
        (d == 3 and k >= 5 and defect < 4, "such cubic graphs miss Moore's bound by four or more (Jorgensen 1992)"),
        (
            d == 3 and k >= 5 and defect < 6,
            "such cubic graphs miss Moore's bound by six or more (Miller and Pineda-Villavicencio 2009)",
        ),
        (d == 6 and k == 2 and defect < 5, "graphs of diameter 2 and degree 6 have at most 32 nodes (Molodtsov 2006)"),
        (
            defect == 2 and d >= 4 and (even or (d, k) == (4, 3) or (d % 2 == 1 and k >= 5 and d % k in {0, 2})),
            "no such graph has two nodes less than Moore's bound (Feria-Puron, Miller and Pineda-Villavicencio 2011)",
        ),
    )
    return next((words for holds, words in rules if holds), None)

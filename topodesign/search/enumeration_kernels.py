"""Compiled enumeration of all small regular digraphs whose distances are short enough to matter, row by row.

Nodes are numbered as a search in breadth from node 0 meets them, so that only such numberings of a digraph come up; and
nodes that are met together are in the order of their links to nodes that were met before them, as words. Rows are
assigned in this order; a row is a word whose bits are the ends of a node's links. A branch ends where what is assigned
lets the distances add up to too much.
"""

from __future__ import annotations

from topodesign.base.compiled import Ints, compiled

FAR = 2**40  # A distance that is none
_ROUNDS = 24  # times that weights of links are made more like their loads
_WEIGHT = 2**10  # weight of each link at first


@compiled
def ones(word: int) -> int:
    """Return the number of ones of a word of up to 16 bits."""
    word = (word & 0x5555) + (word >> 1 & 0x5555)
    word = (word & 0x3333) + (word >> 2 & 0x3333)
    word = (word & 0x0F0F) + (word >> 4 & 0x0F0F)
    return (word & 0xFF) + (word >> 8)


@compiled
def least_distances(nodes: int, degree: int, rows: Ints, assigned: int, source: int) -> int:
    """Return what the distances from a node add up to at least; a row that is not assigned may have any ends."""
    known = edge = 1 << source
    ball, unknown, total = 1, 0, 0
    while ball < nodes:
        total += nodes - ball
        near, more = 0, unknown * degree
        left = edge
        while left:
            low = left & -left
            left ^= low
            node = ones(low - 1)
            if node < assigned:
                near |= rows[node]
            else:
                more += degree
        edge = near & ~known
        known |= near
        new = ones(edge) + more
        if new == 0:
            return FAR
        ball += new
        unknown = more
    return total


@compiled
def fits(
    nodes: int, degree: int, duplex: int, rows: Ints, into: Ints, together: Ints, place: int, word: int, met: int
) -> int:
    """Return how many nodes are met when a node's row is this word; 0 if it cannot be.

    ``together`` is for every node the first one of those that are met with it.
    """
    new = word >> met
    # No loop, and nodes that are met are numbered in their order.
    wrong = (word >> place & 1) | (new & (new + 1))
    before = (1 << together[place]) - 1
    if place > 0 and together[place] < place and rows[place - 1] & before < word & before:
        wrong = 1
    met += ones(new)
    if wrong or (place + 1 < nodes and met <= place + 1):
        return 0
    for node in range(nodes):
        link = word >> node & 1
        later = nodes - place - 1 - (1 if node > place else 0)
        if into[node] + link > degree or degree - into[node] - link > later:
            return 0
        if duplex and node < place and link != rows[node] >> place & 1:
            return 0
    return met


@compiled
def loads_allow(nodes: int, degree: int, rows: Ints, above: int, below: int, space: Ints) -> int:
    """Return whether all-to-all may have a bandwidth factor under ``above / below`` here, as far as weights tell.

    Whatever the weights of links, y is at least (d/N) times the sum of the weighted distances over that of the weights.
    """
    weight, apart, via = space[0], space[1], space[2]
    pairs = nodes * nodes
    for pair in range(pairs):
        weight[pair] = _WEIGHT if rows[pair // nodes] >> (pair % nodes) & 1 else FAR
    for _ in range(_ROUNDS):
        total = 0
        for pair in range(pairs):
            apart[pair] = weight[pair]
            via[pair] = pair % nodes
            if weight[pair] < FAR:
                total += weight[pair]
        for middle in range(nodes):
            for u in range(nodes):
                first = apart[u * nodes + middle]
                if u == middle or first >= FAR:
                    continue
                for v in range(nodes):
                    there = first + apart[middle * nodes + v]
                    if v != u and there < apart[u * nodes + v]:
                        apart[u * nodes + v] = there
                        via[u * nodes + v] = via[u * nodes + middle]
        distances, load, most = 0, space[3], 0
        for pair in range(pairs):
            load[pair] = 0
        for u in range(nodes):
            for v in range(nodes):
                if u == v:
                    continue
                distances += apart[u * nodes + v]
                at = u
                while at != v:
                    after = via[at * nodes + v]
                    load[at * nodes + after] += 1
                    at = after
        if degree * distances * below >= above * nodes * total:
            return 0
        for pair in range(pairs):
            most = max(most, load[pair])
        for pair in range(pairs):
            if weight[pair] < FAR:
                weight[pair] += weight[pair] * load[pair] // (6 * most)
    return 1


@compiled
def next_digraphs(
    nodes: int,
    degree: int,
    duplex: int,
    limits: Ints,
    rows: Ints,
    met: Ints,
    into: Ints,
    together: Ints,
    space: Ints,
    found: Ints,
    budget: int,
) -> tuple[int, int]:
    """Go on with an enumeration; return how many digraphs were found, and 1 when it is over, 0 when not.

    * ``nodes``, ``degree``, ``duplex``: up to 16 nodes; 1 for digraphs of which every link has its reverse.
    * ``limits``: largest sum of all distances; and the bandwidth factor, above and below the line, that is to be
      undercut: that of all-to-all, for which 0 asks nothing.
    * ``rows``, ``met``, ``into``, ``together``: the state: words of the rows, zeros at first; nodes that are met before
      each row, (1, 0, ...); links into each node, zeros; and for each node the first of those that are met with it.
      ``met[nodes]`` is the next row, 0.
    * ``space``: for weights, shape ``(4, nodes * nodes)``.
    * ``found``: rows of what is found, shape ``(most, nodes)``.
    * ``budget``: rows that are tried at most before it returns.
    """
    place, number = met[nodes], 0
    full = 1 << nodes
    while place >= 0 and budget > 0 and number < len(found):
        word = rows[place]
        if word == 0:
            word = (1 << degree) - 1
        else:
            for node in range(nodes):
                into[node] -= word >> node & 1
            low = word & -word
            high = word + low
            word = (((high ^ word) >> 2) // low) | high
        after = 0
        while word < full:
            after = fits(nodes, degree, duplex, rows, into, together, place, word, met[place])
            if after:
                break
            low = word & -word
            high = word + low
            word = (((high ^ word) >> 2) // low) | high
        if word >= full:
            rows[place] = 0
            place -= 1
            continue
        budget -= 1
        rows[place] = word
        for node in range(nodes):
            into[node] += word >> node & 1
        first = least_distances(nodes, degree, rows, place + 1, 0)
        total = first
        for node in range(1, nodes):
            if total + (nodes - node) * first > limits[0]:
                total = FAR
                break
            own = least_distances(nodes, degree, rows, place + 1, node)
            if own < first and place == nodes - 1:
                total = FAR  # another numbering of it begins at that node
                break
            total += max(first, own)
        if total > limits[0]:
            continue
        if place + 1 < nodes:
            for node in range(met[place], after):
                together[node] = met[place]
            place += 1
            met[place] = after
            rows[place] = 0
            continue
        if limits[1] == 0 or loads_allow(nodes, degree, rows, limits[1], limits[2], space):
            for node in range(nodes):
                found[number, node] = rows[node]
            number += 1
    met[nodes] = place
    return number, 1 if place < 0 else 0

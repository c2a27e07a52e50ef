"""TACOS-Greedy for chunks that are copied to several nodes, of which some only pass them on (relays)."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.memory import check_memory
from topodesign.collectives.collective import EVERYONE
from topodesign.schedulers.ten.copying_kernels import PLENTY, WORD, Flow, Taste, copying
from topodesign.schedulers.ten.event_kernels import queue_for
from topodesign.schedulers.ten.forward import ways_of
from topodesign.schedulers.ten.network import Chunks, Network, Sends, check_ticks, first_state, wanted
from topodesign.topology.topology import IntArray


def copy_chunks(
    network: Network,
    chunks: Chunks,
    seed: int,
    *,
    blind: bool = False,
    bias: IntArray | None = None,
    shy: bool = False,
    relays: tuple[IntArray, IntArray] | None = None,
) -> Sends:
    """Bring every chunk to all that need it.

    ``blind`` takes chunks by chance alone, as in the paper, and not those first that most nodes wait for; ``bias`` is
    added to how many wait for each. With ``shy`` slow links wait for others rather than carry what a quicker link could
    bring. ``relays`` are pairs of a node and a chunk that it does not need but should pass on.
    """
    topology = network.topology
    node, chunk = wanted(chunks)
    if relays is not None:
        node, chunk = (np.concatenate(pair) for pair in zip((node, chunk), relays, strict=True))
    links, nodes, held, rows = len(topology.src), topology.nodes, chunks.number, chunks.number + len(node)
    check_ticks(network, len(node))
    words = -(-chunks.number // WORD)
    check_memory(8 * words * (links + nodes) + 24 * rows, f"sets of {chunks.number} chunks for {links} links")
    want = np.zeros((nodes, words), dtype=np.int64)
    np.bitwise_or.at(want, (node, chunk // WORD), 1 << chunk % WORD)
    order = np.argsort(chunks.since, kind="stable")

    arrived, over, when = np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int32), np.zeros(rows, np.int64)
    arrived[:held], over[:held], when[:held] = order, chunks.at[order], chunks.since[order]
    first, last, upto, made = (np.full(count, -1, dtype=np.int64) for count in (nodes, nodes, links, links))
    flow = Flow(
        want,
        np.zeros((links, words), dtype=np.int64),
        np.bincount(chunk, minlength=chunks.number),
        arrived,
        when,
        over,
        np.full(rows, -1, dtype=np.int32),
        first,
        last,
        upto,
        made,
        np.zeros(len(network.wires.src), dtype=np.int64),
        np.array([len(node)]),
        np.array([0]),
    )
    weights = np.zeros(chunks.number, dtype=np.int64) if bias is None else bias
    taste = Taste(weights, 1 if blind else PLENTY, -1 if blind else int(shy))
    if copying(network.web, flow, queue_for(links, links), taste, held, first_state(seed)) < rows:
        missing = np.flatnonzero(flow.lacking)
        raise InfeasibleError(f"there is no way for the data of node {chunks.at[missing[0]]} to all that need them")
    sends = slice(held, rows)
    return Sends(over[sends].astype(np.int64), arrived[sends].astype(np.int64), when[sends])


def relays_of(network: Network, chunks: Chunks, seed: int, *, noise: bool = False) -> tuple[IntArray, IntArray]:
    """Return pairs of a node and a chunk that it does not need but should pass on.

    Every chunk is given a way to each node that needs it, so that no link has much more to carry than others; those on
    the ways that do not need it are its relays.
    """
    node, chunk = wanted(chunks)
    copied = chunks.goal[chunk] == EVERYONE
    node, chunk = node[copied], chunk[copied]
    one_each = Chunks(len(node), chunks.at[chunk], chunks.since[chunk], node, chunks.members, chunks.team)
    trips = ways_of(network, one_each, seed, noise=noise)
    on_way = np.arange(trips.way.shape[1]) < trips.length[:, None]
    passed = network.topology.dst[np.where(on_way, trips.way, 0)]
    foreign = on_way & (chunks.team[passed] != chunks.team[one_each.at][:, None])
    pairs = passed[foreign] * chunks.number + np.repeat(chunk, foreign.sum(axis=1))
    found = np.unique(pairs)
    return found // max(1, chunks.number), found % max(1, chunks.number)


def only_needed(network: Network, chunks: Chunks, sends: Sends) -> Sends:
    """Return sends without those to relays that pass nothing on."""
    needed = set(zip(*(column.tolist() for column in wanted(chunks)), strict=True))
    src, dst = network.topology.src[sends.link].tolist(), network.topology.dst[sends.link].tolist()
    chunk, kept = sends.chunk.tolist(), []
    for row in reversed(np.argsort(sends.end, kind="stable").tolist()):
        if (dst[row], chunk[row]) in needed:
            kept.append(row)
            needed.add((src[row], chunk[row]))
    return sends.rows(np.array(kept[::-1], dtype=np.int64))

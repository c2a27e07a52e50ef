"""Nodes that pass on chunks that they do not need: who should, and which of it was of no use."""

from __future__ import annotations

import numpy as np

from topodesign.collectives.collective import EVERYONE
from topodesign.schedulers.ten.forward import ways_of
from topodesign.schedulers.ten.network import Chunks, Network, Sends, wanted
from topodesign.topology.topology import IntArray


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
    rows = np.array(kept[::-1], dtype=np.int64)
    return Sends(sends.link[rows], sends.chunk[rows], sends.end[rows])

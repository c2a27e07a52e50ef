"""TACOS-Greedy for chunks that are copied to several nodes."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.memory import check_memory
from topodesign.schedulers.ten.copying_kernels import PLENTY, WORD, Flow, Taste, copying
from topodesign.schedulers.ten.event_kernels import queue_for
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
    units: int = 0,
    relays: tuple[IntArray, IntArray] | None = None,
) -> Sends:
    """Bring every chunk to all that need it.

    ``blind`` takes chunks by chance alone, as in the paper, and not those first that most nodes wait for; ``bias`` is
    added to how many wait for each. With ``shy`` slow links wait for others rather than carry what a quicker link could
    bring. With ``units``, the chunks of a block, links go on with the next chunk of the block that they have carried
    last. ``relays`` are pairs of a node and a chunk that it does not need but should pass on.
    """
    topology = network.topology
    node, chunk = wanted(chunks)
    if relays is not None:
        node, chunk = (np.concatenate(pair) for pair in zip((node, chunk), relays, strict=True))
    links, held, rows = len(topology.src), chunks.number, chunks.number + len(node)
    check_ticks(network, len(node))
    words = -(-chunks.number // WORD)
    check_memory(8 * words * (links + topology.nodes) + 24 * rows, f"sets of {chunks.number} chunks for {links} links")
    want = np.zeros((topology.nodes, words), dtype=np.int64)
    np.bitwise_or.at(want, (node, chunk // WORD), 1 << chunk % WORD)
    order = np.argsort(chunks.since, kind="stable")

    arrived, over, when = np.full(rows, -1, dtype=np.int32), np.full(rows, -1, dtype=np.int32), np.zeros(rows, np.int64)
    arrived[:held], over[:held], when[:held] = order, chunks.at[order], chunks.since[order]
    first, last, upto, made = (
        np.full(count, -1, dtype=np.int64) for count in (topology.nodes, topology.nodes, links, links)
    )
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
    queue = queue_for(links, links)
    weights = np.zeros(chunks.number, dtype=np.int64) if bias is None else bias
    taste = Taste(weights, 1 if blind else PLENTY, -1 if blind else int(shy), units)
    done = copying(
        network.web,
        flow,
        queue,
        taste,
        held,
        first_state(seed),
    )
    if done < rows:
        missing = np.flatnonzero(flow.lacking)
        raise InfeasibleError(f"there is no way for the data of node {chunks.at[missing[0]]} to all that need them")
    sends = slice(held, rows)
    return Sends(over[sends].astype(np.int64), arrived[sends].astype(np.int64), when[sends])

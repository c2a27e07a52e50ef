"""Termination check: one exact run of waits, without data.

What a threadblock waits for stays so until it moves itself, so that all orders of execution make the same moves, and
one run decides. It is made with the fewest slots and the shortest pieces that a target promises; with more or longer
ones every wait ends no later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topodesign.compiler.columns import RECEIVES as RECEIVING
from topodesign.compiler.columns import SENDS as SENDING
from topodesign.compiler.columns import Columns, columns_of
from topodesign.compiler.frontends.progress_kernels import RECEIVES, SENDS, run
from topodesign.compiler.ir import RankProgram


def ends(ranks: Columns | Sequence[RankProgram], slots: int, piece: int) -> bool:
    """Decide whether every threadblock gets to its end.

    Sends and receives match. With no ``slots`` a send and its receive take place together; ``piece`` are the chunks of
    a piece.
    """
    made = ranks if isinstance(ranks, Columns) else columns_of(ranks)
    send, receive, connections = made.connections()
    kinds = SENDS * SENDING[made.kind] + RECEIVES * RECEIVING[made.kind]
    targets = made.starts[np.repeat(made.rank[made.block], np.diff(made.waits))] + made.other
    columns = made.first, kinds, -(-made.size // piece), made.waits, targets, made.position
    return bool(run(*columns, send, receive, slots, connections))

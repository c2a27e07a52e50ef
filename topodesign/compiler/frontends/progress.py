"""Whether a program ends however little its connections hold: one exact run of its waits, without its data.

What a threadblock waits for stays so until it moves itself, so that all orders of execution make the same moves, and
one run decides. It is made with the fewest slots and the shortest pieces that a target promises; with more or longer
ones every wait ends no later.
"""

from __future__ import annotations

import numpy as np

from topodesign.compiler.frontends.progress_kernels import RECEIVES, SENDS, run
from topodesign.compiler.ir import RankProgram


def ends(ranks: list[RankProgram], slots: int, piece: int) -> bool:
    """Decide whether every threadblock gets to its end.

    Sends and receives match. With no ``slots`` a send and its receive take place together; ``piece`` are the chunks of
    a piece.
    """
    first: list[int] = [0]  # thread by rank
    for body in ranks:
        first.append(first[-1] + len(body.threadblocks))
    connection: dict[tuple[int, int, int], int] = {}
    send, receive = np.full(first[-1], -1), np.full(first[-1], -1)
    starts, kinds, pieces, waits, targets, positions = [0], [], [], [0], [], []
    for rank, body in enumerate(ranks):
        for number, block in enumerate(body.threadblocks):
            thread = first[rank] + number
            if block.send is not None:
                key = (rank, block.send, block.channel)
                send[thread] = connection.setdefault(key, len(connection))
            if block.receive is not None:
                key = (block.receive, rank, block.channel)
                receive[thread] = connection.setdefault(key, len(connection))
            for one in block.instructions:
                kinds.append(SENDS * one.kind.sends + RECEIVES * one.kind.receives)
                pieces.append(-(-one.count // piece))
                targets += [first[rank] + other for other, _ in one.depends]
                positions += [at for _, at in one.depends]
                waits.append(len(targets))
            starts.append(len(kinds))
    columns = [np.array(column, dtype=np.int64) for column in (starts, kinds, pieces, waits, targets, positions)]
    return bool(run(*columns, send, receive, slots, len(connection)))  # type: ignore[call-arg,arg-type]

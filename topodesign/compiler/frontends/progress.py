"""Termination check: one exact run of waits on the machine of programs, without data.

It is made with the fewest slots and the shortest pieces that a target promises; with more or longer ones every wait
ends no later.
"""

from __future__ import annotations

import numpy as np

from topodesign.collectives import ALLREDUCE
from topodesign.compiler.columns import RECEIVES, SENDS, Columns
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.msccl.build import build_machine
from topodesign.runtime.msccl.operations import NUMBER, Table


def ends(made: Columns, slots: int, piece: int) -> bool:
    """Decide whether every threadblock gets to its end.

    Sends and receives match. With no ``slots`` a send and its receive take place together; ``piece`` are the chunks of
    a piece.
    """
    number, none = len(made.kind), np.zeros(0, dtype=np.int64)
    sends, receives = SENDS[made.kind], RECEIVES[made.kind]
    kinds = [NUMBER[one] for one in ("rcs", "s", "r")]
    position = np.arange(number) - made.first[made.block]
    waits = np.repeat(np.arange(number), np.diff(made.waits))
    table = Table(
        rank=made.rank,
        id=np.arange(len(made.rank)) - made.starts[made.rank],
        send=made.send,
        receive=made.receive,
        channel=made.channel,
        first=made.first,
        thread=made.block,
        step=position,
        type=np.select([sends & receives, sends, receives], kinds, NUMBER["nop"]),
        chunks=made.size,
        position=position,
        announces=np.ones(number, dtype=np.int64),
        target=np.full(number, -1),
        target_at=np.zeros(number, dtype=np.int64),
        reads=none,
        source=none,
        source_at=none,
        waits=waits,
        other=made.starts[made.rank[made.block[waits]]] + made.other,
        awaited=made.position,
    )
    layout = Layout(ALLREDUCE, 0, [0] * len(made.scratch), inplace=True)
    return build_machine(table, layout, slots, piece=piece, data=False).ends()

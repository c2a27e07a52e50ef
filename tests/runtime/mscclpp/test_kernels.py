"""The kernels of the execution of plans as plain Python and as machine code."""

from __future__ import annotations

import numpy as np

from tests.runtime.mscclpp.test_agreement import plan_text
from topodesign.runtime.mscclpp.check import prepare
from topodesign.runtime.mscclpp.flat import Flat
from topodesign.runtime.mscclpp.flat_kernels import ENDED, PIECES, ran
from topodesign.runtime.mscclpp.parse import parse_plan
from topodesign.runtime.mscclpp.prove_kernels import settled


def test_both_tiers_do_the_same() -> None:
    for protocol in ("Simple", "LL"):
        run = prepare(parse_plan(plan_text("torus(2,2)", "all-to-all", protocol, 2)))
        one = Flat(run.program, run.memory(), run.launches)
        for seed in range(PIECES):
            left = []
            for kernel in (ran.plain, ran.machine):
                cells, found = one.cells(), np.zeros(2, dtype=np.int64)
                state = np.array([7 + seed], dtype=np.uint64)
                assert kernel(one.columns, one.runs, cells, state, 1 + seed, one.proxies, found) == ENDED
                left.append((*(column.tolist() for column in cells), int(state[0])))
            assert left[0] == left[1]


def test_both_tiers_prove_the_same() -> None:
    run = prepare(parse_plan(plan_text("complete(2)", "reduce-scatter", "Simple", None)))
    one = Flat(run.program, run.memory(), run.launches)
    left = []
    for kernel in (settled.plain, settled.machine):
        cells, marks = one.cells(), one.marks()
        assert kernel(one.columns, one.runs, cells, marks, one.actors, one.shared, one.planes)
        left.append([column.tolist() for column in (*cells, *marks)])
    assert left[0] == left[1]

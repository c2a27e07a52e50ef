"""The kernels of the machine as plain Python and as machine code."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.mscclpp.test_agreement import plan_text
from topodesign.base.compiled import Kernel
from topodesign.runtime.machine import machine
from topodesign.runtime.machine.order_kernels import ENDED, PIECES, run_in_order
from topodesign.runtime.machine.proof_kernels import run_with_clocks
from topodesign.runtime.mscclpp.check import prepare
from topodesign.runtime.mscclpp.parse import parse_plan


def test_both_tiers_do_the_same() -> None:
    for protocol in ("Simple", "LL"):
        one = prepare(parse_plan(plan_text("torus(2,2)", "all-to-all", protocol, 2))).machine()
        for seed in range(PIECES):
            left = []
            for kernel in (run_in_order.plain, run_in_order.machine):
                cells, found = one.fresh(), np.zeros(2, dtype=np.int64)
                state, level = np.array([7 + seed], dtype=np.uint64), one.columns.free.copy()
                ended = kernel(one.columns, one.runs, cells, level, state, one.piece, 1 + seed, one.proxies, found)
                assert ended == ENDED
                left.append((*(column.tolist() for column in cells), int(state[0])))
            assert left[0] == left[1]


@pytest.mark.parametrize("protocol", ["Simple", "LL"])
def test_both_tiers_prove_the_same(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = prepare(parse_plan(plan_text("complete(2)", "reduce-scatter", protocol, None)))
    assert isinstance(run_with_clocks, Kernel)
    left = []
    for kernel in (run_with_clocks.plain, run_with_clocks.machine):
        monkeypatch.setattr(machine, "run_with_clocks", kernel)
        one = run.machine()
        proof = one.prove()
        left.append((proof, [column.tolist() for column in one.end]))
    assert left[0] == left[1]

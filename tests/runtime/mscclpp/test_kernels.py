"""The kernel of the machine as plain Python and as machine code."""

from __future__ import annotations

import pytest

from tests.runtime.mscclpp.test_agreement import plan_text
from topodesign.base.compiled import Kernel
from topodesign.runtime.machine import machine
from topodesign.runtime.machine.proof_kernels import run_with_clocks
from topodesign.runtime.mscclpp.check import prepare
from topodesign.runtime.mscclpp.parse import parse_plan


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

"""Plans of uneven all-to-all: every pair's amount arrives, as fast as a linear program says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.samples.paths import Paths
from tests.solve.flows.test_program import by_pairs
from topodesign import compile_plan, load_plan, run_plan, save_plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.compiler.ir import Messages
from topodesign.fabrics.places import as_fabric
from topodesign.plans.build import build_paths
from topodesign.plans.chunk_ops import find_heights
from topodesign.plans.plan_ops import block_amounts
from topodesign.pricing.traffic_matrix import as_demand

PLACES = ("dgx_h100(1)", "fat_tree(2,2,2)", "torus(3,3)", "rail_optimised(2,2)", "genkautz(2,7)")
KINDS = ("zipf:1.2", "dirichlet:0.3", "top2:0.8")


@pytest.mark.parametrize("seed", range(30))
def test_thirty_matrices_arrive_as_fast_as_a_linear_program_says(seed: int) -> None:
    fabric = as_fabric(PLACES[seed % 5])
    matrix = as_demand(KINDS[seed % 3], fabric, tokens=40, seed=seed).amounts
    nodes = list(fabric.compute)
    plan = schedule(fabric, "all-to-all", method="fluid", shards=matrix[np.ix_(nodes, nodes)])
    assert verify(plan).ok
    paths = Paths.of(plan.flow)
    arrived, loads = np.zeros_like(matrix), np.zeros(len(paths.topology.src))
    for path, (start, end) in enumerate(pairwise(paths.hop_start.tolist())):
        way = paths.hop[start:end].tolist()
        arrived[way[0], way[-1]] += paths.weight[path]
        for u, v in pairwise(way):
            loads[paths.topology.link_index(u, v)] += paths.weight[path]
    assert (arrived == matrix * paths.units).all()
    least = by_pairs(fabric.topology, matrix, [0] * len(fabric.topology.src))
    assert max(loads / paths.topology.capacity) / paths.units == pytest.approx(least, rel=1e-7)
    mean = Fraction(int(matrix.sum()), len(nodes) * (len(nodes) - 1))
    size = mean * len(nodes) * 2**10  # a piece is a KiB
    time = size / plan.claim["algorithmic_bandwidth"]
    assert float(time * fabric.unit) == pytest.approx(least * 2**10, rel=1e-7)


def test_the_replay_finds_what_does_not_arrive(tmp_path: Path) -> None:
    plan = schedule("dgx_h100(1)", "all-to-all", shards="zipf:1")
    sizes = plan.flow.sizes
    assert sizes is not None
    path = save_plan(tmp_path / "p.npz", plan)
    assert load_plan(path).movement == plan.movement
    wrong = verify(replace(plan, movement=replace(plan.flow, sizes=sizes + (np.arange(len(sizes)) == 1))))
    assert not wrong.ok
    assert "never gets units" in wrong.problems[0]
    with pytest.raises(ScheduleError, match="amounts are 64 numbers"):
        build_paths(plan.place, plan.collective, 1, [], (1, 2))
    assert simulate(plan, size=2**30).time > Fraction(2**30) / plan.claim["algorithmic_bandwidth"]
    with pytest.raises(InfeasibleError, match="with --target chakra, jax or mscclpp"):
        compile_plan(plan)


@pytest.mark.parametrize("place", PLACES)
def test_unequal_blocks_are_traces_and_are_run(place: str) -> None:
    plan = schedule(place, "all-to-all", method="fluid", shards="zipf:1.2")
    amounts = block_amounts(plan)
    assert amounts is not None
    made = compile_plan(plan, "chakra", size="1MB").checked()
    assert isinstance(made.program, Messages)
    ranks = len(plan.fabric.compute)
    pieces = np.array(amounts).reshape(ranks, ranks)
    piece = Fraction(10**6, ranks) * ranks * (ranks - 1) / int(pieces.sum())  # bytes; a block has the mean of pieces
    sent = dict.fromkeys(range(ranks), 0)
    table = made.program.table
    for src, units in zip(table.src.tolist(), table.amounts.tolist(), strict=True):
        sent[src] += units
        assert made.program.bytes_of(units, Fraction(10**6)) == -int(-units * piece / plan.flow.units // 1)
    relayed = sum(sent.values()) - int(pieces.sum()) * plan.flow.units  # by nodes on the way
    assert relayed == int((Paths.of(plan.flow).weight * (find_heights(plan.flow) - 1)).sum())
    assert run_plan(plan, size="256KiB", iterations=1, warmup=0).right


def test_traces_of_unequal_blocks_that_lack_something_are_found() -> None:
    made = compile_plan(schedule("dgx_h100(1)", "all-to-all", shards="zipf:1"), "chakra", size="1MB")
    assert isinstance(made.program, Messages)
    amounts = made.program.amounts or ()
    for wrong in ((*amounts[:-2], amounts[-2] + 1, 0), amounts[1:], (-1, *amounts[1:])):
        program = replace(made.program, amounts=wrong)
        files = made.backend.emit(program, made.options)
        assert not made.backend.check(files, made.options).ok


def test_even_traffic_is_as_ever() -> None:
    even = schedule("dgx_h100(2)", "all-to-all", shards=np.ones((16, 16), dtype=np.int64) * 3)
    assert even.claim["inv_x_star"] == schedule("dgx_h100(2)", "all-to-all").claim["inv_x_star"]


def test_what_has_no_traffic() -> None:
    with pytest.raises(ParameterError, match="all-to-all of all nodes"):
        schedule("dgx_h100(1)", "scatter", method="fluid", shards="zipf:1", root="box0/gpu0")
    with pytest.raises(ParameterError, match="all-to-all of all nodes"):
        schedule("dgx_h100(1)", "all-to-all", method="fluid", shards="zipf:1", group="box0/gpu[0-3]")
    with pytest.raises(ParameterError, match="1 size for 8 nodes"):
        schedule("dgx_h100(1)", "allgather", method="fluid", shards="zipf:1")
    with pytest.raises(ParameterError, match="allgather or a reduce-scatter"):
        schedule("dgx_h100(1)", "allreduce", method="fluid", shards="2,1,1,1,1,1,1,1")

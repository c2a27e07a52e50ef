"""Time and memory of the verifier on hypercubes: dimension-order trees, every shard cut at random into rotated ones."""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.samples.verdicts import verify_rounds
from topodesign.base import compiled
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology


def hypercube(dimensions: int) -> Topology:
    node = np.arange(2**dimensions)
    target = node[:, None] ^ (1 << np.arange(dimensions))
    return Topology.from_arrays(len(node), np.broadcast_to(node[:, None], target.shape), target)


def gather_columns(dimensions: int, trees: int, units: int, seed: int) -> list[NDArray[np.int64]]:
    """Columns of an allgather: tree r of a shard crosses the dimensions r, r+1, ... one a step."""
    nodes = 2**dimensions
    random = np.random.default_rng(seed)
    inner = np.sort(random.permuted(np.tile(np.arange(1, units), (nodes, 1)), axis=1)[:, : trees - 1], axis=1)
    cuts = np.hstack((np.zeros((nodes, 1), np.int64), inner, np.full((nodes, 1), units)))
    parts = []
    for tree in range(trees):
        reached = np.zeros(1, np.int64)
        for step in range(1, dimensions + 1):
            bit = 1 << (tree + step - 1) % dimensions
            owner = np.repeat(np.arange(nodes), len(reached))
            src = owner ^ np.tile(reached, nodes)
            rows = (np.full(len(src), step), src, src ^ bit, owner, cuts[owner, tree], cuts[owner, tree + 1])
            parts.append(np.stack(rows))
            reached = np.concatenate((reached, reached ^ bit))
    return list(np.hstack(parts))


def build(collective: Collective, dimensions: int, trees: int, units: int, seed: int) -> Flow:
    step, src, dst, owner, lo, hi = gather_columns(dimensions, trees, units, seed)
    gather = [step, src, dst, owner, lo, hi]
    reduce = [dimensions + 1 - step, dst, src, owner, lo, hi]
    steps = dimensions
    columns, reduce_steps = gather, 0
    if collective == REDUCE_SCATTER:
        columns, reduce_steps = reduce, steps
    elif collective == ALLREDUCE:
        gather[0] = gather[0] + steps
        columns, reduce_steps, steps = [np.concatenate(c) for c in zip(reduce, gather, strict=True)], steps, 2 * steps
    rows: Any = tuple(columns)
    return build_steps(collective, 2**dimensions, units, steps, [rows], reduce_steps=reduce_steps)


def shatter(schedule: Flow, seed: int) -> Flow:
    """Cut every row in two at a random unit, so that the shards are cut in hundreds of places."""
    middle = np.random.default_rng(seed).integers(schedule.lo, schedule.hi + 1)
    lo = np.concatenate((schedule.lo, middle))
    hi = np.concatenate((middle, schedule.hi))
    kept = lo < hi
    step, src, dst, owner = (np.tile(c, 2)[kept] for c in (schedule.step, schedule.src, schedule.dst, schedule.block))
    rows: Any = (step, src, dst, owner, lo[kept], hi[kept])
    head = schedule.collective, schedule.place, schedule.units, schedule.steps
    return build_steps(*head, [rows], reduce_steps=schedule.reduce_steps)


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", type=int, default=10)
    parser.add_argument("--trees", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--units", type=int, default=1000)
    parser.add_argument("--shatter", action="store_true", help="cut every row in two at a random unit")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    topology = hypercube(args.dimensions)
    small = hypercube(2)
    verify_rounds(small, build(ALLREDUCE, 2, 2, 4, args.seed))  # compiles, or loads what was compiled before
    for trees in args.trees:
        for collective in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE):
            schedule = build(collective, args.dimensions, trees, args.units, args.seed)
            if args.shatter:
                schedule = shatter(schedule, args.seed)
            begin = time.perf_counter()
            report = verify_rounds(topology, schedule)
            seconds = time.perf_counter() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            print(
                f"{collective!s:15} {schedule.nodes} nodes {len(schedule):>9} rows {schedule.units} units: "
                f"ok={report.ok} y={float(report.cost.bandwidth):.4f} {seconds:6.2f} s, peak so far {peak:.2f} GiB"
            )


if __name__ == "__main__":
    main()

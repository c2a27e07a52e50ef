"""Hold programs of this checkout against another's: copies within ranks, scratch, operations, threadblocks.

    python benchmarks/lean.py [--before ../old] [--target mscclpp] [--worse] [SPEC ...]

A row for every topology, collective and placement: the most chunks that a rank copies, and its scratch, over the data M
of the collective; operations and threadblocks of the rank with the most. Programs are checked before they count.
``--worse`` prints only rows with a larger figure than before, which are marked everywhere. Of a reduce-scatter out of
place the least scratch is printed if it is over half of M: what partial sums need that are there in one step. What
others publish is in published.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

SPECS = (
    *("circulant(12,2,3)", "circulant(13,1,5)", "circulant(16,1,6)", "circulant(27,2,11)", "dicirculant(9,1,3)"),
    *("uniring(1,8)", "biring(2,9)", "torus(3,3)", "torus(4,4)", "torus(3,5)", "torus(3,3,3)", "torus(8,8)"),
    *("twistedtorus(4,4)", "hypercube(3)", "hypercube(4)", "hypercube(5)", "kautz(2,2)", "kautz(4,1)", "debruijn(2,4)"),
    *("genkautz(4,12)", "genkautz(3,20)", "genkautz(2,7)", "genkautz(4,33)", "cayley(dihedral(6),1,6)"),
    *("cayley(dicyclic(2),1,3,4,6)", "complete(8)", "bipartite(4)", "kneser(5,2)", "line(complete(4))"),
    *("line(hypercube(3))", "catalog(24,4,1)", "catalog(50,4,1)", "mesh(3,4)", "paley(13)"),
    *("catalog(20,4,1)", "catalog(32,3,1)", "catalog(18,2,1)"),
)
COLLECTIVES = ("allreduce", "allgather", "reduce-scatter", "all-to-all")

FIGURES = ("copies", "scratch", "operations", "threadblocks")


def figures(spec: str, target: str, collectives: tuple[str, ...] = COLLECTIVES, **options: Any) -> list[dict[str, Any]]:
    """Compile everything of a topology; a row each."""
    from topodesign import compile_plan, schedule  # noqa: PLC0415  of whichever checkout is measured
    from topodesign.base.errors import TopodesignError  # noqa: PLC0415
    from topodesign.compiler.instructions import Kind  # noqa: PLC0415

    rows = []
    for collective in collectives:
        plan = schedule(spec, collective, **options)
        for inplace in (True, False):
            row: dict[str, Any] = {"spec": spec, "collective": collective, "inplace": inplace}
            rows.append(row)
            try:
                made = compile_plan(plan, target, inplace=inplace).checked()
            except TopodesignError as error:
                row["refused"] = str(error)
                continue
            program: Any = made.program
            own = getattr(program, "columns", None) or program.ranks.columns
            local = np.isin(own.kind, [at for at, kind in enumerate(Kind) if kind.value in LOCAL])
            copies = np.bincount(own.rank[own.block][local], weights=own.size[local], minlength=1).max()
            records = program.to_records()
            row |= {
                "copies": str(Fraction(int(copies), program.chunks)),
                "scratch": str(Fraction(max(one["scratch_chunks"] for one in records), program.chunks)),
                "operations": max(one["instructions"] for one in records),
                "threadblocks": max(one["threadblocks"] for one in records),
            }
            if target == "mscclpp":
                document = json.loads(made.text)
                row["operations"] = max(sum(len(b["ops"]) for b in gpu["threadblocks"]) for gpu in document["gpus"])
                row["scratch"] = str(Fraction(max(gpu["scratch_chunks"] for gpu in document["gpus"]), program.chunks))
            if collective == "reduce-scatter" and not inplace:
                row["least"] = least(plan)
    return rows


def least(plan: Any) -> str:
    """Return the least scratch over M of a reduce-scatter in rounds, where the checkout can tell."""
    try:
        from topodesign.compiler.frontends.layout import layout  # noqa: PLC0415
        from topodesign.compiler.frontends.sums import Sums  # noqa: PLC0415
    except ImportError:
        return "0"
    try:
        sums = Sums(layout(plan.rounds))
    except TypeError:  # before 0.31 it took another argument
        return "0"
    return str(Fraction(sums.least(), sums.shard * sums.nodes))


LOCAL = ("copy", "reduce")
"""Instructions that move data within a rank."""


def of_checkout(folder: Path, specs: list[str], target: str) -> list[dict[str, Any]]:
    """Return the rows of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, __file__, "--rows", "--target", target, *specs]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    rows: list[dict[str, Any]] = json.loads(run.stdout)
    return rows


def shown(row: dict[str, Any] | None) -> list[str]:
    """Return the figures of a row as they are printed."""
    if row is None or "refused" in row:
        return ["-"] * len(FIGURES)
    return [f"{float(Fraction(row[name])):.2f}" for name in FIGURES[:2]] + [str(row[name]) for name in FIGURES[2:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="*")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--target", default="msccl")
    parser.add_argument("--worse", action="store_true")
    parser.add_argument("--rows", action="store_true", help="print the rows of the package on the path as JSON")
    said = parser.parse_args()
    specs = said.specs or list(SPECS)
    if said.rows:
        print(json.dumps([row for spec in specs for row in figures(spec, said.target)]))
        return
    print(f"{'':42}{'copies/M':>11}{'scratch/M':>11}{'operations':>11}{'blocks':>8}")
    for spec in specs:
        after = of_checkout(Path(__file__).parents[1], [spec], said.target)
        before = of_checkout(said.before, [spec], said.target) if said.before else [None] * len(after)
        for old, new in zip(before, after, strict=True):
            worse = old and (
                ("refused" in new and "refused" not in old)
                or ("refused" not in old and any(Fraction(new[name]) > Fraction(old[name]) for name in FIGURES))
            )
            if said.worse and not worse:
                continue
            pairs = [f"{a} {b}" if old else b for a, b in zip(shown(old), shown(new), strict=True)]
            place = "in" if new["inplace"] else "out"
            head = f"{new['spec']} {new['collective']} {place}{' *' if worse else ''}"
            bound = Fraction(new.get("least", 0))
            print(
                f"{head:42}"
                + "".join(f"{pair:>{width}}" for pair, width in zip(pairs, (11, 11, 11, 8), strict=True))
                + (f"  at least {float(bound):.2f}" if bound > Fraction(1, 2) else "")
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()

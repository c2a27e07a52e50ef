"""Measure how long programs take to compile and to check, beside their size, and the most memory on the way.

Run it with ``python benchmarks/compile.py [SPEC ...]``. Each spec is an allreduce, in a process of its own, in CPU
seconds after a small one that loads what is compiled once. The last columns are microseconds for each instruction:
where they stay the same as programs grow, time grows like the output.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

SPECS = ("hypercube(4)", "torus(8,8)", "genkautz(4,64)", "genkautz(4,128)", "genkautz(4,256)", "catalog(200,6,2)")


def measure(spec: str) -> None:
    from topodesign import compile_plan, schedule  # noqa: PLC0415  in the process that is measured
    from topodesign.base import compiled  # noqa: PLC0415

    compiled.PATIENCE = 0.0
    compile_plan(schedule("torus(3,3)", "allreduce")).checked()
    plan = schedule(spec, "allreduce")
    start = time.process_time()
    made = compile_plan(plan)
    middle = time.process_time()
    made.checked()
    end = time.process_time()
    instructions = sum(row["instructions"] for row in made.to_records())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = [1e6 * taken / instructions for taken in (middle - start, end - middle)]
    print(
        f"{spec:20}{instructions:>13}{middle - start:>9.2f}s{end - middle:>8.2f}s{memory:>8.0f} MiB"
        f"{each[0]:>11.1f}{each[1]:>8.1f}",
        flush=True,
    )


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2])
        return
    print(
        f"{'allreduce':20}{'instructions':>13}{'compile':>10}{'check':>9}{'memory':>12}{'compile/us':>11}{'check':>8}"
    )
    for spec in sys.argv[1:] or SPECS:
        subprocess.run([sys.executable, __file__, "--one", spec], check=True)


if __name__ == "__main__":
    main()

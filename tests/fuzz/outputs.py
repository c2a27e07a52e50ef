"""``python -m tests.fuzz.outputs FOLDER JOBS [quick|few]``: what commands write and print, the same whenever it is run.

Hash seeds are for a process, and so is this: it prints a checksum for every output.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
from pathlib import Path

from topodesign.cli.main import run
from topodesign.wiring.exports.export import FORMATS

COMMANDS = (
    "evaluate circulant(12,2,3) --json",
    "convert --as links line(circulant(8,1,3),1) --json",
    "pareto -n 60 -d 4 --json",
    "pareto -n 33 -d 3 --catalog none --time-limit 0s --json",
    "evaluate mi250(2) --json --collective allgather",
    "evaluate dgx_a100(2) --collective allreduce --json",
    "convert --as fabric dgx_a100(2) -o fabric.json",
    "convert --as fabric dragonfly(3,2,1) -o fabric.yaml",
    "convert --as fabric torus(3,3) -o fabric.graphml",
    "schedule circulant(12,2,3) --collective allreduce -o rounds.npz",
    "schedule genkautz(3,20) --collective allgather --set chunks=3 -o chunks.npz",
    "schedule dgx_a100(2) --collective allgather -o trees.npz",
    "schedule mi250(1) --collective broadcast --root box0/gcd0 -o broadcast.npz",
    "schedule torus(3,3) --collective all-to-all -o all.npz",
    "schedule torus(3,3) --collective allgather --algorithm tacos -o timed.npz",
    "compile rounds.npz -o rounds.xml",
    "compile trees.npz -o trees.xml",
    "compile rounds.npz --target jax -o rounds.py",
    "verify rounds.npz --json",
    "simulate rounds.npz --json",
    "simulate timed.npz --json",
    "examples inventory_testbed.yaml observed_testbed.csv",
    "wire plan circulant(12,2,3) --inventory inventory_testbed.yaml --place -o plan.json --json",
    "wire change plan.json circulant(12,1,5) -o changed --json",
    "wire check plan.json --lldp observed_testbed.csv --json",
    "failures plan.json --json",
    *(f"wire export plan.json --format {name} -o export.{name}" for name in FORMATS if name not in {"sonic", "scpi"}),
    "wire export plan.json --format labels -o labels.pdf",
    "catalog build -n 3..9 -d 2..3 --seed 1 --effort 1 --jobs {jobs} -o catalog",
    "catalog verify --catalog catalog -d 2..3 --jobs {jobs} --json",
)
"""Run in this order in one folder."""
SLOW = ("catalog build", "catalog verify", "pareto -n 33", "failures", "schedule torus(3,3) --collective all-to-all")
"""How commands begin that the quick run omits."""
FEW = (
    *("convert --as links", "convert --as fabric dragonfly", "schedule circulant", "compile rounds.npz -o"),
    *("examples", "wire plan", "wire check"),
)
"""How those begin that every run has."""


def main() -> None:
    """Run all commands; print a checksum for what each prints, and for every file but the journal of the build."""
    folder, jobs = Path(sys.argv[1]), sys.argv[2]
    commands = [one for one in COMMANDS if "quick" not in sys.argv or not one.startswith(SLOW)]
    commands = [one for one in commands if "few" not in sys.argv or one.startswith(FEW)]
    folder.mkdir(parents=True)
    with contextlib.chdir(folder):
        for command in commands:
            with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()):
                status = run(command.format(jobs=jobs).split())
            print(status, hashlib.sha256(said.getvalue().encode()).hexdigest()[:16], command)
        for path in sorted(Path().rglob("*")):
            if path.is_file() and path.name != "build.journal":  # where tasks stand as they were done
                print(hashlib.sha256(path.read_bytes()).hexdigest()[:16], path)


if __name__ == "__main__":
    main()

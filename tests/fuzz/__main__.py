"""``python -m tests.fuzz``: the thorough run over readers, writers, specs and command lines, with its counts."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.fuzz import lines, specs, table, writers


def main() -> None:
    """Run it and print the tables; a failure ends it with what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="broken inputs for each reader and defect, about")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    said = parser.parse_args()
    print(f"seed {said.seed}, {said.rounds} rounds; refused/tried")
    with tempfile.TemporaryDirectory() as folder:
        print(table.text(table.rows(Path(folder), rounds=said.rounds, seed=said.seed)), flush=True)
        print(writers.text(Path(folder) / "writers", kills=10), flush=True)
        print(specs.text(specs.tries(20 * said.rounds, said.seed)), flush=True)
        print(lines.text(lines.tries(said.rounds, said.seed, Path(folder) / "lines", limited=True)))


if __name__ == "__main__":
    main()

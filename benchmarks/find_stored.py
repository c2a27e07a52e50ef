"""Find the stored schedules from scratch and write their data files; print the times.

Without options every topology of ``WANTED`` is searched, one line a schedule: the cost, the bound that proves it
optimal for its steps, and the seconds that the search took. The same version of OR-tools writes the same files. Most of
the time is for kautz(3,1), kautz(4,1), dbjmod(2,4) and dbjmod(4,2).

``--scan N D STEPS CHUNKS`` goes through the seeds of randomregular(N,D,seed) and prints the first one that has both an
allgather and a reduce-scatter of so many steps with y = (N-1)/N. This is where the random digraphs of the table come
from; it takes a minute or two for each.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

from topodesign.collectives import ALLGATHER, REDUCE_SCATTER, Collective
from topodesign.plans.measure import cost_of
from topodesign.pricing.closed_form import price
from topodesign.schedulers.exact_rounds import fewest_rounds
from topodesign.schedulers.steps_bound import lower_bound_lp
from topodesign.schedulers.stored import DATA, FORMAT, VERSION, StoredSchedule, file_of, links_hash
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

HALVES = (ALLGATHER, REDUCE_SCATTER)
SECONDS = 600.0
"""Far above what any search takes, so that the results do not depend on the speed of the machine."""

WANTED = {  # spec: steps, chunks
    "diamond()": (3, 2),
    "dbjmod(2,3)": (4, 2),
    "dbjmod(2,4)": (5, 2),
    "dbjmod(3,2)": (3, 3),
    "dbjmod(4,2)": (3, 4),
    # One step more than the best shortest-path schedule, for the optimal bandwidth.
    "kautz(2,1)": (3, 2),
    "kautz(3,1)": (3, 3),
    "kautz(4,1)": (3, 4),
    "genkautz(4,15)": (3, 2),
    # As many steps as the best shortest-path schedule, for less bandwidth.
    "genkautz(2,15)": (4, 1),
    "genkautz(4,10)": (2, 4),
    # The fewest steps known for their size, with the optimal bandwidth.
    "randomregular(13,2,160)": (4, 1),
    "randomregular(14,2,1029)": (4, 2),
    "randomregular(15,2,22820)": (4, 1),
}


def to_text(topology: Topology, entries: Iterable[StoredSchedule]) -> str:
    """Return the text of a data file: ``stored.from_text`` gives the entries back."""
    head = {"format": FORMAT, "version": VERSION, "spec": str(topology.spec), "links": links_hash(topology)}
    blocks = []
    for entry in entries:
        fields = {
            "collective": entry.schedule.collective.name,
            "steps": entry.schedule.steps,
            "units": entry.schedule.units,
            "bandwidth": str(entry.cost.bandwidth),
            "bound": str(entry.bound),
            "search": dict(entry.search),
        }
        table = zip(*(column.tolist() for column in entry.schedule.table().values()), strict=True)
        blocks.append(f'{json.dumps(fields)[:-1]}, "rows": [\n' + ",\n".join(map(json.dumps, table)) + "\n]}")
    return f'{json.dumps(head)[:-1]}, "schedules": [\n' + ",\n".join(blocks) + "\n]}\n"


def find(topology: Topology, collective: Collective, steps: int, chunks: int) -> StoredSchedule:
    start = time.perf_counter()
    schedule = fewest_rounds(topology, collective, steps=steps, chunks=chunks, seconds=SECONDS).schedule
    seconds = time.perf_counter() - start
    bound = lower_bound_lp(topology, collective, steps=steps)
    if schedule is None or bound is None:
        raise SystemExit(f"{topology.spec} has no {collective} of {steps} steps")
    cost = cost_of(topology, schedule)
    name = f"{topology.spec} {collective}"
    print(f"{name:42} {steps} steps, y = {cost.bandwidth!s:6} bound {bound!s:6} {seconds:6.1f} s", flush=True)
    return StoredSchedule(schedule, cost, bound, {"chunks": chunks, "seed": 0, "ortools": version("ortools")})


def find_all(folder: Path) -> None:
    start = time.perf_counter()
    for spec, (steps, chunks) in WANTED.items():
        topology = build(spec)
        entries = [find(topology, collective, steps, chunks) for collective in HALVES]
        (folder / file_of(spec).name).write_text(to_text(topology, entries), encoding="utf-8")
    print(f"{len(WANTED)} topologies in {time.perf_counter() - start:.0f} s")


def scan(nodes: int, degree: int, steps: int, chunks: int) -> None:
    optimum = Fraction(nodes - 1, nodes)
    for seed in itertools.count():
        topology = build(f"randomregular({nodes},{degree},{seed})")
        if price(topology).steps > steps:
            continue
        if any(lower_bound_lp(topology, collective, steps=steps) != optimum for collective in HALVES):
            continue
        found = [fewest_rounds(topology, c, steps=steps, chunks=chunks, seconds=60).schedule for c in HALVES]
        if all(schedule and cost_of(topology, schedule).bandwidth == optimum for schedule in found):
            print(f"{topology.spec}: {steps} steps, y = {optimum}")
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=DATA, help="folder for the data files")
    parser.add_argument("--scan", type=int, nargs=4, metavar=("N", "D", "STEPS", "CHUNKS"))
    options = parser.parse_args()
    if options.scan:
        scan(*options.scan)
    else:
        find_all(options.output)


if __name__ == "__main__":
    main()

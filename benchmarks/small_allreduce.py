"""For which sizes which allreduce is the fastest: one-shot, two-level, two-shot, trees, rings, in-switch; exact.

    python benchmarks/small_allreduce.py [--alpha fabric] [MACHINE ...]

A row for every machine and range of sizes from 1 KiB to 1 GiB: its first size, the method with the least time in it,
and the times of all there in microseconds. Where ranges meet is found by halving, to the byte.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from topodesign import schedule, simulate
from topodesign.base.errors import TopodesignError
from topodesign.plans.plan import Plan

MACHINES = ("dgx_h100(1)", "gb200_nvl72(1)", "mi300x(1)", "dgx_a100(2)", "dgx_h100(2)")
METHODS = {
    "one-shot": "one-shot",
    "two-level": "two-level",
    "two-shot": "direct",
    "trees": "forest",
    "ring": "ring",
    "NVLS": "in-network",
}
SIZES = tuple(2**power for power in range(10, 31))


def plans(machine: str, alpha: str) -> dict[str, list[Plan]]:
    """Return the plans of a machine by what they are called; of two-level one for little data and one for more."""
    found: dict[str, list[Plan]] = {}
    for name, method in METHODS.items():
        ways: list[Any] = [{"size": size, "alpha": alpha} for size in ("1KiB", "1MiB")] if name == "two-level" else [{}]
        try:
            found[name] = [schedule(machine, "allreduce", method=method, **way) for way in ways]
        except TopodesignError:
            continue
    return found


def ranges(made: dict[str, list[Plan]], alpha: str) -> Iterator[tuple[int, dict[str, Fraction]]]:
    """Yield the first size of every range, with all times there."""

    def times(size: int) -> dict[str, Fraction]:
        return {name: min(simulate(plan, size=size, alpha=alpha).time for plan in some) for name, some in made.items()}

    def fastest(size: int) -> str:
        now = times(size)
        return min(now, key=now.__getitem__)

    yield SIZES[0], times(SIZES[0])
    for start, end in itertools.pairwise(SIZES):
        low = start
        while fastest(low) != fastest(end):
            first, last = low, end
            while last - first > 1:
                middle = (first + last) // 2
                first, last = (middle, last) if fastest(middle) == fastest(low) else (first, middle)
            yield last, times(last)
            low = last


def said(time: Fraction) -> str:
    """Return microseconds with three digits or more."""
    return f"{float(10**6 * time):{'.3g' if time < Fraction(1, 1000) else '.0f'}}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*", default=MACHINES)
    parser.add_argument("--alpha", default="fabric")
    args = parser.parse_args()
    print(f"| place | from | least | {' | '.join(METHODS)} |")
    print(f"|---|---|---|{'---|' * len(METHODS)}")
    for machine in args.machines:
        for size, now in ranges(plans(machine, args.alpha), args.alpha):
            least = [name for name, time in now.items() if time == min(now.values())]
            cells = [said(now[name]) if name in now else "" for name in METHODS]
            print(f"| {machine} | {size} | {least[-1]} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()

"""Boxes of eight GPUs wired to each other: rates, lifted plans, numbered NICs, and split ones, with CPU seconds.

    python benchmarks/boxes.py [BOXES ...]

Rates are in GB/s; times in us, of the plan with gaps between messages, and of its simulation with the fabric's
latencies alone. ``switched`` is the same plan on the rails of the preset, and trees on these.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction

from topodesign import build_fabric, optimum, pareto_boxes, schedule, simulate, verify

MICRO = 10**6


def seconds(since: float) -> str:
    """Return the CPU seconds since then."""
    return f"{time.process_time() - since:.1f} s"


def rates(box: str, boxes: int, split: int = 1) -> str:
    """Print what the best wiring reaches, and return its spec."""
    since = time.process_time()
    found = pareto_boxes(box, boxes, split=split)
    best = found.best.rates
    words = f"{box} {boxes} split {split}: allgather {best.allgather_gbps:.1f}, all-to-all {best.gbps:.2f}"
    print(f"{words} (bound of any graph {float(found.bound) / 1e9:.2f}), {seconds(since)}")
    spec = found.best.fabric.name
    since = time.process_time()
    optimum(build_fabric(spec))
    print(f"  {spec[:100]}: cut proved in {seconds(since)}")
    return spec


def quickest(box: str, boxes: int, size: str) -> str:
    """Return the wiring that ``pareto --box`` has the quickest allgather of this size for."""
    found = pareto_boxes(box, boxes, sizes=size)
    best = min(found.entries, key=lambda one: one.time("allgather", size))
    print(f"  for allgathers of {size}: {best.name[:80]}")
    return best.fabric.name


def lifted(spec: str, size: str, chunks: int | None = None) -> None:
    """Print the times of a lifted allgather."""
    since = time.process_time()
    plan = schedule(spec, "allgather", method="boxes", size=size, chunks=chunks)
    made, since = seconds(since), time.process_time()
    assert verify(plan).ok  # noqa: S101
    alone = simulate(plan, size=size).time
    times = f"{float(plan.claim['time'] * MICRO):.1f}, latencies alone {float(alone * MICRO):.1f}"
    print(f"  {size} chunks {chunks or 'auto'}: {times} ({made}, verified in {seconds(since)})", flush=True)


def exchanged(spec: str) -> None:
    """Print what a lifted all-to-all reaches, and by how much any flow may be faster."""
    since = time.process_time()
    plan = schedule(spec, "all-to-all", method="boxes")
    made, since = seconds(since), time.process_time()
    assert verify(plan).ok  # noqa: S101
    rate, lost = float(plan.claim["algorithmic_bandwidth"]) / 1e9, float(Fraction(plan.generator["lost"]))
    print(f"  all-to-all {rate:.2f}, at most {lost:.2%} more ({made}, verified in {seconds(since)})", flush=True)


def switched(boxes: int) -> None:
    """Print the times of 64 MiB on switched rails, lifted and by trees."""
    trees = simulate(schedule(f"dgx_h100({boxes})", "allgather"), size="64MiB", alpha="fabric").time
    print(f"  rails of {boxes} by trees, 64MiB: {float(trees * MICRO):.1f}")
    lifted(f"dgx_h100({boxes})", "64MiB")


if __name__ == "__main__":
    for count in map(int, sys.argv[1:] or ["4", "8", "16", "32", "64"]):
        for preset in ("dgx_h100", "mi300x"):
            wiring = rates(preset, count)
            exchanged(wiring)
            for data in ("1MiB", "64MiB"):
                wiring = quickest(preset, count, data)
                lifted(wiring, data)
            if preset == "dgx_h100":
                lifted(wiring, "1MiB", 4)
        switched(count)
        if count <= 16:
            exchanged(rates("pcie_pair", count))
        rates("dgx_h100", count, split=2)

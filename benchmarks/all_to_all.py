"""Prices of all-to-all: CPU seconds, proven gaps, and how the time grows with the number of nodes."""

from __future__ import annotations

import math
import time

from topodesign.pricing.all_to_all import AllToAll, all_to_all
from topodesign.pricing.efforts import Effort
from topodesign.topology.library import build

SYMMETRIC = ("torus({n},{n})", "circulant({N},1,5,30,200)", "cayley(metacyclic({m},16,3),1,40,{h})", "hypercube({b})")
GROWING: tuple[tuple[str, Effort, tuple[int, ...]], ...] = (
    ("genkautz(4,{N})", "approximate", (250, 500, 1000, 2000)),
    ("randomregular({N},4,1)", "approximate", (128, 256, 512)),
    ("randomregular({N},4,1)", "exact", (25, 50, 100)),
    ("circulant({N},1,5,30,200)", "exact", (1024, 4096, 16384)),
)


def measured(text: str, effort: Effort) -> tuple[float, AllToAll]:
    topology = build(text)
    start = time.process_time()
    found = all_to_all(topology, effort=effort)
    return time.process_time() - start, found


def show(text: str, seconds: float, found: AllToAll) -> None:
    gap = "exact" if found.exact else f"gap {float(found.gap or 0):.3%}"
    print(f"{text:45}{seconds:9.2f} s  {float(found.upper or 0):10.6f}  {gap}  {found.method}", flush=True)


def main() -> None:
    measured("genkautz(4,64)", "approximate")  # compiles what is compiled
    for form in SYMMETRIC:
        text = form.format(N=1024, n=32, m=64, h=346, b=10)
        show(text, *measured(text, "exact"))
    for form, effort, sizes in GROWING:
        times = []
        for nodes in sizes:
            text = form.format(N=nodes)
            seconds, found = measured(text, effort)
            show(text, seconds, found)
            times.append(seconds)
        print(f"    grows as N to the {math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0]):.2f}")


if __name__ == "__main__":
    main()

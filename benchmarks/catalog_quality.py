"""Hold the catalog against what the finder of the paper would know: its base graphs and expansions only.

    python benchmarks/catalog_quality.py -d 4 -n 5..2000
    python benchmarks/catalog_quality.py -d 2 -d 8 -d 16 -n 5..2000 --every 10 --bidirectional

``topodesign/catalog/records.py`` specifies what it knows. For every N all points of its frontier must be matched or
beaten; the exit status is 1 where one is not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import click

from tests.samples.paper import paper_finder
from topodesign.base.cost import Cost, lower_bound
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import STANDARD
from topodesign.cli.options import number_range


def covers(front: Iterable[Cost], others: Iterable[Cost]) -> bool:
    several = list(front)
    return all(any(cost.dominates(other) for cost in several) for other in others)


def ratio(front: Sequence[Cost], bound: Cost, column: int) -> Fraction:
    return min(STANDARD.allreduce(cost)[column] for cost in front) / STANDARD.allreduce(bound)[column]


def summary(name: str, ratios: Sequence[Fraction]) -> str:
    return f"{name} mean {float(sum(map(float, ratios))) / len(ratios):.4f} worst {float(max(ratios)):.4f}"


def compare(catalog: Catalog, degree: int, sizes: Sequence[int], duplex: bool) -> bool:
    """Print how one degree compares, and return whether the catalog is nowhere worse."""
    start = time.process_time()
    finder = paper_finder()
    better, worse, absent = 0, [], []
    figures: dict[tuple[str, int], list[Fraction]] = {(who, k): [] for who in ("catalog", "paper") for k in (0, 1)}
    for nodes in sizes:
        if duplex and nodes * degree % 2:
            continue
        ours = [row.cost for row in catalog.frontier(nodes, degree, duplex=duplex)]
        theirs = [candidate.cost for candidate in finder.frontier(nodes, degree, duplex=duplex)]
        if not ours:
            absent.append(nodes)
            continue
        if not covers(ours, theirs):
            worse.append(nodes)
        elif not covers(theirs, ours):
            better += 1
        bound = lower_bound(nodes, degree, duplex=duplex)
        for who, front in (("catalog", ours), ("paper", theirs)):
            for column in (0, 1) if front else ():
                figures[who, column].append(ratio(front, bound, column))
    compared = len(figures["catalog", 0])
    print(
        f"d={degree}, {'duplex' if duplex else 'simplex or duplex'}: {compared} sizes, {len(absent)} not in the catalog"
    )
    if compared:
        print(f"  strictly better at {better} ({better / compared:.1%}), worse at {len(worse)}: {worse[:20]}")
        for column, size in enumerate(("1MiB", "100MiB")):
            print(f"  {size:>6}  " + "; ".join(summary(who, figures[who, column]) for who in ("catalog", "paper")))
    print(f"  {time.process_time() - start:.1f} s of processor time", flush=True)
    return not worse


@click.command()
@click.option("-n", "--nodes", callback=number_range, default="5..2000", show_default=True)
@click.option("-d", "--degree", "degrees", type=int, multiple=True, default=(4,), show_default=True)
@click.option("--every", type=click.IntRange(1), default=1, show_default=True, help="Every so many sizes of the range.")
@click.option("--bidirectional", is_flag=True)
@click.option("--catalog", "directory", type=click.Path(file_okay=False, path_type=Path))
def main(nodes: range, degrees: Sequence[int], every: int, bidirectional: bool, directory: Path | None) -> None:
    catalog = Catalog() if directory is None else Catalog(directory)
    good = [compare(catalog, degree, nodes[::every], bidirectional) for degree in degrees]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()

"""``topodesign optimum``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from topodesign.base.units import plain_number
from topodesign.base.wording import counted
from topodesign.cli.options import (
    COLLECTIVES,
    alpha_option,
    json_option,
    print_json,
    progress_bar,
    tree_options,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.collectives import Collective
    from topodesign.fabrics.fabric import Fabric
    from topodesign.forest.throughput import BestAllreduce, Limited, Throughput, Upgrade


_MOST_LINKS = 8
"""Links of a bottleneck that are shown one by one."""


@click.command(name="optimum")
@click.argument("fabric")
@click.option(
    "--collective",
    type=COLLECTIVES,
    default="allgather",
    show_default=True,
    help="Whose bottleneck and number of trees to tell.",
)
@tree_options
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Bandwidth of a node over all its links, for a fabric that says none; 100Gbps if unsaid.",
)
@click.option("--scan", type=click.IntRange(1, 1000), metavar="K", help="Compare 1 to K trees per root.")
@click.option(
    "--frontier",
    is_flag=True,
    help="Show which numbers of trees per root pay: fewer have less bandwidth, but lower trees and so less latency.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="SIZE",
    help="Tell how long this much data takes with each number of trees compared; give it several times for one column "
    "each.",
)
@alpha_option
@click.option(
    "--proof/--no-proof",
    default=True,
    show_default=True,
    help="Whether to ask if any allreduce beats reduce-scatter and then allgather; above 128 nodes by cuts alone.",
)
@json_option
def command(
    fabric: str,
    collective: Collective,
    bandwidth: str | None,
    scan: int | None,
    frontier: bool,
    sizes: tuple[str, ...],
    alpha: str,
    proof: bool,
    as_json: bool,
    **of_trees: Any,
) -> None:
    """Find the best throughput of collectives on a fabric, and the links that keep it from being higher.

    FABRIC is a fabric file (.yaml, .json, .graphml), links (.csv, .json), or a spec such as 'mi250(2)' or
    'torus(8,8)' (quote it); see 'topodesign fabric --help'.

    Algorithmic bandwidth is the whole data over the time, without latency. Times, for each --size, are those of trees
    as pipelines of as many chunks as are best, as 'topodesign simulate' tells.
    """
    from topodesign.base.units import parse_size, parse_time  # noqa: PLC0415
    from topodesign.expand.places import as_fabric as fabric_of  # noqa: PLC0415
    from topodesign.fabrics.part import part_of  # noqa: PLC0415

    wanted = Wanted(fabric, collective, **of_trees)
    if sizes and not (scan or frontier or wanted.fixed_k):
        raise click.UsageError("--size compares numbers of trees; give --frontier, --scan K or --fixed-k K with it.")
    comparison = _Comparison(scan or 0, frontier, parse_time(alpha), tuple(map(parse_size, sizes)))
    whole = fabric_of(fabric, bandwidth)
    with progress_bar("looking for the optimum"):
        answer = _answer(whole, part_of(whole, wanted.only, wanted.others, wanted.without), wanted, comparison, proof)
    if as_json:
        print_json(_document(answer))
    else:
        click.echo("\n".join(_lines(answer)))


@dataclass(frozen=True)
class Wanted:
    """What the options say."""

    source: str
    collective: Collective
    root: str | None = None
    fixed_k: int | None = None
    shards: str | None = None
    only: tuple[str, ...] = ()
    others: Any = "vanish"
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Comparison:
    """Which numbers of trees to compare, and for what data."""

    scan: int
    frontier: bool
    alpha: Fraction
    sizes: tuple[Fraction, ...]


@dataclass(frozen=True)
class _Answer:
    fabric: Fabric
    shards: dict[str, int] | None
    best: Throughput
    before: Throughput | None
    trees: int
    others: list[Throughput]
    upgrades: list[Upgrade]
    fixed: Limited | None
    scan: list[Limited]
    frontier: list[Limited]
    comparison: _Comparison
    proof: _Proof | None


@dataclass(frozen=True)
class _Proof:
    """What is known of the best allreduce of any kind: nothing if shards are given."""

    best: BestAllreduce | None
    words: str


def _answer(whole: Fabric, fabric: Fabric, wanted: Wanted, comparison: _Comparison, proof: bool) -> _Answer:
    from topodesign.fabrics.shards import read_shards  # noqa: PLC0415  heavy
    from topodesign.forest.throughput import frontier, limited, smallest_number_of_trees, throughput, upgrades  # noqa: PLC0415

    collective, root = wanted.collective, wanted.root
    shards = None if wanted.shards is None else read_shards(fabric, wanted.shards)
    options: dict[str, Any] = {"root": root, "shards": shards}
    timed = {**options, "alpha": comparison.alpha, "sizes": comparison.sizes}
    best = throughput(fabric, collective, **options)
    from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER  # noqa: PLC0415

    three: list[Collective] = [ALLGATHER, REDUCE_SCATTER, ALLREDUCE]
    names = [fabric.names[node] for node in fabric.compute]
    return _Answer(
        fabric,
        None if shards is None else dict(zip(names, shards, strict=True)),
        best,
        _before(whole, wanted) if wanted.only or wanted.without else None,
        smallest_number_of_trees(fabric, collective, **options),
        [throughput(fabric, each, shards=shards) for each in three] if root is None else [best],
        upgrades(fabric, collective, **options),
        limited(fabric, [wanted.fixed_k], collective, **timed)[0] if wanted.fixed_k else None,
        limited(fabric, range(1, comparison.scan + 1), collective, **timed),
        frontier(fabric, collective, **timed) if comparison.frontier else [],
        comparison,
        _proof(fabric, shards is None) if proof and len(collective.parts) > 1 else None,
    )


def _before(fabric: Fabric, wanted: Wanted) -> Throughput | None:
    """Return the throughput of the whole fabric; None if it had none, or the shards fit only what is left."""
    from topodesign.base.errors import InfeasibleError, ParameterError  # noqa: PLC0415
    from topodesign.fabrics.shards import read_shards  # noqa: PLC0415  heavy
    from topodesign.forest.throughput import throughput  # noqa: PLC0415

    try:
        shards = None if wanted.shards is None else read_shards(fabric, wanted.shards)
        return throughput(fabric, wanted.collective, root=wanted.root, shards=shards)
    except (InfeasibleError, ParameterError):
        return None


def _document(answer: _Answer) -> dict[str, Any]:
    from topodesign.forest.bottleneck import bottleneck_in_words  # noqa: PLC0415

    fabric, best = answer.fabric, answer.best
    links = best.links(fabric)
    document: dict[str, Any] = {
        "fabric": fabric.name,
        "nodes": len(fabric.compute),
        "switches": len(fabric.topology.switches),
        "links": len(fabric.classes),
        "collective": best.collective.name,
        "shards": answer.shards,
        "k": answer.trees,
        **_rates(best),
        "bound": str(best.bound),
        "proven": best.bandwidth == best.bound,
        "proposition_3_k": best.trees,
        "bottleneck_cut": [fabric.names[vertex] for vertex in sorted(best.cut)],
        "bottleneck_links": [
            {"from": link.src, "to": link.dst, "bandwidth": str(link.bandwidth), "class": link.kind} for link in links
        ],
        "bottleneck": bottleneck_in_words(fabric, best),
        "collectives": {other.collective.name: _rates(other) for other in answer.others},
        "sensitivity": [
            {
                "class": upgrade.kind,
                "doubled": str(upgrade.doubled),
                "doubled_gain": float(upgrade.doubled / best.bandwidth - 1),
                "useful_factor": None if upgrade.useful_factor is None else str(upgrade.useful_factor),
                "limit": None if upgrade.limit is None else str(upgrade.limit),
            }
            for upgrade in answer.upgrades
        ],
    }
    if answer.proof is not None:
        document["best_allreduce"] = _best_allreduce(answer.proof, best)
    if answer.fixed is not None:
        document["optimum"] = {"k": answer.trees, **_rates(best)}
        document |= _row(answer.fixed)
    if answer.scan:
        document["scan"] = [_row(row) for row in answer.scan]
    if answer.frontier:
        document["frontier"] = [_row(row) for row in answer.frontier]
    if answer.comparison.sizes:
        document |= {
            "alpha_s": float(answer.comparison.alpha),
            "sizes_bytes": [plain_number(size) for size in answer.comparison.sizes],
        }
    if answer.before is not None:
        document["before"] = _rates(answer.before)
    return document


def _best_allreduce(proof: _Proof, composed: Throughput) -> dict[str, Any]:
    """Return what is known of the best allreduce of any kind, beside a reduce-scatter and then an allgather."""
    best = proof.best
    bandwidth = composed.bandwidth if best is None else best.bandwidth
    return {
        "algorithmic_bandwidth": str(bandwidth),
        "algorithmic_bandwidth_GBps": float(bandwidth / 10**9),
        "bound": None if best is None else str(best.bound),
        "proven": best is not None and best.proven,
        "composed": _rates(composed),
        "composed_is_best": None if best is None else best.composed_is_best,
        "in_words": proof.words,
    }


def _row(result: Limited) -> dict[str, Any]:
    """Return what a number of trees reaches."""
    return {
        "k": result.trees,
        **_rates(result),
        "height": result.height,
        "times_s": [float(time) for time in result.times],
    }


def _rates(result: Throughput | Limited) -> dict[str, Any]:
    return {
        "inv_x_star": str(result.inverse_rate),
        "algorithmic_bandwidth": str(result.bandwidth),
        "algorithmic_bandwidth_GBps": float(result.bandwidth / 10**9),
    }


def _lines(answer: _Answer) -> list[str]:
    """Return the answer for people."""
    from topodesign.fabrics.fabric import format_rate  # noqa: PLC0415
    from topodesign.forest.bottleneck import bottleneck_in_words, speed  # noqa: PLC0415

    fabric, best = answer.fabric, answer.best
    lines = [str(fabric), "", *_columns([_collective(other) for other in answer.others])]
    if answer.proof is not None:
        lines += ["", answer.proof.words]
    if answer.before is not None:
        before = answer.before.bandwidth
        lines += ["", f"before: {speed(before)}; {_change(best.bandwidth, before)} now"]
    unit = "" if answer.shards is None else " and unit of shard size"
    trees = f"{counted(answer.trees, 'tree')} per root{unit} {'reaches' if answer.trees == 1 else 'reach'} the optimum"
    lines += ["", f"bottleneck of {best.collective} ({trees})"]
    lines.append(f"  {bottleneck_in_words(fabric, best)}")
    links = best.links(fabric)
    rows = [[f"  {k.src} -> {k.dst}", format_rate(k.bandwidth), k.kind] for k in links[:_MOST_LINKS]]
    lines += _columns(rows) + ([f"    and {len(links) - _MOST_LINKS} more"] if len(links) > _MOST_LINKS else [])
    lines += ["", "more bandwidth on all links of a class"]
    lines += _columns([_upgrade(upgrade, best.bandwidth) for upgrade in answer.upgrades])
    given = [*answer.scan, *([answer.fixed] if answer.fixed is not None else [])]
    turn = "; a reduce-scatter, then an allgather" if len(best.collective.parts) > 1 else ""
    if given:
        lines += ["", f"with a given number of trees per root{unit}{turn}", *_table(given, answer)]
    if answer.frontier:
        lines += ["", f"numbers of trees per root{unit} that pay{turn}", *_table(answer.frontier, answer)]
    return lines


def _table(rows: list[Limited], answer: _Answer) -> list[str]:
    """Return a line for each number of trees, with a star at the fastest for each size."""
    from topodesign.base.units import format_size, format_time  # noqa: PLC0415
    from topodesign.forest.bottleneck import speed  # noqa: PLC0415  heavy

    titles = ["k", "bandwidth", "", "height", *map(format_size, answer.comparison.sizes)]
    cells = [
        [str(row.trees), speed(row.bandwidth), _change(row.bandwidth, answer.best.bandwidth), str(row.height)]
        + [
            f"{format_time(time)}{' *' if time == min(other.times[at] for other in rows) else '  '}"
            for at, time in enumerate(row.times)
        ]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    lines = [
        "  " + "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [titles, *cells]
    ]
    if answer.comparison.sizes:
        lines.append(f"  * fastest of its column, with a latency of {format_time(answer.comparison.alpha)} a step")
    return lines


def _collective(result: Throughput) -> list[str]:
    from topodesign.forest.bottleneck import speed  # noqa: PLC0415  heavy

    how = "reduce-scatter, then allgather" if len(result.collective.parts) > 1 else ""
    return [result.collective.name, speed(result.bandwidth), how]


def _proof(fabric: Fabric, equal: bool) -> _Proof:
    """Look for a better allreduce; shares of the data are then as they are fastest."""
    from topodesign.forest.bottleneck import speed  # noqa: PLC0415
    from topodesign.forest.throughput import best_allreduce  # noqa: PLC0415  heavy

    if not equal:
        return _Proof(None, "whether an allreduce of another kind is faster is not known: not asked with --shards")
    best = best_allreduce(fabric)
    capable = fabric.multicast | fabric.aggregation
    where = ", if switches only forward; those here can copy or add" if capable else ""
    if best.composed_is_best:
        return _Proof(best, f"no allreduce beats a reduce-scatter followed by an allgather{where}")
    bound = "the best" if best.proven else f"none reaches more than {speed(best.bound)}"
    if best.bandwidth == best.composed:
        return _Proof(best, f"an allreduce of another kind may be faster, but {bound}{where}")
    return _Proof(best, f"an allreduce of another kind reaches {speed(best.bandwidth)}, {bound}{where}")


def _upgrade(upgrade: Upgrade, now: Fraction) -> list[str]:
    from topodesign.forest.bottleneck import speed  # noqa: PLC0415  heavy

    doubled = f"doubled {_change(upgrade.doubled, now)}"
    if upgrade.limit is None or upgrade.useful_factor is None:
        beyond = "of use at any factor"
    elif upgrade.useful_factor == 1:
        beyond = "of no use alone"
    else:
        beyond = f"of use up to x{float(upgrade.useful_factor):.4g} ({speed(upgrade.limit)})"
    return [upgrade.kind or "links of no class", doubled, beyond]


def _change(now: Fraction, then: Fraction) -> str:
    return f"{float(now / then - 1) * 100:+.1f}%"


def _columns(rows: list[list[str]]) -> list[str]:
    """Align rows: the first column to the left, numbers below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]

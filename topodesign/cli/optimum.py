"""``topodesign optimum``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import click

from topodesign.cli.options import json_option, part_options, print_json, progress_bar

if TYPE_CHECKING:
    from fractions import Fraction

    from topodesign.fabric import Fabric
    from topodesign.rates import BestAllreduce, FabricCollective, Limited, Throughput, Upgrade


_MOST_LINKS = 8
"""Links of a bottleneck that are shown one by one."""


@click.command(name="optimum")
@click.argument("fabric")
@click.option(
    "--collective",
    type=click.Choice(["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"]),
    default="allgather",
    show_default=True,
    help="Whose bottleneck and number of trees to tell.",
)
@click.option("--root", metavar="NODE", help="The node that a broadcast comes from or a reduce goes to.")
@part_options
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Bandwidth of a node over all its links, for a fabric that says none; 100Gbps if unsaid.",
)
@click.option("--fixed-k", type=click.IntRange(1, 10**6), metavar="K", help="With exactly K trees per node.")
@click.option("--scan", type=click.IntRange(1, 1000), metavar="K", help="Compare 1 to K trees per node.")
@click.option(
    "--proof/--no-proof",
    default=True,
    show_default=True,
    help="Whether to ask, for an allreduce of at most 64 nodes, if any beats reduce-scatter and then allgather.",
)
@json_option
def command(
    fabric: str,
    collective: FabricCollective,
    root: str | None,
    only: tuple[str, ...],
    others: Literal["vanish", "forward"],
    without: tuple[str, ...],
    bandwidth: str | None,
    fixed_k: int | None,
    scan: int | None,
    proof: bool,
    as_json: bool,
) -> None:
    """Find the best throughput of collectives on a fabric, and the links that keep it from being higher.

    FABRIC is a fabric file (.yaml, .json, .graphml), links (.csv, .json), or a spec such as 'mi250(2)' or
    'torus(8,8)' (quote it); see 'topodesign fabric --help'.

    Algorithmic bandwidth is the whole data over the time, without latency.
    """
    from topodesign.cli.sources import fabric_of, part_of  # noqa: PLC0415  heavy
    from topodesign.rates import best_allreduce  # noqa: PLC0415

    whole = fabric_of(fabric, bandwidth)
    left = part_of(whole, only, others, without)
    answer = _answer(left, collective, root, fixed_k, scan)
    if proof and collective == "allreduce":
        with progress_bar("looking for a better allreduce"):
            answer = replace(answer, allreduce=best_allreduce(left))
    before = _before(whole, collective, root) if only or without else None
    if as_json:
        print_json(_document(answer, before))
    else:
        click.echo("\n".join(_lines(answer, before)))


@dataclass(frozen=True)
class _Answer:
    fabric: Fabric
    best: Throughput
    trees: int
    others: list[Throughput]
    upgrades: list[Upgrade]
    fixed: Limited | None
    scan: list[Limited]
    allreduce: BestAllreduce | None = None


def _answer(
    fabric: Fabric, collective: FabricCollective, root: str | None, fixed_k: int | None, scan: int | None
) -> _Answer:
    from topodesign.rates import limited, smallest_number_of_trees, throughput, upgrades  # noqa: PLC0415  heavy

    best = throughput(fabric, collective, root=root)
    three: list[FabricCollective] = ["allgather", "reduce-scatter", "allreduce"]
    return _Answer(
        fabric,
        best,
        smallest_number_of_trees(fabric, collective, root=root),
        [throughput(fabric, each) for each in three] if root is None else [best],
        upgrades(fabric, collective, root=root),
        limited(fabric, [fixed_k], collective, root=root)[0] if fixed_k else None,
        limited(fabric, range(1, scan + 1), collective, root=root) if scan else [],
    )


def _before(fabric: Fabric, collective: FabricCollective, root: str | None) -> Throughput | None:
    """Return the throughput of the whole fabric, None if it had none."""
    from topodesign.errors import InfeasibleError  # noqa: PLC0415
    from topodesign.rates import throughput  # noqa: PLC0415

    try:
        return throughput(fabric, collective, root=root)
    except InfeasibleError:
        return None


def _document(answer: _Answer, before: Throughput | None) -> dict[str, Any]:
    from topodesign.report.bottleneck import bottleneck_in_words  # noqa: PLC0415

    fabric, best = answer.fabric, answer.best
    links = best.links(fabric)
    document: dict[str, Any] = {
        "fabric": fabric.name,
        "nodes": len(fabric.compute),
        "switches": len(fabric.topology.switches),
        "links": len(fabric.classes),
        "collective": best.collective,
        "k": answer.trees,
        **_rates(best),
        "proposition_3_k": best.trees,
        "bottleneck_cut": [fabric.names[vertex] for vertex in sorted(best.cut)],
        "bottleneck_links": [
            {"from": link.src, "to": link.dst, "bandwidth": str(link.bandwidth), "class": link.kind} for link in links
        ],
        "bottleneck": bottleneck_in_words(fabric, best),
        "collectives": {other.collective: _rates(other) for other in answer.others},
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
    if answer.allreduce is not None:
        document["best_allreduce"] = {
            "algorithmic_bandwidth": str(answer.allreduce.bandwidth),
            "algorithmic_bandwidth_GBps": float(answer.allreduce.bandwidth / 10**9),
            "bound": str(answer.allreduce.bound),
            "composed_is_best": answer.allreduce.composed_is_best,
        }
    if answer.fixed is not None:
        document["optimum"] = {"k": answer.trees, **_rates(best)}
        document |= {"k": answer.fixed.trees, **_rates(answer.fixed)}
    if answer.scan:
        document["scan"] = [{"k": row.trees, **_rates(row)} for row in answer.scan]
    if before is not None:
        document["before"] = _rates(before)
    return document


def _rates(result: Throughput | Limited) -> dict[str, Any]:
    return {
        "inv_x_star": str(result.inverse_rate),
        "algorithmic_bandwidth": str(result.bandwidth),
        "algorithmic_bandwidth_GBps": float(result.bandwidth / 10**9),
    }


def _lines(answer: _Answer, before: Throughput | None) -> list[str]:
    """Return the answer for people."""
    from topodesign.fabric import format_rate  # noqa: PLC0415
    from topodesign.report.bottleneck import bottleneck_in_words  # noqa: PLC0415

    fabric, best = answer.fabric, answer.best
    switches = len(fabric.topology.switches)
    lines = [f"{fabric.name}: {len(fabric.compute)} nodes, {switches} switch{'' if switches == 1 else 'es'}", ""]
    lines += _columns([_collective(other) for other in answer.others])
    if answer.allreduce is not None:
        lines += ["", _proof(answer.allreduce, fabric)]
    if before is not None:
        lines += ["", f"before: {_speed(before.bandwidth)}; {_change(best.bandwidth, before.bandwidth)} now"]
    trees = "1 tree per root reaches" if answer.trees == 1 else f"{answer.trees} trees per root reach"
    lines += ["", f"bottleneck of {best.collective} ({trees} the optimum)"]
    lines.append(f"  {bottleneck_in_words(fabric, best)}")
    links = best.links(fabric)
    rows = [[f"  {k.src} > {k.dst}", format_rate(k.bandwidth), k.kind] for k in links[:_MOST_LINKS]]
    lines += _columns(rows) + ([f"    and {len(links) - _MOST_LINKS} more"] if len(links) > _MOST_LINKS else [])
    lines += ["", "more bandwidth on all links of a class"]
    lines += _columns([_upgrade(upgrade, best.bandwidth) for upgrade in answer.upgrades])
    given = [*answer.scan, *([answer.fixed] if answer.fixed is not None else [])]
    if given:
        lines += ["", "with a given number of trees per root"]
        lines += _columns(
            [[f"k = {row.trees}", _speed(row.bandwidth), _change(row.bandwidth, best.bandwidth)] for row in given]
        )
    return lines


def _collective(result: Throughput) -> list[str]:
    how = "reduce-scatter, then allgather" if result.collective == "allreduce" else ""
    return [result.collective, _speed(result.bandwidth), how]


def _proof(best: BestAllreduce, fabric: Fabric) -> str:
    capable = fabric.multicast | fabric.aggregation
    how = "linear program for switches that only forward; those here can copy or add" if capable else "linear program"
    if best.composed_is_best:
        return f"no allreduce beats a reduce-scatter followed by an allgather ({how})"
    bound = "the best" if best.bandwidth == best.bound else f"none reaches more than {_speed(best.bound)}"
    return f"an allreduce of another kind reaches {_speed(best.bandwidth)}, {bound} ({how})"


def _upgrade(upgrade: Upgrade, now: Fraction) -> list[str]:
    doubled = f"doubled {_change(upgrade.doubled, now)}"
    if upgrade.limit is None or upgrade.useful_factor is None:
        beyond = "of use at any factor"
    elif upgrade.useful_factor == 1:
        beyond = "of no use alone"
    else:
        beyond = f"of use up to x{float(upgrade.useful_factor):.4g} ({_speed(upgrade.limit)})"
    return [upgrade.kind or "links of no class", doubled, beyond]


def _speed(rate: Fraction) -> str:
    return f"{float(rate / 10**9):.3f} GB/s"


def _change(now: Fraction, then: Fraction) -> str:
    return f"{float(now / then - 1) * 100:+.1f}%"


def _columns(rows: list[list[str]]) -> list[str]:
    """Align rows: the first column to the left, numbers below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]

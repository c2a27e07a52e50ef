"""Schemes whose messages pass through: the replay of their plans has the load of their formulas, as published."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import few
from topodesign import load_plan, run_plan, save_plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError
from topodesign.plans.plan import Plan
from topodesign.plans.time.models import compute_claim
from topodesign.schedulers.baselines.torus_schemes import SCHEMES, Grid, grid_of, reach
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def grid(spec: str) -> Grid:
    found = grid_of(build(spec))
    assert found is not None
    return found


def _added(base: int, term: Callable[[int, int, int, bool], Fraction]) -> Callable[[Sequence[int]], Fraction | None]:
    """Return what gives y on equal sides base^k above two: what all steps add, else None.

    ``term`` is of the number of sides, a step, the same on its side, and whether that is the last there.
    """

    def factor(sides: Sequence[int]) -> Fraction | None:
        count, power = len(sides), round(math.log(sides[0], base))
        if len(set(sides)) > 1 or base**power != sides[0] or sides[0] == 2:
            return None
        return sum((term(count, s, s // count, s // count == power - 1) for s in range(power * count)), Fraction(0))

    return factor


def _bucket(sides: Sequence[int]) -> Fraction | None:
    """Return y on equal sides above two, the least there is."""
    if len(set(sides)) > 1 or sides[0] == 2:
        return None
    nodes = sides[0] ** len(sides)
    return Fraction(nodes - 1, nodes)


FORMULAS: dict[str, Callable[[Sequence[int]], Fraction | None]] = {
    # Step s of the reduce-scatter sends 2^-(s+1) of the part M/2D over |reach| links; plain and mirrored load each link
    # of a side by just that distance. Where the distance is half of the side the two ways count the same.
    "swing": _added(2, lambda _, s, step, __: Fraction(abs(reach(step)), 2 ** (s + 1))),
    # The same pairs on one port: every second node sends.
    "bine": _added(2, lambda count, s, step, _: Fraction(count * (abs(reach(step)) + 1), 2 ** (s + 1))),
    # The middle link of 2^(j+1) nodes carries 2^j messages; the last step of a side goes both ways round, half of each
    # block, which loads a link with half as many.
    "recursive": _added(2, lambda _, s, step, last: Fraction(2 * 2**step, (2 if last else 1) * 2 ** (s + 1))),
    "ternary": _added(3, lambda _, s, step, __: Fraction(2 * 3**step, 3 ** (s + 1))),
    "bucket": _bucket,
}
"""By name, of those that have one; each gives y of an allgather by the sides, or None where it does not hold."""


def congestion(plan: Plan) -> Fraction:
    """Return y over the least that there is."""
    y = plan.claim["bandwidth"]
    assert isinstance(y, Fraction)
    nodes = plan.topology.nodes
    return y * nodes / (nodes - 1)


@pytest.mark.once
@pytest.mark.parametrize("side", [4, 8, 16])
@pytest.mark.parametrize("name", ["swing", "bine", "recursive", "bucket"])
def test_formula_and_replay_agree(name: str, side: int) -> None:
    """4 x 4 to 16 x 16: the same exact y; the replay shares no code with the formula."""
    assert replayed(f"torus({side},{side})", name).claim["bandwidth"] == FORMULAS[name]((side, side))


def replayed(spec: str, name: str) -> Plan:
    """Return an allgather by a scheme, which is right and has the cost that it claims."""
    plan = schedule(spec, "allgather", method=name)
    found = verify(plan)
    assert found.ok, found.problems
    assert dict(found.figures).items() >= plan.claim.items()
    return plan


@pytest.mark.parametrize(
    ("spec", "name", "shown"),
    [
        ("torus(16,16)", "swing", "1.1412"),
        pytest.param("torus(8,8,8)", "swing", "1.0274", marks=pytest.mark.thorough),
        ("torus(4,4,4,4)", "swing", "1.0000"),
        ("torus(9,9)", "ternary", "1.2000"),
        pytest.param("torus(9,9,9)", "ternary", "1.0714", marks=pytest.mark.thorough),
        ("torus(3,3,3,3)", "ternary", "1.0000"),
    ],
)
def test_congestion_by_replay_of_plans(spec: str, name: str, shown: str) -> None:
    plan, sides = replayed(spec, name), grid(spec).sides
    assert plan.claim["bandwidth"] == FORMULAS[name](sides)
    assert f"{float(congestion(plan)):.4f}" == shown
    assert congestion(plan) < limit(name, len(sides))


def limit(name: str, dimensions: int) -> Fraction:
    """Return the congestion that Swing or the ternary scheme tends to on D large sides, as published."""
    small = Fraction(1, (2 if name == "swing" else 3) ** dimensions)
    if name == "ternary":
        return (1 - small) / (1 - 3 * small)
    return (1 - small) / 3 * (2 / (1 - 2 * small) + 1 / (1 + small))


def test_limits_are_what_formulas_tend_to() -> None:
    for name, base, power in (("swing", 2, 24), ("ternary", 3, 16)):
        for dimensions in (2, 3, 4):
            sides = (base**power,) * dimensions
            y = FORMULAS[name](sides)
            assert y is not None
            assert abs(float(y / limit(name, dimensions)) - 1) < 1e-5
    assert [f"{float(limit('swing', d)):.4f}" for d in (2, 3, 4)] == ["1.2000", "1.0370", "1.0084"]
    assert [f"{float(limit('ternary', d)):.3f}" for d in (2, 3, 4)] == ["1.333", "1.083", "1.026"]


def test_81_nodes_on_a_ring_in_four_steps() -> None:
    plan = replayed("circulant(81,1)", "ternary")
    assert plan.claim["steps"] == 4
    assert congestion(plan) == Fraction(2, 3) * 4 * Fraction(81, 80)


def test_swing_on_rings() -> None:
    assert [f"{float(congestion(replayed(f'circulant({n},1)', 'swing'))):.2f}" for n in (8, 64)] == ["1.29", "2.14"]
    assert [abs(reach(step)) for step in range(6)] == [1, 1, 3, 5, 11, 21]


def test_every_even_ring_is_covered_by_swing_and_every_ring_by_the_ternary_scheme() -> None:
    for nodes in range(4, 28):
        spec = f"circulant({nodes},1)"
        if nodes % 2:
            with pytest.raises(InfeasibleError, match="even"):
                SCHEMES["swing"](grid(spec))
        else:
            assert replayed(spec, "swing").claim["steps"] == (nodes - 1).bit_length()
        replayed(spec, "ternary")


PLACES = ("torus(4,4)", "torus(9,3)", "torus(4,6)", "hypercube(3)", "circulant(9,1)", "kautz(2,2)", "mms(5)")


@pytest.mark.parametrize("spec", PLACES)
def test_plans_are_right_everywhere_or_refused_by_a_sentence(spec: str) -> None:
    made = 0
    for name, collective in itertools.product(SCHEMES, ("allgather", "reduce-scatter", "allreduce")):
        try:
            plan = schedule(spec, collective, method=name)
        except InfeasibleError as error:
            assert "requires sides" in str(error) or "pairs even" in str(error)  # noqa: PT017
            continue
        found = verify(plan)
        assert found.ok, (name, collective, found.problems)
        assert compute_claim(plan) == dict(found.figures)
        made += 1
    assert made >= 9


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_bine_trees(collective: str) -> None:
    plan = schedule("torus(4,4)", collective, method="bine", root=3)
    assert verify(plan).ok
    assert plan.claim["steps"] == 4


def test_the_wrong_route_and_the_wrong_load_are_found() -> None:
    plan = schedule("torus(4,4)", "allgather", method="swing")
    moved, routes = plan.flow, plan.flow.routes
    assert routes is not None
    hop = routes.hop.copy()
    hop[1] = hop[0] + 10
    bad = replace(moved, routes=routes._replace(hop=hop))
    assert "goes where there is no link" in verify(type(plan)(plan.place, bad)).problems[0]
    less = type(plan)(plan.place, moved, {**plan.claim, "bandwidth": Fraction(1, 2)})
    assert not verify(less).ok
    late = replace(moved, start=np.zeros_like(moved.start), end=np.ones_like(moved.end))
    assert not verify(type(plan)(plan.place, late)).ok


def test_time_is_the_model(tmp_path: Path) -> None:
    """Steps alpha + hops hop + y M/B; the file keeps the plan."""
    plan = schedule("torus(8,8)", "allreduce", method="swing")
    again = load_plan(save_plan(tmp_path / "p.npz", plan))
    assert again.movement == plan.movement
    run_of = simulate(again, size="1MiB", alpha="1us", hop="200ns", bandwidth="400Gbps")
    claim = {name: Fraction(value) for name, value in plan.claim.items() if isinstance(value, int | Fraction)}
    latency = claim["steps"] * Fraction(1, 10**6) + claim["hops"] * Fraction(2, 10**7)
    assert run_of.time == latency + claim["bandwidth"] * 8 * 2**20 / (400 * 10**9)
    assert run_plan(schedule("torus(4,4)", method="swing"), size="4KiB", iterations=1, warmup=0).right


def test_dimension_order_by_formula_and_replay() -> None:
    """A link of a ring of side a carries N/a times a^2/8 messages, (a^2 - 1)/8 where a is odd."""
    for spec in ("torus(4,4)", "torus(3,5)", "circulant(7,1)", *few(["torus(4,6)", "torus(16,16)"])):
        plan, sides = schedule(spec, "all-to-all", method="dimension-order"), grid(spec).sides
        nodes, degree = math.prod(sides), 2 * len(sides)
        assert verify(plan).ok
        assert plan.claim["bandwidth"] == Fraction(degree * max(a * a // 4 * nodes // a for a in sides), 2 * nodes)
        assert plan.claim["hops"] == sum(a // 2 for a in sides)


def test_what_is_no_torus_goes_over_shortest_paths() -> None:
    assert grid_of(build("kautz(2,2)")) is None
    assert grid_of(build("twistedtorus(3,6)")) is None
    ring = Topology.from_links(6, [(u, (u + by) % 6) for u in range(6) for by in (1, 5)])
    found = grid_of(ring)
    assert found is not None
    assert found.sides == (6,)

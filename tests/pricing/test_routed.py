"""Schemes whose messages pass through: formulas, counted loads and verified plans agree, and published figures hold."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import few
from topodesign import load_plan, routed, run_plan, save_plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.cli.main import run
from topodesign.plans.kinds import kind_of
from topodesign.pricing.routed.grid import Grid, grid_of
from topodesign.pricing.routed.schemes import FORMULAS, SCHEMES, limit, reach
from topodesign.pricing.routed.spread import Counted, Roads, count
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def grid(spec: str) -> Grid:
    found = grid_of(build(spec))
    assert found is not None
    return found


def counted(name: str, spec: str) -> Counted:
    place = grid(spec)
    return count(Roads(place.topology, place), SCHEMES[name](place))


def congestion(one: Counted, nodes: int) -> Fraction:
    return one.bandwidth * nodes / (nodes - 1)


@pytest.mark.once
@pytest.mark.parametrize("side", [4, 8, 16])
@pytest.mark.parametrize("name", ["swing", "bine", "recursive", "bucket"])
def test_formula_count_and_replay_agree(name: str, side: int) -> None:
    """4 x 4 to 16 x 16: three ways to the same exact y; the replay shares no code with the other two."""
    spec = f"torus({side},{side})"
    one = counted(name, spec)
    assert one.complete
    assert FORMULAS[name]((side, side)) == one.bandwidth
    replayed(spec, name, one)


def replayed(spec: str, name: str, one: Counted) -> None:
    """The plan is right, and claims what was counted."""
    plan = schedule(spec, "allgather", method=name)
    found = verify(plan)
    assert found.ok, found.problems
    assert plan.claim == {"steps": one.steps, "hops": one.hops, "bandwidth": one.bandwidth}


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
    one, place = counted(name, spec), grid(spec)
    replayed(spec, name, one)
    assert FORMULAS[name](place.sides) == one.bandwidth
    assert f"{float(congestion(one, place.topology.nodes)):.4f}" == shown


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("torus(64,64)", "1.1846"),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (("torus(16,16,16)", "1.0342"), ("torus(8,8,8,8)", "1.0073"))
        ),
    ],
)
def test_congestion_of_swing_by_counting(spec: str, shown: str) -> None:
    """Counted on 4096 nodes, message by message, as the formula says, and below the limit for large sides."""
    one = counted("swing", spec)
    assert one.complete
    assert f"{float(congestion(one, 4096)):.4f}" == shown
    sides = grid(spec).sides
    assert FORMULAS["swing"](sides) == one.bandwidth
    assert congestion(one, 4096) < limit("swing", len(sides))


def test_limits_are_what_formulas_tend_to() -> None:
    for name, base, power in (("swing", 2, 24), ("ternary", 3, 16)):
        for dimensions in (2, 3, 4):
            sides = (base**power,) * dimensions
            y = FORMULAS[name](sides)
            assert y is not None
            assert abs(float(y / limit(name, dimensions)) - 1) < 1e-5
    assert [f"{float(limit('swing', d)):.4f}" for d in (2, 3, 4)] == ["1.2000", "1.0370", "1.0084"]
    assert [f"{float(limit('ternary', d)):.3f}" for d in (2, 3, 4)] == ["1.333", "1.083", "1.026"]


@pytest.mark.parametrize("spec", ["torus(27,27)", "torus(9,9,9)", "torus(3,3,3,3)", "torus(9,9)"])
def test_congestion_of_the_ternary_scheme_by_counting(spec: str) -> None:
    one, sides = counted("ternary", spec), grid(spec).sides
    assert one.complete
    assert not one.twice
    assert FORMULAS["ternary"](sides) == one.bandwidth
    assert congestion(one, grid(spec).topology.nodes) < limit("ternary", len(sides))


def test_81_nodes_on_a_ring_in_four_steps() -> None:
    plan = schedule("circulant(81,1)", "allgather", method="ternary")
    assert verify(plan).ok
    assert plan.claim["steps"] == 4
    one = counted("ternary", "circulant(81,1)")
    assert one.whole == 2 * (1 + 3 + 9 + 27)  # 3^k messages of the whole vector on each link at step k
    bound = Fraction(2, 3) * 4 * Fraction(81, 80)
    assert congestion(one, 81) == bound == Fraction(27, 10)


def test_swing_on_rings_as_counted() -> None:
    assert [f"{float(congestion(counted('swing', f'circulant({n},1)'), n)):.2f}" for n in (8, 64)] == ["1.29", "2.14"]
    assert [abs(reach(step)) for step in range(6)] == [1, 1, 3, 5, 11, 21]


def test_every_even_ring_is_covered_by_swing_and_every_ring_by_the_ternary_scheme() -> None:
    for nodes in range(4, 60):
        ring = grid(f"circulant({nodes},1)")
        if nodes % 2:
            with pytest.raises(InfeasibleError, match="even"):
                SCHEMES["swing"](ring)
        else:
            one = count(Roads(ring.topology, ring), SCHEMES["swing"](ring))
            assert one.complete
            assert one.steps == (nodes - 1).bit_length()
            assert (one.twice == 0) == (nodes & (nodes - 1) == 0)
        one = count(Roads(ring.topology, ring), SCHEMES["ternary"](ring))
        assert one.complete
        assert (one.twice == 0) == (nodes in {9, 27})


PLACES = ("torus(4,4)", "torus(9,3)", "torus(4,6)", "hypercube(3)", "circulant(9,1)", "kautz(2,2)", "mms(5)")


@pytest.mark.parametrize("spec", PLACES)
def test_plans_are_right_everywhere_or_refused_by_a_sentence(spec: str) -> None:
    made = 0
    for name, collective in itertools.product(SCHEMES, ("allgather", "reduce-scatter", "allreduce")):
        try:
            plan = schedule(spec, collective, method=name)
        except InfeasibleError as error:
            assert "needs sides" in str(error) or "pairs even" in str(error)  # noqa: PT017
            continue
        found = verify(plan)
        assert found.ok, (name, collective, found.problems)
        assert dict(kind_of(plan).measures()) == dict(found.figures)
        made += 1
    assert made >= 9


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_bine_trees(collective: str) -> None:
    plan = schedule("torus(4,4)", collective, method="bine", root=3)
    assert verify(plan).ok
    assert plan.claim["steps"] == 4


def test_the_wrong_route_and_the_wrong_load_are_found() -> None:
    plan = schedule("torus(4,4)", "allgather", method="swing")
    moved = plan.movement
    hop = moved.columns()["hop"].copy()
    hop[1] = hop[0] + 10
    bad = moved.having(hop=hop)
    assert "goes where there is no link" in verify(type(plan)(plan.place, bad)).problems[0]
    less = type(plan)(plan.place, moved, {**plan.claim, "bandwidth": Fraction(1, 2)})
    assert not verify(less).ok
    late = moved.having(step=np.ones_like(moved.columns()["step"]))
    assert not verify(type(plan)(plan.place, late)).ok


def test_time_is_the_model(tmp_path: Path) -> None:
    """Steps alpha + hops hop + y M/B, by the simulator and by the comparison; the file keeps the plan."""
    plan = schedule("torus(8,8)", "allreduce", method="swing")
    again = load_plan(save_plan(tmp_path / "p.npz", plan))
    assert again.movement == plan.movement
    run_of = simulate(again, size="1MiB", alpha="1us", hop="200ns", bandwidth="400Gbps")
    answer = routed("torus(8,8)", alpha="1us", hop="200ns", sizes="1MiB", bandwidth="400Gbps")
    way = next(one for one in answer.timed if one.way.name == "swing")
    assert run_of.time == way.times[0]
    assert run_plan(schedule("torus(4,4)", method="swing"), size="4KiB", iterations=1, warmup=0).right


def test_dimension_order_by_formula_count_and_replay() -> None:
    """A link of a ring of side a carries N/a times a^2/8 messages, (a^2 - 1)/8 where a is odd."""
    for spec in ("torus(4,4)", "torus(3,5)", "circulant(7,1)", *few(["torus(4,6)", "torus(16,16)"])):
        one = routed(spec, "all-to-all").ways[0]
        assert one.formula == one.bandwidth
        plan = schedule(spec, "all-to-all", method="dimension-order")
        assert verify(plan).ok
        assert plan.claim["bandwidth"] == one.bandwidth
        assert plan.claim["hops"] == one.hops


def test_what_is_no_torus_goes_over_shortest_paths() -> None:
    assert grid_of(build("kautz(2,2)")) is None
    assert grid_of(build("twistedtorus(3,6)")) is None
    ring = Topology.from_links(6, [(u, (u + by) % 6) for u in range(6) for by in (1, 5)])
    found = grid_of(ring)
    assert found is not None
    assert found.sides == (6,)
    with pytest.raises(TopodesignError):
        routed("dgx_a100(1)")


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["routed", "torus(4,4)", "--size", "1KiB", "--size", "1GiB"]) == 0
    shown = capsys.readouterr().out
    assert "swing" in shown
    assert "lower bound" in shown

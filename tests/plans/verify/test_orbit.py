"""The verifier of orbits against that of the schedules they unfold to: same verdict, same cost, whatever is damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.folds import fold, refolded
from tests.samples.schedules import COLUMNS, with_columns
from tests.samples.verdicts import verify_rounds
from topodesign.base.errors import ScheduleError, TooLargeError, TopologyError
from topodesign.collectives import ALL_TO_ALL
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import unfold, unfold_steps
from topodesign.pricing.closed_form import price
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

SPECS = (
    "circulant(12,2,3)",
    "torus(3,4)",
    "complete(2)",
    "complete(5)",
    "hypercube(3)",
    "line(circulant(5,1,2))",
    "cyclemesh(3,4)",
)
COLLECTIVES = ("allgather", "reduce-scatter", "allreduce")


def generators_of(orbit: Flow) -> np.ndarray:
    assert orbit.fold is not None
    return np.array(orbit.fold.generators)


def own_rounds(orbit: Flow) -> Flow:
    """Return the rows that a folded flow has."""
    return unfold_steps(replace(orbit, fold=None))


def with_own(orbit: Flow, rounds: Flow) -> Flow:
    """Return a folded flow with other rows."""
    return rounds.having(place=orbit.place, fold=orbit.fold)


def more_generators(orbit: Flow, random: np.random.Generator) -> Flow:
    """With a product of two generators besides, which leaves the group as it is and leads to nodes on other ways."""
    generators = generators_of(orbit)
    one, other = random.integers(len(generators), size=2)
    product = generators[one][generators[other]]
    return refolded(orbit, np.concatenate((product[None, :], generators)))


def alike(topology: Topology, orbit: Flow) -> bool:
    """Whether both verifiers say the same; returns what they say."""
    whole, one = verify_rounds(topology, unfold(orbit)), verify_rounds(topology, orbit)
    assert one.ok == whole.ok, (str(one), str(whole))
    assert one.cost == whole.cost
    assert verify_rounds(topology, orbit, whole.cost).ok == whole.ok
    assert not verify_rounds(topology, orbit, replace(whole.cost, steps=whole.cost.steps + 1)).ok
    return one.ok


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("spec", SPECS)
def test_right_orbits_are_right(spec: str, collective: str) -> None:
    topology = build(spec)
    orbit = spff_orbit(topology, collective)
    assert alike(topology, orbit)
    assert alike(topology, more_generators(orbit, np.random.default_rng(1)))


def damaged(orbit: Flow, random: np.random.Generator) -> Flow:
    """With one entry changed, or a row less or twice."""
    rounds, row = own_rounds(orbit), int(random.integers(len(orbit)))
    name = str(random.choice([*COLUMNS, "drop", "twice"]))
    if name == "drop":
        return with_own(orbit, rounds.some(np.delete(np.arange(len(rounds)), row)))
    if name == "twice":
        return with_own(orbit, rounds.some(np.append(np.arange(len(rounds)), row)))
    column = getattr(rounds, name).copy()
    top = {"step": rounds.steps + 1, "lo": rounds.units, "hi": rounds.units + 1}.get(name, rounds.nodes)
    column[row] = random.integers(top)
    return with_own(orbit, with_columns(rounds, **{name: column}))


@pytest.mark.parametrize("collective", COLLECTIVES)
@settings(max_examples=60)
@given(st.sampled_from(SPECS), st.integers(0, 2**32))
@pytest.mark.floor(wrong=16, right=1)
def test_damage_is_found_as_in_the_whole(collective: str, spec: str, seed: int) -> None:
    topology, random = build(spec), np.random.default_rng(seed)
    orbit = spff_orbit(topology, collective)
    try:
        orbit = damaged(orbit, random)
    except ScheduleError:  # not even the form is right
        return
    reached("right" if alike(topology, orbit) else "wrong")


def stabilised() -> tuple[Topology, Flow]:
    """A ring both ways with all of its symmetries, of which reflections leave nodes where they are."""
    topology = build("circulant(8,1,7)")
    turn, flip = (np.arange(8) + 1) % 8, -np.arange(8) % 8
    orbit = spff_orbit(topology, "allgather")
    return topology, refolded(orbit, np.array([flip, turn], dtype=np.int32))


def test_groups_that_leave_nodes_where_they_are() -> None:
    """Then the images depend on which permutation takes the representative there; one schedule is meant."""
    topology, orbit = stabilised()
    assert orbit.fold is not None
    assert not orbit.fold.is_free
    assert alike(topology, orbit)
    for seed in range(30):
        try:
            alike(topology, damaged(orbit, np.random.default_rng(seed)))
        except ScheduleError:
            continue


def test_a_symmetry_of_another_topology_is_refused() -> None:
    topology = build("circulant(12,2,3)")
    orbit = spff_orbit(topology, "allgather")
    other = build("circulant(12,2,3)")
    other = Topology.from_links(12, [*other.links(), (0, 1)])
    assert "the symmetry is none of the topology" in str(verify_rounds(other, orbit))
    swapped = generators_of(orbit)
    swapped[0, [0, 5]] = swapped[0, [5, 0]]
    assert "the symmetry is none" in str(verify_rounds(topology, refolded(orbit, swapped)))
    assert "the image of no" in str(verify_rounds(topology, refolded(orbit, generators_of(orbit)[:0])))
    with pytest.raises(ScheduleError, match="another topology"):
        verify_rounds(build("circulant(13,2,3)"), orbit)


def test_loads_that_do_not_fit_are_refused_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build("circulant(12,2,3)")
    orbit = spff_orbit(topology, "allgather")
    loads = orbit.steps * len(topology.src)
    monkeypatch.setattr("topodesign.plans.verify.links.MAX_LOADS", loads)
    assert verify_rounds(topology, orbit).ok
    monkeypatch.setattr("topodesign.plans.verify.links.MAX_LOADS", loads - 1)
    with pytest.raises(TooLargeError, match="too many to hold"):
        verify_rounds(topology, orbit)
    most = (2**63 - 1) // (len(orbit) * orbit.nodes)
    with pytest.raises(TooLargeError, match="too many for"):
        verify_rounds(topology, replace(orbit, units=most + 1))
    monkeypatch.undo()
    assert not verify_rounds(topology, replace(orbit, units=most)).ok


def test_all_to_all_is_folded_by_its_sources() -> None:
    """On a complete graph every block goes straight to its destination."""
    topology = build("complete(6)")
    assert topology.symmetry is not None
    s, t = np.nonzero(~np.eye(6, dtype=np.bool_))
    rounds = build_steps(ALL_TO_ALL, 6, 1, 1, [(1, s, t, 6 * s + t, 0, 1)])
    orbit = fold(topology, rounds, topology.symmetry)
    assert orbit is not None
    assert len(orbit) == 5
    assert unfold_steps(orbit) == rounds
    assert alike(topology, orbit)
    assert not alike(topology, with_own(orbit, own_rounds(orbit).some(np.arange(4))))


def test_no_orbit_without_a_symmetry() -> None:
    with pytest.raises(TopologyError, match="symmetry"):
        spff_orbit(Topology.from_links(3, [(0, 1), (1, 2), (2, 0)]))


def test_thousands_of_nodes_are_checked_by_one() -> None:
    """Unfolded it would have 17 million rows."""
    topology = build("circulant(4096,1,7,57,399)")
    orbit = spff_orbit(topology, "allgather")
    report = verify_rounds(topology, orbit, price(topology))
    assert report.ok, str(report)
    assert len(orbit) < 2 * topology.nodes

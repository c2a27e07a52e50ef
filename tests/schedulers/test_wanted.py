"""What auto does with traffic, latencies and bandwidths that its first method does not know: another one that does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from topodesign import schedule, simulate, verify
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError
from topodesign.fabrics.places import as_fabric


def test_uneven_all_to_all_on_a_topology_is_for_fluid() -> None:
    plan = schedule("torus(2,4)", "all-to-all", shards="zipf:1.2")
    assert plan.notes[-1] == "by --algorithm fluid, which takes shards of unequal size"


def test_uneven_allgather_on_a_topology_is_as_fast_as_its_dearest_cut() -> None:
    """Everything but its own shard goes into a node, over all its links; the smallest shard leaves most for them."""
    shards = np.array([2, 1, 1, 1, 1, 1, 1, 2])
    plan = schedule("torus(2,4)", "allgather", shards=",".join(map(str, shards)))
    assert verify(plan).ok
    fabric = as_fabric("torus(2,4)")
    rate = fabric.topology.degree * fabric.unit
    assert plan.claim["algorithmic_bandwidth"] == rate * Fraction(int(shards.sum()), int(shards.sum() - shards.min()))


def test_late_nodes_delay_an_allreduce_by_no_more_than_they_are_late() -> None:
    late = schedule("torus(2,4)", "allreduce", ready="0=20us")
    soon = schedule("torus(2,4)", "allreduce", method="tacos")
    assert verify(late).ok
    assert late.notes[-1] == "by --algorithm tacos, which takes nodes that start late"
    assert soon.claim["time"] <= late.claim["time"] <= soon.claim["time"] + Fraction(20, 10**6)
    with pytest.raises(ParameterError, match="--set ready= is for sends; use --algorithm tacos"):
        schedule("torus(2,4)", "allreduce", method="spff", ready="0=20us")


@pytest.mark.dear("2us-None-allreduce")
@pytest.mark.parametrize("collective", ["allreduce", "allgather", "all-to-all"])
@pytest.mark.parametrize(("alpha", "bandwidth"), [("2us", None), (None, "400Gbps"), ("100ns", "400Gbps")])
def test_plans_for_a_size_are_timed_with_the_latency_and_bandwidth_that_are_said(
    collective: str, alpha: str | None, bandwidth: str | None
) -> None:
    said = {name: value for name, value in (("alpha", alpha), ("bandwidth", bandwidth)) if value is not None}
    plan = schedule("torus(2,4)", collective, size="64KiB", **said)  # type: ignore[arg-type]
    fewest = schedule("torus(2,4)", collective)
    cost = Cost(int(fewest.claim["steps"]), fewest.claim["bandwidth"])
    seconds = Fraction(2, 10**6) if alpha == "2us" else Fraction(1, 10**7) if alpha else Fraction(1, 10**5)
    known = cost.runtime(seconds, Fraction(2**16), Fraction(400 if bandwidth else 100) * 10**9)
    time = simulate(plan, size="64KiB", **said).time  # type: ignore[arg-type]
    assert verify(plan).ok
    assert time <= known
    assert plan.notes[-1].startswith("for 64KiB, alpha ")


@pytest.mark.dear
def test_the_bandwidth_decides_which_plan_is_made() -> None:
    """Six steps of 10us take 60us however fast links are; all at once it is half as many, with more data."""
    slow = schedule("torus(2,4)", "allreduce", size="64KiB", bandwidth="100Gbps")
    fast = schedule("torus(2,4)", "allreduce", size="64KiB", bandwidth="4Tbps")
    assert [one.generator["method"] for one in (slow, fast)] == ["spff", "one-shot"]
    time = simulate(fast, size="64KiB", bandwidth="4Tbps").time
    assert Fraction(30, 10**6) < time < Fraction(60, 10**6) < simulate(slow, size="64KiB", bandwidth="4Tbps").time


@pytest.mark.parametrize(
    "options",
    [
        {"without": "0-1", "method": "spff"},
        {"without": "0>1", "method": "ring"},
        {"without": "0-1", "group": ["0,1,2,3", "4,5,6,7"]},
    ],
)
def test_rounds_and_groups_do_without_failed_links_whose_rest_is_as_fast(options: dict[str, Any]) -> None:
    plan = schedule("torus(2,4)", "allgather", **options)
    assert verify(plan).ok
    assert (0, 1) not in {(u, v) for u, v, _ in plan.topology.links()}
    whole = {(link.src, link.dst): link.bandwidth for link in as_fabric("torus(2,4)").links()}
    assert all(link.bandwidth == whole[link.src, link.dst] for link in plan.fabric.links())


def test_nodes_that_failed_are_refused_by_rounds_alone() -> None:
    with pytest.raises(ParameterError, match="cannot do without a node"):
        schedule("torus(2,4)", "allgather", method="spff", without="7")


def test_switches_are_replaced_for_rounds_too() -> None:
    plan = schedule("dgx_a100(1)", "allgather", method="spff", unwind="ring")
    assert verify(plan).ok
    assert not plan.topology.switches

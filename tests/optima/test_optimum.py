"""The optimum of a fabric from Python: what the command prints, computed as it is asked for."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from topodesign.base.errors import TopodesignError
from topodesign.cli.main import run
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.presets import build_fabric
from topodesign.optima import optimum as module
from topodesign.optima import trees
from topodesign.optima.optimum import optimum
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule


def test_the_command_prints_the_record_and_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    asked: dict[str, Any] = {"scan": 2, "fixed_k": 3, "sizes": ["1MiB", 10**8], "without": "box0/gpu3"}
    result = optimum("dgx_a100(2)", "allreduce", compare=True, **asked)
    args = [
        "evaluate",
        "dgx_a100(2)",
        "--collective",
        "allreduce",
        "--set",
        "pareto=yes",
        "--set",
        "max-trees=2",
        "--set",
        "trees=3",
    ]
    args += ["--size", "1MiB", "--size", "100MB", "--fail", "box0/gpu3"]
    assert run([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "topodesign/evaluate/1"} | result.record()
    assert run(args) == 0
    assert capsys.readouterr().out == f"{result}\n"
    assert result.before is not None
    assert result.before.bandwidth == optimum(build_fabric("dgx_a100(2)"), "allreduce").bandwidth
    assert [row["collective"] for row in result.to_records()] == ["allgather", "reduce-scatter", "allreduce"]


def test_what_is_dear_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def dear(*_: object, **__: object) -> None:
        pytest.fail("nobody asked for it")

    for name in ("best_allreduce", "limit_trees", "trade_off_trees"):
        monkeypatch.setattr(module, name, dear)
    for name in ("smallest_number_of_trees", "sensitivity"):
        monkeypatch.setattr(trees, name, dear)
    result = optimum(build_fabric("mi250(1)"), "allreduce", scan=3, compare=True)
    assert repr(result) == "<Optimum: allreduce on mi250(1): 171.429GB/s>"


@pytest.mark.parametrize(("spec", "rate"), [("dgx_h100(1)", 450), ("dgx_h100(2)", 400), ("dgx_a100(1)", None)])
def test_proofs_say_what_they_cover(spec: str, rate: int | None) -> None:
    """Trees of nodes alone are no answer where switches add and copy."""
    record = optimum(spec, "allreduce").record()
    best = record["best_allreduce"]
    assert best["proven"]
    assert best["in_network"] == (rate is not None)
    for part in (record, best):
        assert ("switches that only forward" in part["proof_covers"]) == (rate is None)
    assert record["proven"] == best["composed_is_best"] == (rate is None)
    if rate is not None:
        assert Fraction(record["algorithmic_bandwidth"]) < rate * GB == Fraction(best["algorithmic_bandwidth"])
        assert "--algorithm in-network" in best["in_words"]
        assert not optimum(spec, collective="allreduce", proof=False).proven
        assert not optimum(spec, collective="allreduce", shards="box0/gpu0=2").proven
    for other in ("allgather", "reduce-scatter"):
        assert optimum(spec, collective=other).proven  # a cut is in the way of all


def test_what_only_copies_reach_is_not_proven_to_be_out_of_reach() -> None:
    """Links into the switch are dead but one: without copies the nodes share it, with them each gets all of it."""
    names = ["a", "b", "c"]
    links = [FabricLink(*ends, Fraction(GB)) for name in names for ends in ((name, "s"), ("s", name))]
    whole = Fabric.from_links("star", names, ["s"], links, multicast=["s"])
    assert optimum(whole).proven
    part: dict[str, Any] = {"root": "a", "without": ["b>s", "c>s"]}
    left = optimum(whole, collective="broadcast", **part)
    assert left.bandwidth == Fraction(GB, 2)
    assert left.bound == GB
    assert not left.proven
    assert str(left.claims[0]) in str(left)
    plan = schedule(whole, "broadcast", method="in-network", **part)
    assert verify(plan).ok
    assert plan.claim["algorithmic_bandwidth"] == GB


@pytest.mark.parametrize("spec", ["mesh(4,4)", "dgx_h100(2)", "torus(4,4)"])
@pytest.mark.parametrize("options", [{}, {"proof": False}, {"shards": "0=2"}])
def test_no_allreduce_exceeds_the_bound_of_one(spec: str, options: dict[str, Any]) -> None:
    """Neither with nor without a proof, since what is printed is that of one after the other."""
    if "shards" in options and spec == "dgx_h100(2)":
        options = {"shards": "box0/gpu0=2"}
    found = optimum(spec, "allreduce", **options)
    best = optimum(spec, "allreduce", method="fluid")
    assert found.bandwidth <= best.bandwidth <= found.bound
    record = found.record()
    assert record["proven"] == (found.bandwidth == found.bound)
    assert record["bound"] == record["claims"][0]["bound"] == str(found.bound)
    assert record["proof_covers"] == record["claims"][0]["among"]


def test_numbers_and_values_as_arguments() -> None:
    assert optimum("torus(4,4)", bandwidth=10**11) == optimum("torus(4,4)", bandwidth="100Gbps")
    named, numbered = (optimum("dgx_a100(1)", "reduce", root=root) for root in ("box0/gpu5", 5))
    assert named == numbered
    assert optimum("dgx_a100(1)", shards={"box0/gpu1": 2}).shards == optimum("dgx_a100(1)", shards="box0/gpu1=2").shards
    for wrong in ({"root": 99}, {"scan": -1}, {"fixed_k": 0}, {"sizes": "much"}, {"collective": "allgathr"}):
        with pytest.raises(TopodesignError):
            optimum("dgx_a100(1)", **wrong)


@pytest.mark.parametrize("method", ["auto", "fluid"])
@pytest.mark.parametrize("spec", ["dgx_h100(1)", "torus(3,3)", "genkautz(2,7)"])
@pytest.mark.parametrize("collective", ["allgather", "allreduce", "reduce", "all-to-all", "gather"])
def test_a_plan_reaches_the_rate_and_an_upgrade_is_what_the_wider_fabric_has(
    spec: str, collective: str, method: str
) -> None:
    """One value for every collective and algorithm: the same questions have answers."""
    best = optimum(spec, collective, root=0 if collective in {"reduce", "gather"} else None, method=method)
    plan = best.plan()
    assert verify(plan).ok
    assert best.bandwidth <= plan.claim["algorithmic_bandwidth"] <= best.bound
    assert best.bottleneck_links
    (upgrade,) = best.upgrades  # one class: all links are twice as fast
    assert upgrade.doubled == 2 * best.bandwidth
    assert upgrade.gain == 1
    record = best.record()
    assert Fraction(record["algorithmic_bandwidth"]) == best.bandwidth
    assert record["plan_method"] == best.solution.plan_method

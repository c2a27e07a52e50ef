"""Boxes as what is wired: prices by the rates of cuts and flows, rails beside them, plans that the flows bound."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign import (
    Decision,
    as_topology,
    build_fabric,
    design,
    load_plan,
    optimum,
    pareto_boxes,
    price_step,
    verify,
)
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.fabrics.boxes import join
from topodesign.pricing.mix import Mix, Share
from topodesign.report.design.growth import bound_of
from topodesign.report.design.reading import read_request

STEP = {
    "collectives": [
        {"collective": "all-to-all", "size": "8MiB", "count": 3},
        {"collective": "allreduce", "size": "64MiB", "count": 2},
        {"collective": "allgather", "size": "16MiB", "count": 5},
    ]
}
FIELDS: dict[str, Any] = {
    "boxes": 8,
    "box": "dgx_h100",
    "workload": STEP,
    "rivals": ["rails", "torus", "fattree"],
    "prices": {"cable": 100, "port": 500, "switch": 20000, "switch-port": 300},
    "optimise": "both",
    "grow": [10],
}
NIC = 50 * 10**9


@pytest.fixture(scope="module")
def found() -> Decision:
    return design(**FIELDS)


def test_what_a_step_takes_is_recomputed_from_rates(found: Decision) -> None:
    """The rates of the paper's cuts, and the latency of the farthest two GPUs, both worked out here."""
    assert found.request.nodes == 8
    assert found.request.degree == 8
    for one in found.contenders:
        if one.kind != "boxes" or one.refused is not None:
            continue
        graph = as_topology(one.place)
        assert one.fabric is not None
        gather = optimum(one.fabric).bandwidth
        ports = int(graph.degree)
        assert gather <= NIC * ports * Fraction(8, 7)
        diameter = max(map(max, _distances(graph)))
        times = {part.share.collective: part.seconds for part in one.parts}
        waits = {part.share.collective: part.latency for part in one.parts}
        cable, inside = Fraction(5, 10**6), 2 * Fraction(3, 10**7)
        assert diameter * cable <= waits["allgather"] <= diameter * cable + (diameter + 1) * inside
        assert waits["allreduce"] == 2 * waits["all-to-all"] == 2 * waits["allgather"]
        assert times["allgather"] - waits["allgather"] == 2**24 / gather
        assert times["allreduce"] - waits["allreduce"] == 2 * 2**26 / gather
        mean = sum(map(sum, _distances(graph)))
        least = Fraction(mean, 8) * 8 * 2**23 / 8 / (NIC * ports)  # bytes of a box over the boxes' links
        assert times["all-to-all"] - waits["all-to-all"] >= least


def _distances(graph: Any) -> list[list[int]]:
    near: dict[int, set[int]] = {}
    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        near.setdefault(u, set()).add(v)
    rows = []
    for start in range(graph.nodes):
        far, ring, steps = {start: 0}, {start}, 0
        while ring:
            steps += 1
            ring = {v for u in ring for v in near[u]} - far.keys()
            far |= dict.fromkeys(ring, steps)
        rows.append([far[node] for node in range(graph.nodes)])
    return rows


@pytest.mark.dear
def test_the_first_is_that_of_pareto(found: Decision) -> None:
    quick = design(**{name: FIELDS[name] for name in ("boxes", "box", "workload")})
    best = pareto_boxes("dgx_h100", 8).best
    assert quick.recommendation.spec == best.fabric.name
    assert quick.recommendation.fabric is not None
    assert build_fabric(best.fabric.name) == quick.recommendation.fabric
    assert quick.recommendation.time <= found.recommendation.time


def test_rails_are_bought_and_torus_is_wired(found: Decision) -> None:
    offers = {one.name: one for one in found.contenders}
    assert "switches" in (offers["rails"].refused or "")
    assert (offers["rails"].counts.cables, offers["rails"].counts.switches) == (64, 8)
    assert offers["rails"].counts.switch_ports == 64
    assert "rails" in dict(found.missing)["fattree"]
    torus = offers["torus"]
    assert torus.spec == f"boxes(dgx_h100,{torus.place.spec})"  # type: ignore[union-attr]
    assert torus.refused is None


@pytest.mark.dear
def test_plans_take_the_time_that_pareto_says() -> None:
    step = {"collectives": [{"collective": "all-to-all", "size": "1MiB"}]}
    (part,) = design(boxes=3, box="dgx_h100", workload=step).recommendation.parts
    best = pareto_boxes("dgx_h100", 3, sizes="1MiB").best
    assert part.planned == best.time("all-to-all", "1MiB")


@pytest.mark.dear
def test_plans_are_verified_and_no_faster_than_flows(found: Decision) -> None:
    planned = [part for part in found.recommendation.parts if part.planned is not None]
    assert {"allreduce", "allgather"} <= {part.share.collective for part in planned}
    for part in planned:
        assert part.plan is not None
        assert verify(part.plan).ok
        assert part.planned is not None
        assert part.planned >= part.seconds - part.latency
        assert part.planned_words in " ".join(str(found).split())


def test_bounds_are_below_and_claims_say_so(found: Decision) -> None:
    bound = bound_of(found.request.graph_mix, found.request)
    assert all(bound <= one.time for one in found.contenders if one.refused is None)
    assert all(one.least <= one.seconds for one in found.limits)
    alone = Mix("a", (Share("allgather", Fraction(2**24)),))
    assert bound_of(alone, found.request) >= Fraction(7, 8) * 2**24 / (8 * NIC)


def test_failures_and_growth_are_of_boxes(found: Decision) -> None:
    one, two = found.failures
    assert one.seconds is not None
    assert two.seconds is not None
    assert found.recommendation.time < one.seconds <= two.seconds
    (stage,) = found.growth
    assert stage.topology.nodes == 10
    assert stage.at_least <= stage.moves


MODEL = {"layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 32000, "sequence": 1024, "batch": 64, "flops": "100T"}


@pytest.mark.dear
def test_a_model_is_trained_on_boxes() -> None:
    """Contenders take what `step` says of their fabrics, and a cable less is never less."""
    found = design(boxes=4, box="dgx_h100", model=MODEL | {"tensor": 8, "data": 4}, rivals=["rails", "torus"])
    best = found.recommendation
    for one in found.contenders:
        assert one.fabric is not None
        step = price_step(MODEL | {"tensor": 8, "data": 4}, one.fabric, alpha="5us")
        assert one.step is not None
        assert one.time == step.seconds
        assert one.refused is not None or one.time >= best.time
    assert all(one.seconds is not None and one.seconds >= best.time for one in found.failures)
    with pytest.raises(ParameterError, match=r"it has 4 ranks .* and there are 32 accelerators in 4 boxes"):
        design(boxes=4, box="dgx_h100", model=MODEL | {"data": 4})


@pytest.mark.dear
def test_failures_of_narrow_boxes_know_the_nic() -> None:
    """What is left after a failure is the fabric without that cable, both ends of it, whose flow is worked out anew."""
    step = {"collectives": [{"collective": "all-to-all", "size": "16MiB"}, {"collective": "allgather", "size": "1MiB"}]}
    found = design(boxes=4, box="pcie_pair", workload=step, cabling="duplex")
    best, (one, two) = found.recommendation, found.failures
    boxed = best.boxed
    assert boxed is not None
    assert one.seconds is not None
    assert two.seconds is not None
    ends = boxed.wiring
    cables = list(zip(ends.box, ends.nic, ends.to, ends.at, strict=True))
    times: list[Fraction] = []
    for place, (a, i, b, j) in enumerate(cables):
        if a < b:
            gone = {place, cables.index((b, j, a, i))}
            fabric = join(boxed.box, boxed.graph, boxed.split, boxed.shift, boxed.swaps, without=gone)
            exchange = optimum(fabric, "all-to-all")
            times.append(2**24 / exchange.bandwidth + 2**20 / optimum(fabric).bandwidth)
    waits = sum(part.latency for part in best.parts)
    assert one.looked_at == len(times) == best.counts.cables
    inside = Fraction(2, 10**6)  # further to another NIC, at most
    assert any(time <= one.seconds - waits <= time + inside for time in sorted(times)[-len(times) // 4 :])
    assert best.time < one.seconds < two.seconds


@pytest.mark.dear
def test_files_go_to_the_bench(tmp_path: Path) -> None:
    step = {"collectives": [{"collective": "allgather", "size": "1MiB"}]}
    asked = tmp_path / "asked.yaml"
    asked.write_text(f"boxes: 4\nbox: dgx_h100\nrivals: [rails]\nworkload: {json.dumps(step)}\n")
    assert run(["design", str(asked), "-o", str(tmp_path / "all")]) == 0
    plan = load_plan(tmp_path / "all" / "1-allgather.npz")
    assert verify(plan).ok
    document = json.loads((tmp_path / "all" / "decision.json").read_text())
    assert document["recommendation"]["parts"][0]["planned_s"] == float(plan.claim["time"])
    assert document["request"]["box"] == "dgx_h100"
    assert (tmp_path / "all" / "wiring.json").is_file()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("bandwidth", "400Gbps", "bandwidth: boxes have bandwidths and latencies of their own"),
        ("alpha", "4us", "alpha: boxes have bandwidths"),
        ("degree", 9, "degree: a box dgx_h100 has 8 ports; ask for as many or fewer"),
        ("box", "dgx_h1000", "unknown box 'dgx_h1000'"),
        ("rivals", ["rail"], "rivals: 'rail' is not a name, spec or file; did you mean 'rails'"),
    ],
)
def test_what_contradicts_boxes_is_refused(field: str, value: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        design(**(FIELDS | {field: value}))
    assert "\n" not in str(caught.value)


def test_init_writes_requests_of_boxes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, path = tmp_path / "w.yaml", tmp_path / "r.yaml"
    work.write_text(json.dumps(STEP))
    words = ["design", "--init", "--boxes", "4", "--box", "dgx_h100", "--workload", str(work), "--prices"]
    assert run([*words, "cable=40,port=3", "--rival", "rails", "-o", str(path)]) == 0
    found = read_request(path)
    assert (found.nodes, found.degree, found.rivals) == (4, 8, ("rails",))
    assert found.prices == {"cable": 40, "port": 3}
    assert run([*words, "cable"]) == 2
    assert "'cable' is invalid; expected cable=40" in capsys.readouterr().err

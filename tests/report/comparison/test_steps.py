"""Training steps side by side: the same as each alone, names of all kinds, and clear errors."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import topodesign
from tests.conftest import few
from tests.samples.ranked import rank
from tests.schedulers.test_step import MODEL
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.shipped import copy_examples
from topodesign.base.units import as_size
from topodesign.cli.main import run
from topodesign.pricing.mix import Mix, Share
from topodesign.report.comparison.compare import compare
from topodesign.report.comparison.steps import compare_steps
from topodesign.report.design.design import design
from topodesign.schedulers.step import price_step


def test_each_is_what_it_is_alone() -> None:
    found = compare_steps(MODEL, ["torus(2,4)", "fattree", "slimfly"], degree=4, bandwidth="200Gbps")
    assert [one.name for one in found.contenders] == ["torus(2,4)", "fattree"]
    assert [one.name for one in found.missing] == ["slimfly"]
    assert found.contenders[0].time.seconds == price_step(MODEL, "torus(2,4)", bandwidth="200Gbps", layouts=4).seconds
    tree = found.contenders[1].time.place
    assert max(int(tree.topology.out_ports[node]) for node in tree.compute) * tree.unit == 25 * 10**9
    assert found.best().time.seconds == min(one.time.seconds for one in found.contenders)


def test_the_command_says_what_python_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [path] = copy_examples(["model_mixtral.yaml"], tmp_path)
    asked = ["training", str(path), "--on", "torus(2,4)", "--set", "data=8,batch=8", "--bandwidth", "400Gbps"]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = compare_steps(path, ["torus(2,4)"], changes={"data": 8, "batch": 8}, bandwidth="400Gbps")
    assert told["contenders"][0]["seconds_exact"] == str(found.contenders[0].time.seconds)
    assert run(asked) == 0
    assert "all-to-all" in capsys.readouterr().out


def test_compare_has_the_same_step() -> None:
    found = compare(["torus(2,4)", "fattree"], nodes=8, degree=6, step=MODEL, bandwidth="600Gbps")
    alone = price_step(MODEL, "torus(2,4)", bandwidth=f"{600 * 3 // 6}Gbps", layouts=4)
    ports = topodesign.build("torus(2,4)").degree
    assert ports == 3
    assert found.contenders[0].step is not None
    assert found.contenders[0].step.seconds == alone.seconds
    assert any(title.startswith("training step") for title in found.table().columns)
    with pytest.raises(ParameterError, match="has 8 ranks"):
        compare(["best"], nodes=16, degree=4, step=MODEL)


@pytest.mark.dear
def test_a_list_of_collectives_costs_what_pareto_and_design_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """One list: pareto, compare and step price alike; design times plans: the best all-to-all is a bound on its own."""
    monkeypatch.setattr(importlib.import_module("topodesign.report.design.design"), "failures_of", lambda *_: ())
    every = [("allreduce", "64MiB", 1), ("allgather", "8MiB", 1), ("all-to-all", "16MiB", 4)]
    for nodes, degree, shares in few([(12, 3, every), (16, 4, every[:2])]):
        mix = Mix("listed", tuple(Share(name, as_size(size), count) for name, size, count in shares))
        first = rank(nodes, degree, workload=mix, bandwidth="400Gbps").best
        spec = str(first.spec)
        [side] = compare([spec], step=mix, bandwidth="400Gbps").contenders
        [step] = compare_steps(mix, [spec], bandwidth="400Gbps").contenders
        assert side.step is not None
        assert first.times[0] == side.step.seconds == step.time.seconds
        asked: Any = {"nodes": nodes, "degree": degree, "bandwidth": "400Gbps", "workload": mix}
        for part in next(one for one in design(**asked).contenders if one.spec == spec).parts:
            [alone] = compare_steps(Mix("alone", (part.share,)), [spec], bandwidth="400Gbps").contenders
            priced, planned = alone.time.seconds, part.seconds * part.share.count
            assert planned >= priced if part.share.collective == "all-to-all" else planned <= priced


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ParameterError, match="expected a list of networks"):
        compare_steps(MODEL, [])
    with pytest.raises(ParameterError, match="not for a plan or a method"):
        compare_steps(MODEL, ["torus(2,4)@ring"])
    with pytest.raises(ParameterError, match="say how many nodes and ports"):
        compare_steps(MODEL, ["fattree"])
    with pytest.raises(InfeasibleError, match="slimfly"):
        compare_steps(MODEL, ["slimfly"], degree=4)

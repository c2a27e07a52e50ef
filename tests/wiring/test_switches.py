"""Commands of a change, run line by line on switches of our own: they lead from one wiring to the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.samples.wirings import wired
from topodesign import build, check_wiring, export_stages, rewire
from topodesign.cli.main import program
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.steps import circuits_by_switch

Circuits = set[tuple[int, int]]


class Switch:
    """A switch with ports 1 to ``size`` on either side, by the words of SCPI and SONiC; a port is taken once."""

    def __init__(self, size: int, circuits: Circuits) -> None:
        self.size, self.circuits = size, set(circuits)

    def run(self, line: str) -> None:
        """Carry out a command; raises AssertionError if a real switch would refuse it."""
        scpi = re.fullmatch(r":OXC:SWITch:CONNect:(ADD|SUB) \(@([\d,]+)\),\(@([\d,]+)\)", line)
        sonic = re.fullmatch(r"sudo config ocs cross-connect (add|delete) (\S+)( safe)?", line)
        if scpi:
            a, b = ([int(port) for port in part.split(",")] for part in scpi.group(2, 3))
            self._change([(x, y - self.size) for x, y in zip(a, b, strict=True)], add=scpi[1] == "ADD")
        else:
            assert sonic, line
            assert (sonic[1] == "add") == bool(sonic[3])
            pairs = []
            for name in sonic[2].split(","):
                one = re.fullmatch(r"(\d+)A(?:\.\.(\d+)A)?-(\d+)B(?:\.\.(\d+)B)?", name)
                assert one, name
                first, last, other, end = (int(one[place] or one[place - 1]) for place in (1, 2, 3, 4))
                assert last - first == end - other
                pairs += [(first + step, other + step) for step in range(last - first + 1)]
            self._change(pairs, add=sonic[1] == "add")

    def _change(self, pairs: list[tuple[int, int]], *, add: bool) -> None:
        for a, b in pairs:
            assert 1 <= a <= self.size
            assert 1 <= b <= self.size
            if add:
                assert all(a != x and b != y for x, y in self.circuits)
                self.circuits.add((a, b))
            else:
                self.circuits.remove((a, b))

    def answer(self) -> str:
        """Return what it answers to :OXC:SWITch:CONNect:STATe?."""
        pairs = sorted(self.circuits)
        return f"(@{','.join(str(a) for a, _ in pairs)}),(@{','.join(str(b + self.size) for _, b in pairs)})\n"


def switches_of(plan: WiringPlan) -> dict[str, Switch]:
    made = circuits_by_switch(plan, plan.connects)
    return {panel.name: Switch(len(panel.ports), set(made[panel.name])) for panel in plan.inventory.panels}


def run_files(folder: Path, names: tuple[str, ...], switches: dict[str, Switch]) -> None:
    for name in names:
        switch = switches[name.split("-")[1].split(".")[0]]
        for line in (folder / name).read_text().splitlines():
            if line != "#!/bin/sh -e":
                switch.run(line)


@pytest.mark.parametrize("file_format", ["scpi", "sonic"])
def test_the_commands_of_all_stages_lead_from_one_wiring_to_the_other(file_format: Any, tmp_path: Path) -> None:
    before = wired(build("circulant(8,1,2)"), 4, 2, kind="ocs")
    change = rewire(before, "circulant(8,1,3)", throughput=False)
    assert len(change.stages) > 1
    names = export_stages(change, file_format, tmp_path / "out")
    assert sorted(names) == sorted(file.name for file in (tmp_path / "out").iterdir())
    switches = switches_of(before)
    run_files(tmp_path / "out", names, switches)
    for name, pairs in circuits_by_switch(change.after, change.after.connects).items():
        assert switches[name].circuits == pairs


def test_a_change_that_stopped_half_way_is_carried_on_from_the_answers(tmp_path: Path) -> None:
    before = wired(build("circulant(8,1,2)"), 4, 2, kind="ocs")
    change = rewire(before, "circulant(8,1,3)", throughput=False)
    switches = switches_of(before)
    names = export_stages(change, "scpi", tmp_path / "out")
    run_files(tmp_path / "out", names[: len(names) // 2], switches)
    for name, switch in switches.items():
        (tmp_path / "seen").mkdir(exist_ok=True)
        (tmp_path / "seen" / f"{name}.scpi").write_text(switch.answer())
    there = check_wiring(before, ocs=tmp_path / "seen").built
    rest = rewire(there, change.after, keep_hosts=True, throughput=False)
    assert 0 < rest.moves < change.moves
    run_files(tmp_path / "rest", export_stages(rest, "scpi", tmp_path / "rest"), switches)
    for name, pairs in circuits_by_switch(change.after, change.after.connects).items():
        assert switches[name].circuits == pairs


def test_diff_writes_commands(tmp_path: Path) -> None:
    save_wiring(wired(build("circulant(6,1,2)"), 4, 1, kind="ocs"), tmp_path / "plan.json")
    words = ["wire", "diff", str(tmp_path / "plan.json"), "circulant(6,1,3)", "--downtime", "--no-throughput"]
    result = CliRunner().invoke(program, [*words, "--commands", str(tmp_path / "c"), "--format", "sonic"])
    assert result.exit_code == 0, result.output
    first, remove, add = (tmp_path / "c" / "stage1-panel0.sh").read_text().splitlines()
    assert first == "#!/bin/sh -e"
    assert remove.startswith("sudo config ocs cross-connect delete ")
    assert add.startswith("sudo config ocs cross-connect add ")
    assert isinstance(
        CliRunner().invoke(program, [*words, "--format", "sonic"], standalone_mode=False).exception, click.UsageError
    )

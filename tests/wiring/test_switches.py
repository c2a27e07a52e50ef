"""Commands of a change, run line by line on switches of our own: they lead from one wiring to the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from tests.samples.inventories import FIVE_HOSTS
from tests.samples.wirings import wired
from topodesign import (
    build,
    carry_phases,
    change_wiring,
    check_wiring,
    export_wiring,
    plain_inventory,
    plan_wiring,
    read_inventory,
    reconfigure,
    simulate,
    verify,
    write_change,
)
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.cli.main import program, run
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.files import as_inventory
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.kinds import FORMATS
from topodesign.wiring.switches.steps import STAGE_FORMATS
from topodesign.wiring.switches.switch import circuits_by_switch

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
    change = change_wiring(before, "circulant(8,1,3)", throughput=False)
    assert len(change.stages) > 1
    written = write_change(change, tmp_path / "out", file_format=file_format)
    names = written[3:]
    assert sorted(written) == sorted(file.name for file in (tmp_path / "out").iterdir())
    switches = switches_of(before)
    run_files(tmp_path / "out", names, switches)
    for name, pairs in circuits_by_switch(change.after, change.after.connects).items():
        assert switches[name].circuits == set(pairs)


def test_a_change_that_stopped_half_way_is_carried_on_from_the_answers(tmp_path: Path) -> None:
    before = wired(build("circulant(8,1,2)"), 4, 2, kind="ocs")
    change = change_wiring(before, "circulant(8,1,3)", throughput=False)
    switches = switches_of(before)
    names = write_change(change, tmp_path / "out", file_format="scpi")[3:]
    run_files(tmp_path / "out", names[: len(names) // 2], switches)
    for name, switch in switches.items():
        (tmp_path / "seen").mkdir(exist_ok=True)
        (tmp_path / "seen" / f"{name}.scpi").write_text(switch.answer())
    there = check_wiring(before, ocs=tmp_path / "seen").built
    rest = change_wiring(there, change.after, keep_hosts=True, throughput=False)
    assert 0 < rest.moves < change.moves
    run_files(tmp_path / "rest", write_change(rest, tmp_path / "rest", file_format="scpi")[3:], switches)
    for name, pairs in circuits_by_switch(change.after, change.after.connects).items():
        assert switches[name].circuits == set(pairs)


def test_diff_writes_commands(tmp_path: Path) -> None:
    save_wiring(wired(build("circulant(6,1,2)"), 4, 1, kind="ocs"), tmp_path / "plan.json")
    words = ["wire", "change", str(tmp_path / "plan.json"), "circulant(6,1,3)", "--downtime", "--no-throughput"]
    result = CliRunner().invoke(program, [*words, "-o", str(tmp_path / "c"), "--format", "sonic"])
    assert result.exit_code == 0, result.output
    first, remove, add = (tmp_path / "c" / "stage1-panel0.sh").read_text().splitlines()
    assert first == "#!/bin/sh -e"
    assert remove.startswith("sudo config ocs cross-connect delete ")
    assert add.startswith("sudo config ocs cross-connect add ")
    assert isinstance(
        CliRunner().invoke(program, [*words, "--format", "sonic"], standalone_mode=False).exception, click.UsageError
    )


# -- switches with two sides: one fibre and one circuit for both ways

LABELS = {
    "letters": ("N[1-{n}]", "S[1-{n}]"),
    "going on": ("[1-{n}]", "[{m}-{last}]"),
    "letters going on": ("P[1-{n}]", "P[{m}-{last}]"),
}


def sided(folder: Path, spec: str, labels: str, switches: int) -> WiringPlan:
    """Return a plan on switches with two sides, to each of which every host has one lane on each side."""
    nodes = build(spec).nodes
    one, two = (text.format(n=nodes, m=nodes + 1, last=2 * nodes) for text in LABELS[labels])
    text = (
        f"hosts: [{{name: 'h[1-{nodes}]', rack: r1, unit: '[1-{nodes}]', "
        f"ports: [{{name: 'p[1-{2 * switches}]', connector: LC, speed: 100Gbps}}]}}]\n"
        f"panels: [{{name: 'ocs[1-{switches}]', kind: ocs, rack: r2, unit: '[1-{switches}]', ports: "
        f"[{{label: '{one}', mode: duplex, side: 1}}, {{label: '{two}', mode: duplex, side: 2}}]}}]\n"
    )
    (folder / "room.yaml").write_text(text)
    return plan_wiring(spec, read_inventory(folder / "room.yaml"))


def places(plan: WiringPlan) -> dict[str, Circuits]:
    """Return the circuits of a plan by where their ports are in the list of each side, whatever their labels."""
    found: dict[str, Circuits] = {panel.name: set() for panel in plan.inventory.panels}
    for panel in plan.inventory.panels:
        sides = [[port.label for port in panel.ports if port.side == side] for side in "12"]
        for one in plan.connects:
            if one.a.panel == panel.name:
                a, b = sorted((one.a.panel_port, one.b.panel_port), key=sides[1].__contains__)
                found[panel.name].add((sides[0].index(a) + 1, sides[1].index(b) + 1))
    return found


@pytest.mark.parametrize(
    ("spec", "labels", "switches"),
    [
        (spec, labels, switches)
        for labels in LABELS
        for spec, switches in (
            *(("circulant(5,1)", 1), ("biring(2,7)", 1), ("complete(5)", 2), ("circulant(9,1,2)", 2)),
            *(("torus(3,4)", 2), ("circulant(11,1,2,4)", 3), ("hypercube(3)", 2)),
        )
    ],
)
def test_a_switch_with_two_sides_gets_each_circuit_once(spec: str, labels: str, switches: int, tmp_path: Path) -> None:
    plan = sided(tmp_path, spec, labels, switches)
    wanted, size = places(plan), len(plan.inventory.panels[0].ports) // 2
    assert sum(map(len, wanted.values())) == len(plan.connects)
    for file_format, ending in (("scpi", ".scpi"), ("sonic", ".sh")):
        export_wiring(plan, file_format, tmp_path / file_format)
        for name, circuits in wanted.items():
            switch = Switch(size, set())
            for line in (tmp_path / file_format / f"{name}{ending}").read_text().splitlines():
                if line != "#!/bin/sh -e":
                    switch.run(line.replace(" update", " safe"))
            assert switch.circuits == circuits
            (tmp_path / f"{name}.scpi").write_text(switch.answer())
        assert check_wiring(plan, export=tmp_path / file_format).ok
        assert check_wiring(plan, ocs=tmp_path / file_format).ok
    (tmp_path / "answers").mkdir()
    for name in wanted:
        (tmp_path / f"{name}.scpi").rename(tmp_path / "answers" / f"{name}.scpi")
    assert check_wiring(plan, ocs=tmp_path / "answers").ok


def test_changes_of_a_switch_with_two_sides_are_commands_that_it_takes(tmp_path: Path) -> None:
    plan = sided(tmp_path, "circulant(9,1,2)", "letters", 2)
    change = change_wiring(plan, "circulant(9,1,3)", keep_hosts=True, downtime=True, throughput=False)
    switches = {name: Switch(9, circuits) for name, circuits in places(plan).items()}
    run_files(tmp_path / "out", write_change(change, tmp_path / "out", file_format="sonic")[3:], switches)
    assert {name: switch.circuits for name, switch in switches.items()} == places(change.after)


def test_a_circuit_that_is_lacking_is_named_once(tmp_path: Path) -> None:
    plan = sided(tmp_path, "circulant(5,1)", "letters", 1)
    export_wiring(plan, "scpi", tmp_path / "out")
    lines = (tmp_path / "out" / "ocs1.scpi").read_text().splitlines()
    (tmp_path / "out" / "ocs1.scpi").write_text("\n".join(lines[1:]))
    found = check_wiring(plan, ocs=tmp_path / "out")
    assert not found.ok
    assert len(found.built.connects) == 4


def test_labels_name_the_lane_of_each_side(tmp_path: Path) -> None:
    export_wiring(sided(tmp_path, "circulant(5,1)", "letters", 1), "sonic", tmp_path / "out", labels=True)
    script = (tmp_path / "out" / "ocs1.sh").read_text()
    assert "config ocs port label 1A h1:p1\n" in script
    assert "config ocs port label 5B h5:p2\n" in script
    assert script.count(" port label ") == 10


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("N[1-5]", "N[2-6]", "those of each side of 'ocs1' must be labelled from 1 on"),
        ("N[1-5]", "north[a-e]", "is not a number"),
    ],
)
def test_ports_that_cannot_be_numbered_are_refused(old: str, new: str, words: str, tmp_path: Path) -> None:
    sided(tmp_path, "circulant(5,1)", "letters", 1)
    text = (tmp_path / "room.yaml").read_text()
    letters = [f"{{label: north{one}, mode: duplex, side: 1}}" for one in "abcde"]
    text = (
        text.replace(old, new)
        if "a-e" not in new
        else text.replace("{label: 'N[1-5]', mode: duplex, side: 1}", ", ".join(letters))
    )
    (tmp_path / "room.yaml").write_text(text)
    plan = plan_wiring("circulant(5,1)", read_inventory(tmp_path / "room.yaml"))
    with pytest.raises(ParameterError, match=words):
        export_wiring(plan, "scpi", tmp_path / "out")


# -- answers as switches print them

SHOWN = """id     a_side    b_side    a_side_status    b_side_status
-----  --------  --------  ---------------  ---------------
1A-3B  1A        3B        tuned            tuned
3A-1B  3A        1B        tuned            tuned
2A-4B  2A        4B        tuning           failed
"""
TL1 = """
   switch 26-11-26 10:00:00
M  123 COMPLD
   "1,11"
   "3,9"
;
"""


def test_answers_of_tl1_and_of_show_are_read(tmp_path: Path) -> None:
    (tmp_path / "room.yaml").write_text(
        "hosts: [{name: 'h[1-8]', rack: r, unit: '[1-8]', ports: [{name: e, connector: LC, speed: 25Gbps}]}]\n"
        "panels: [{name: ocs1, kind: ocs, rack: r, unit: 20, ports: [{label: '[1-8]', mode: simplex}]}]\n"
    )
    panel = read_inventory(tmp_path / "room.yaml").panels[0]
    for name, text in (("sonic", SHOWN), ("scpi", TL1)):
        driver = DRIVERS[name]
        assert list(driver.circuits(text, panel)) == [("1", "3"), ("3", "1")]
        with pytest.raises(FileFormatError, match="expected"):
            list(driver.circuits(text + "nonsense\n", panel))
    assert list(DRIVERS["sonic"].circuits("id  a_side  b_side\n1A-2B  1A  2B\n", panel)) == [("1", "2")]
    with pytest.raises(FileFormatError, match="switch 'ocs1' has no port '9' on side A"):
        list(DRIVERS["sonic"].circuits("id  a_side  b_side\n9A-2B  9A  2B\n", panel))
    with pytest.raises(FileFormatError, match="expected"):
        list(DRIVERS["scpi"].circuits("M  123 DENY\n   PICC\n;\n", panel))


# -- circuits that change on the switches of a plant: commands that are read back make the links of each phase --------


WORK: Any = {"alpha": "1us", "bandwidth": "400Gbps", "size": "4MiB"}


def links_of(found: Any, circuits: dict[str, set[tuple[int, int]]]) -> Topology:
    """What circuits of switches join, by the cabling alone: side A of a port to side B of another."""
    there = {(one.panel, int(one.panel_port)): one.host for one in found.wirings[0].fixed}
    node = {host: number for number, host in enumerate(found.hosts)}
    links = [(node[there[name, a]], node[there[name, b]]) for name, some in circuits.items() for a, b in some]
    return Topology.from_links(found.nodes, links)


@pytest.mark.parametrize("dark", ["all", "moved"])
@pytest.mark.parametrize("room", [(6, 4, 1, ()), (8, 2, 2, ()), (12, 2, 1, "4x3:0")])
def test_commands_read_back_make_the_links_of_each_phase(tmp_path: Path, room: tuple[Any, ...], dark: str) -> None:
    nodes, degree, panels, group = room
    asked = reconfigure(nodes, degree, "all-to-all", delay="2us", dark=dark, group=group, **WORK)
    found = carry_phases(asked, plain_inventory(nodes, degree, panels=panels, kind="ocs"))
    assert verify(found.plan).ok
    assert simulate(found.plan, **WORK).time == found.best.time
    assert dark == "moved" or found.best.time == asked.best.time
    assert found.best.changes
    assert not found.not_carried
    graph, circuits = found.plan.flow.switching.links, dict[str, set[tuple[int, int]]]()
    files = found.write_commands(tmp_path / "new", "scpi")
    size = nodes * degree  # ports of a switch; light leaves by those from there on
    for number in range(len(found.phases)):
        for name in (one for one in files if one.startswith(f"phase{number}-")):
            switch = name.removeprefix(f"phase{number}-").removesuffix(".scpi")
            have = circuits.setdefault(switch, set())
            for line in (tmp_path / "new" / name).read_text().splitlines():
                entries, exits = (list(map(int, one.split(","))) for one in re.findall(r"@([\d,]+)", line))
                pairs = {(a, b - size) for a, b in zip(entries, exits, strict=True)}
                if "SUB" in line:
                    assert pairs <= have
                    have -= pairs
                else:
                    have |= pairs
        assert links_of(found, circuits) == graph(number, nodes)
        assert found.wirings[number].topology == graph(number, nodes)
    assert len(found.moves) == len(found.phases)


def test_a_phase_that_does_not_fit_is_named_and_another_plan_taken(tmp_path: Path) -> None:
    path = tmp_path / "five.yaml"
    path.write_text(FIVE_HOSTS)
    asked = reconfigure(5, 2, "allgather", delay="1us", cabling="duplex", **WORK)
    found = carry_phases(asked, path)
    assert asked.best.name == "static biring(2,5)"
    assert found.best.name == "direct circuits"
    assert found.not_carried[0].name == "static biring(2,5)"
    assert all("phase 0: edge colours: 2 fields join 4 pairs" in one.because for one in found.not_carried)
    assert found.claim.gap
    assert "static biring(2,5) is not carried: phase 0" in str(found)


def test_nothing_changes_at_a_patch_panel() -> None:
    asked = reconfigure(8, 2, "all-to-all", delay="1us", **WORK)
    found = carry_phases(asked, plain_inventory(8, 2))
    assert asked.best.changes
    assert not found.best.changes
    assert "patched by hand" in found.not_carried[0].because
    assert [one.name for one in found.not_carried] == [
        one.name for one in asked.contenders if one.time < found.best.time
    ][: len(found.not_carried)]
    with pytest.raises(ParameterError, match="patched by hand"):
        found.write_commands("nowhere", "scpi")


def test_lanes_that_are_too_many_stay_dark_and_too_few_are_refused() -> None:
    asked = reconfigure(6, 2, "allgather", delay="1us", dark="moved", **WORK)
    found = carry_phases(asked, plain_inventory(8, 4, panels=2, kind="ocs"))
    assert verify(found.plan).ok
    assert len(found.hosts) == 6
    with pytest.raises(InfeasibleError, match="2 lanes"):
        carry_phases(asked, plain_inventory(6, 1, kind="ocs"))
    with pytest.raises(InfeasibleError, match="6 nodes do not fit"):
        carry_phases(asked, plain_inventory(5, 2, kind="ocs"))
    with pytest.raises(ParameterError, match="reconfigure returns"):
        carry_phases("plan.npz", as_inventory(plain_inventory(6, 2)))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [("--format", "nope"), ("--format", "sonic", "--spelling", "nope")])
def test_a_format_is_refused_before_the_work(wrong: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    line = ["reconfigure", "-n", "64", "-d", "2", "--inventory", "missing.yaml", "--commands", "made", *wrong]
    assert run(line) == 2
    assert "'nope' is not one of" in capsys.readouterr().err  # and not that the inventory is missing


def test_formats_to_choose_from_are_the_drivers() -> None:
    assert tuple(DRIVERS) == FORMATS == STAGE_FORMATS

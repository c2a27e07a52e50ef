"""Circuits that change on the switches of a plant: commands that are read back make the links of each phase."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.samples.inventories import FIVE_HOSTS
from topodesign import carry_phases, plain_inventory, reconfigure, simulate, verify
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import run
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.files import as_inventory
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.kinds import FORMATS
from topodesign.wiring.switches.steps import STAGE_FORMATS

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

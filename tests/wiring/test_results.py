"""Results of wirings and the functions that make them: one below command and notebook, from whatever names it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.records import Result
from topodesign.cli.main import program
from topodesign.topology.library import build
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.check.check import WiringCheck, check_wiring
from topodesign.wiring.check.observed import read_lldp
from topodesign.wiring.exports.export import FORMATS, export_wiring
from topodesign.wiring.failures.report import failure_impact
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.wire import plan_wiring

CONFIGS = Path(__file__).parents[2] / "configs"
SPEC = "circulant(12,2,3)"
OTHER = "degree(biring(2,6),2)"
ROOM = plain_inventory(12, 4)
PLAN = plan_wiring(SPEC, ROOM, mode="simplex")


def heard(folder: Path, plan: WiringPlan, swapped: int = 0) -> Path:
    """What hosts tell if the first two patches have each other's ends, or all is as planned."""
    ends = [(link.a, link.b) for link in plan.connects]
    if swapped:
        (a, b), (c, d) = ends[0], ends[swapped]
        ends[0], ends[swapped] = (a, d), (c, b)
    path = folder / f"heard{swapped}.csv"
    rows = [f"{b.host},{b.port},{a.host},{a.port}" for a, b in ends]
    path.write_text("\n".join(["host,port,neighbour_host,neighbour_port", *rows]))
    return path


def results(folder: Path) -> list[Result]:
    path = folder / "patches.csv"
    export_wiring(PLAN, "patches", path)
    return [
        PLAN,
        PLAN.bill(),
        check_wiring(PLAN, export=path),
        check_wiring(plan_wiring(OTHER, ROOM, mode="simplex"), export=path),
        change_wiring(PLAN, OTHER, most_dark=4),
        change_wiring(PLAN, SPEC),
        check_wiring(PLAN, lldp=heard(folder, PLAN)),
        check_wiring(PLAN, lldp=heard(folder, PLAN, 5)),
        failure_impact(PLAN, throughput=False),
        failure_impact(PLAN, host="h3"),
    ]


def test_results_show_themselves(tmp_path: Path) -> None:
    for result in results(tmp_path):
        assert repr(result) == f"<{type(result).__name__}: {result.heading()}>"
        assert "\n" not in repr(result)
        assert str(result).strip()
        assert "<table>" in result._repr_html_()
        records = result.to_records()
        assert len(result.to_dataframe()) == len(records)
        assert len({tuple(record) for record in records}) <= 1
        if hasattr(result, "record"):
            json.dumps(result.record())


def test_records_of_a_plan_are_its_links() -> None:
    records = PLAN.to_records()
    made = Counter((row["from_node"], row["to_node"]) for row in records)
    assert made == {(u, v): count for u, v, count in build(SPEC).links()}
    assert [(row["from_host"], row["to_host"]) for row in records] == [
        (PLAN.hosts[row["from_node"]], PLAN.hosts[row["to_node"]]) for row in records
    ]


def test_a_bill_without_cable_that_is_long_enough_is_told_and_refused() -> None:
    host, *_ = ROOM.hosts
    far = {"": {"r0": (Fraction(0), Fraction(0))}}
    short = type(ROOM)(ROOM.hosts, ROOM.panels, stock={"LC simplex": (Fraction(1, 100),)}, racks=far, slack=Fraction(1))
    assert "needs" in str(plan_wiring("biring(2,3)", short, mode="simplex"))
    assert host.rack == "r0"


def test_topologies_inventories_and_plans_may_be_named(tmp_path: Path) -> None:
    room = CONFIGS / "inventory_testbed.yaml"
    links = tmp_path / "links.csv"
    links.write_text("src,dst,capacity\n" + "".join(f"{u},{v},{c}\n" for u, v, c in build(SPEC).links()))
    plans = [
        plan_wiring(which, room) for which in (SPEC, str(links), links, build(SPEC), nx.circulant_graph(12, [2, 3]))
    ]
    plans.append(plan_wiring(SPEC, read_inventory(str(room))))
    assert {plan.connects for plan in plans} == {plans[0].connects}
    path = tmp_path / "plan.json"
    save_wiring(PLAN, path)
    save_wiring(str(path), tmp_path / "again.json")
    assert load_wiring(str(tmp_path / "again.json")) == PLAN
    other = tmp_path / "other.json"
    save_wiring(plan_wiring(OTHER, ROOM), other)
    seen = heard(tmp_path, PLAN, 5)
    for call in CALLS:
        assert (
            call(PLAN, plan_wiring(OTHER, ROOM), str(seen))
            == call(str(path), str(other), seen)
            == call(path, other, seen)
        )
    assert check_wiring(PLAN, read_lldp(seen, PLAN)) == check_wiring(PLAN, lldp=seen)


CALLS: list[Callable[[Any, Any, Any], Any]] = [
    lambda plan, other, _: change_wiring(plan, other, keep_hosts=True, most_dark=4).record(),
    lambda plan, _, seen: check_wiring(plan, lldp=seen).record(),
    lambda plan, *_: failure_impact(plan, cable="C01").record(),
]


def test_commands_print_what_the_functions_return(tmp_path: Path) -> None:
    path, room = str(tmp_path / "plan.json"), str(CONFIGS / "inventory_testbed.yaml")
    plan = plan_wiring(SPEC, room, mode="simplex")
    save_wiring(plan, path)
    seen, patches = str(heard_by_lanes(tmp_path, plan)), str(tmp_path / "patches.csv")
    export_wiring(plan, "patches", patches)
    cases: list[tuple[list[str], Any]] = [
        (["wire", "plan", SPEC, "--inventory", room, "--simplex"], plan),
        (["wire", "change", path, OTHER, "--max-dark", "4"], change_wiring(plan, OTHER, most_dark=4)),
        (["wire", "check", path, "--lldp", seen], check_wiring(plan, lldp=seen)),
        (["failures", path, "--kind", "host"], failure_impact(plan, kinds="host")),
        (["repair", path, "--fail", plan.hosts[3]], failure_impact(plan, host=plan.hosts[3])),
        (["wire", "check", path, "--export", patches], check_wiring(plan, export=patches)),
    ]
    for arguments, result in cases:
        said = CliRunner().invoke(program, [*arguments, "--json"], catch_exceptions=False)
        words = arguments[: 2 if arguments[0] == "wire" else 1]
        schema = f"topodesign/{'-'.join(words)}/1"
        assert json.loads(said.stdout) == {"schema": schema} | json.loads(json.dumps(result.record())), arguments
        text = CliRunner().invoke(program, arguments, catch_exceptions=False).stdout
        assert text.rstrip("\n") == str(result), arguments


def heard_by_lanes(folder: Path, plan: WiringPlan) -> Path:
    """What the hosts of a plan with breakout ports tell of all but one patch, which is dark."""
    path = folder / "lanes.csv"
    ends = [(link.a, link.b) for link in plan.connects[1:]]
    rows = [f"{b.host},{b.port}/{b.lane},{a.host},{a.port}/{a.lane}" for a, b in ends]
    path.write_text("\n".join(["host,port,neighbour_host,neighbour_port", *rows]))
    return path


def test_help_names_every_format_and_command() -> None:
    said = CliRunner().invoke(program, ["wire", "export", "--help"]).output
    assert all(f"\n  {name} " in said and known.summary in said for name, known in FORMATS.items())
    top = CliRunner().invoke(program, ["wire", "--help"]).output
    for name in ("plan", "export", "change", "check"):
        assert f"  {name} " in top
        assert CliRunner().invoke(program, ["wire", name, "--help"]).exit_code == 0


def untyped(function: Any) -> Any:
    """The function as those know it who do not check types."""
    return function


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: untyped(plan_wiring)(42, ROOM), "a topology, a spec"),
        (lambda: untyped(plan_wiring)(SPEC, 42), "an inventory or the path"),
        (lambda: untyped(plan_wiring)(SPEC, ROOM, mode="both"), "mode 'both' is not known"),
        (lambda: untyped(plan_wiring)(SPEC, ROOM, seed=-1), "seed must be at least 0"),
        (lambda: untyped(plan_wiring)(SPEC, ROOM, place=True, hosts=PLAN.hosts), "place cannot be combined with hosts"),
        (lambda: untyped(load_wiring)(3), "the path of a file"),
        (lambda: untyped(save_wiring)(PLAN, "plan.txt"), "ending .json"),
        (lambda: untyped(export_wiring)(PLAN, "netboxx", "x"), "did you mean 'netbox'"),
        (lambda: untyped(change_wiring)(PLAN, 7), "nodes must be at least 13"),
        (lambda: untyped(change_wiring)(PLAN, 1.5), "a topology, a spec"),
        (lambda: untyped(change_wiring)(7, SPEC), "a wiring plan or the path"),
        (lambda: untyped(change_wiring)(PLAN, SPEC, seed=2**70), "seed must be from 0"),
        (lambda: untyped(change_wiring)(PLAN, SPEC, most_dark=0), "most_dark must be at least 1"),
        (lambda: untyped(change_wiring)(PLAN, "biring(2,3)", keep_hosts=True), "3 nodes are wanted, and 12 wired"),
        (lambda: untyped(check_wiring)(PLAN), "exactly one"),
        (lambda: untyped(check_wiring)(PLAN, lldp="a.csv", ocs="b.json"), "exactly one"),
        (lambda: untyped(failure_impact)(PLAN, kinds=["hosts"]), "did you mean 'host'"),
        (lambda: untyped(failure_impact)(PLAN, host="h1", cable="C01"), "one of host, port and cable"),
        (lambda: untyped(failure_impact)(PLAN, "h1"), "a Failure, or the name"),
        (lambda: untyped(failure_impact)(PLAN, top=0), "top must be at least 1"),
        (lambda: untyped(plain_inventory)(0, 4), "hosts must be from 1"),
        (lambda: untyped(plain_inventory)(4, 4, kind="ocss"), "did you mean 'ocs'"),
    ],
)
def test_bad_arguments_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()


def test_missing_files_are_named() -> None:
    for call in (
        lambda: plan_wiring(SPEC, "no.yaml"),
        lambda: load_wiring("no.json"),
        lambda: check_wiring(PLAN, lldp="no.csv"),
    ):
        with pytest.raises(FileFormatError, match=r"no\.\w+: No such file"):
            call()


def test_a_check_says_what_to_do(tmp_path: Path) -> None:
    found = check_wiring(PLAN, lldp=heard(tmp_path, PLAN, 5))
    assert isinstance(found, WiringCheck)
    assert [row["fault"] for row in found.to_records()] == [finding.fault for finding in found.findings] == ["swapped"]
    assert all(line in str(found) for line in found.proposal.instructions())

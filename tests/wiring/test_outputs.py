"""What programs print, read: captures of lldpd 1.0.16, and text as the documentation of the others shows it."""

from __future__ import annotations

import io
import json
import math
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import openpyxl
import pytest
from click.testing import CliRunner

from tests.samples.inventories import inventory_of
from tests.samples.plans import plan_of
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.records import Result
from topodesign.cli.main import program
from topodesign.topology.library import build
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.check.cables import read_switch
from topodesign.wiring.check.check import WiringCheck, check_wiring
from topodesign.wiring.check.light import read_power
from topodesign.wiring.check.lldp import read_neighbours
from topodesign.wiring.check.observed import known_names, light_with_notes, read_dumps, read_lldp
from topodesign.wiring.check.outputs import read_output
from topodesign.wiring.exports.export import FORMATS, export_wiring
from topodesign.wiring.exports.formats.graphs import P2P_COLUMNS, to_ptm, to_topo
from topodesign.wiring.failures.report import failure_impact
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.inventory.devices import Lane, PanelKind
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plan.wire import plan_wiring

CAPTURES = Path(__file__).parent.parent / "samples" / "lldpctl"
CABLES = {("h0", "p0"): ("h1", "p1"), ("h0", "p1"): ("h2", "p0"), ("h1", "p0s0"): ("h2", "p1")}
CABLES |= {there: here for here, there in CABLES.items()}


def duplex(hosts: int = 6, lanes: int = 4, kind: PanelKind = "patch panel") -> WiringPlan:
    """A ring, or two, of hosts with ports eth0 of four lanes, or eth0 and eth1 of one."""
    inventory = inventory_of(hosts, lanes, (hosts * lanes,), mode="duplex", kind=kind)
    return make_plan(build(f"biring({lanes},{hosts})"), inventory, mode="duplex")


@pytest.mark.parametrize("ending", ["json", "txt", "lldp"])
def test_captures_of_lldpd_are_read(ending: str, tmp_path: Path) -> None:
    for file in CAPTURES.glob(f"*.{ending}"):
        shutil.copy(file, tmp_path)
    entries, names = read_neighbours(tmp_path)[:2]
    assert sorted(names) == ["h0", "h1", "h2"]
    assert {(one.host, one.interface): (one.chassis, one.ports[0]) for one in entries} == CABLES
    assert all(one.age is not None and one.age < 60 for one in entries)


def test_a_host_that_hears_nothing_is_told(tmp_path: Path) -> None:
    rule = "-" * 79
    (tmp_path / "h5.txt").write_text(f"{rule}\nLLDP neighbors:\n{rule}\n")
    assert read_neighbours(tmp_path)[:2] == ([], ["h5"])


SONIC = """\
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice           RemotePortID       Capability  RemotePortDescr
-----------  ---------------------  -----------------  ----------  --------------------
Ethernet0    h1.lab.example         Ethernet4          BR          fortyGigE 0/4
Ethernet4                           0c:42:a1:00:00:02  O           Interface 1 as 100000
eth0         mgmt-sw-3              Gi1/0/7            BR
--------------------------------------------------
Total entries displayed:  3
"""


def test_the_table_of_sonic_is_read() -> None:
    told = read_output("h0", SONIC)
    assert told.hosts == ["h0"]
    assert [one[:4] for one in told.entries] == [
        ("h0", "Ethernet0", "h1.lab.example", ("Ethernet4", "fortyGigE 0/4")),
        ("h0", "Ethernet4", "", ("0c:42:a1:00:00:02", "Interface 1 as 100000")),
        ("h0", "eth0", "mgmt-sw-3", ("Gi1/0/7", "")),
    ]


INFINIBAND = """\
#
# Topology file: generated on Tue Jun  5 14:15:10 2007
#
# Initiated from node 0008f10403960558 port 0008f10403960559

vendid=0x2c9
devid=0x5a06
sysimgguid=0x5442ba00003000
switchguid=0x5442ba00003080(5442ba00003080)
Switch\t24 "S-005442ba00003080"\t\t# "sw1" enhanced port 0 lid 6 lmc 0
[22]\t"H-0008f10403961354"[1](8f10403961355) \t\t# "h0 mlx5_0" lid 4 4xEDR

caguid=0x8f10403961354
Ca\t1 "H-0008f10403961354"\t\t# "h0 mlx5_0"
[1](8f10403961355) \t"S-005442ba00003080"[22]\t\t# lid 4 lmc 0 "sw1" lid 6 4xEDR

caguid=0x8f10403961358
Ca\t2 "H-0008f10403961358"\t\t# "h0 mlx5_1"
[1](8f10403961359) \t"H-0008f1040396135c"[1] (8f1040396135d) \t\t# lid 1 lmc 0 "h1 mlx5_0" lid 2 4xEDR

caguid=0x8f1040396135c
Ca\t1 "H-0008f1040396135c"\t\t# "h1 mlx5_0"
[1](8f1040396135d) \t"H-0008f10403961358"[1] (8f10403961359) \t\t# lid 2 lmc 0 "h0 mlx5_1" lid 1 4xEDR
"""


def test_ibnetdiscover_is_read() -> None:
    told = read_output("fabric", INFINIBAND)
    assert told.hosts == ["h0", "h1"]
    assert [one[:4] for one in told.entries] == [
        ("h0", "mlx5_0", "sw1", ("port",)),
        ("h0", "mlx5_1/1", "h1", ("mlx5_0",)),
        ("h1", "mlx5_0", "h0", ("mlx5_1/1",)),
    ]
    with pytest.raises(FileFormatError, match="leads to 'H-0008f1040396135c'"):
        read_output("fabric", INFINIBAND[: INFINIBAND.index("caguid=0x8f1040396135c")])


UFM = """\
MQM8700 sw-hdr01
    P2 -4x-50G-> HCA_mlx5_3 h4 mlx5_0/P1
    P40 -4x-50G-> MQM9700 sw-ndr05 P62

HCA_mlx5_3 h4
    mlx5_1/P1 -4x-50G-> HCA_mlx5_3 h5 mlx5_0/P1  # a cable without a switch
"""


def test_topology_files_of_ufm_are_read() -> None:
    told = read_output("fabric", UFM)
    assert told.hosts == ["h4", "h5"]
    assert {one[:4] for one in told.entries} == {
        ("h4", "mlx5_0", "sw-hdr01", ("P2",)),
        ("h4", "mlx5_1", "h5", ("mlx5_0",)),
        ("h5", "mlx5_0", "h4", ("mlx5_1",)),
    }
    with pytest.raises(FileFormatError, match="line 1: a link before"):
        read_output("fabric", UFM[UFM.index("\n") + 1 :])
    with pytest.raises(FileFormatError, match="line 2: neither"):
        read_output("fabric", UFM.replace(" -4x-50G-> HCA_mlx5_3 h4", ""))


@pytest.mark.parametrize("text", ["", "hello\n", "lldp.p0.via=LLDP\nlldp.p0.chassis.name=h1\n"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(FileFormatError):
        read_output("h0", text)


def test_what_is_exported_for_ufm_is_heard_as_planned(tmp_path: Path) -> None:
    plan = duplex()
    export_wiring(plan, "topo", tmp_path / "fabric.topo")
    assert check_wiring(plan, lldp=tmp_path / "fabric.topo").ok
    heard = read_lldp(tmp_path / "fabric.topo", plan).heard
    assert len(heard) == 2 * len(plan.connects)


def test_ptm_takes_an_undirected_graph_of_interfaces() -> None:
    plan = duplex()
    text = to_ptm(plan)
    dot = shutil.which("dot")
    if dot is not None:
        subprocess.run([dot, "-Tplain"], input=text, text=True, check=True, capture_output=True)
    edges = [line.strip().replace('"', "").split(" -- ") for line in text.splitlines()[1:-1]]
    ends = sorted(end for edge in edges for end in edge)
    assert ends == sorted(f"{end.host}:{end.port}s{end.lane - 1}" for c in plan.connects for end in (c.a, c.b))
    assert len(set(ends)) == len(ends)


def test_the_spreadsheet_has_a_row_for_each_link(tmp_path: Path) -> None:
    plan = duplex()
    for name in ("a.xlsx", "b.xlsx"):
        export_wiring(plan, "p2p", tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    head, *rows = openpyxl.load_workbook(io.BytesIO((tmp_path / "a.xlsx").read_bytes())).active.values
    assert head == P2P_COLUMNS
    assert {frozenset([(a, p), (b, q)]) for a, _, p, b, _, q in rows} == {
        frozenset([(c.a.host, plan.interface(c.a)), (c.b.host, plan.interface(c.b))]) for c in plan.connects
    }
    assert {row[1] for row in rows} | {row[4] for row in rows} == {"Host"}


def test_links_of_one_direction_are_refused() -> None:
    for write in (to_ptm, to_topo):
        with pytest.raises(ParameterError, match="--duplex"):
            write(plan_of(build("circulant(6,1,2)")))


SFP = """\
\tIdentifier                                : 0x03 (SFP)
\tLaser output power                        : 0.5734 mW / -2.42 dBm
\tReceiver signal average optical power     : 0.0004 mW / -33.98 dBm
\tLaser rx power low alarm                  : On
"""
QSFP = """\
\tIdentifier                                : 0x11 (QSFP28)
\tTransmit avg optical power (Channel 1)    : 1.3924 mW / 1.44 dBm
\tRcvr signal avg optical power(Channel 1)  : 0.9720 mW / -0.12 dBm
\tRcvr signal avg optical power(Channel 2)  : 0.9798 mW / -0.09 dBm
\tRcvr signal avg optical power(Channel 3)  : 0.0000 mW / -inf dBm
\tRcvr signal avg optical power(Channel 4)  : 1.1340 mW / 0.55 dBm
"""


def test_modules_are_read(tmp_path: Path) -> None:
    (tmp_path / "h0.ethtool").write_text(f"eth0:\n{QSFP}eth1\n{SFP}")
    oma = QSFP.replace("Rcvr signal avg optical power", "Receiver signal OMA")
    (tmp_path / "h1.lab.example.eth0.ethtool").write_text(oma)
    module = {"rx_power": {"values": [1.0, 0.5, 0, 0.25], "type": "Rcvr signal avg optical power"}}
    (tmp_path / "h2.eth0.ethtool").write_text(json.dumps([module]))
    found = {(one.host, one.interface, one.channel): one.dbm for one in read_power(tmp_path).powers}
    assert found["h0", "eth0", 1] == -0.12
    assert found["h0", "eth0", 3] == -math.inf
    assert found["h0", "eth1", None] == -33.98
    assert found["h1.lab.example", "eth0", 4] == 0.55
    assert found["h2", "eth0", 1] == 0
    assert found["h2", "eth0", 3] == -math.inf
    assert len(found) == 4 + 1 + 4 + 4
    light = light_with_notes(tmp_path, known_names(duplex(6, 4)))[0]
    assert light[Lane("h0", "eth0", 2)] == -0.09
    assert light[Lane("h1", "eth0", 4)] == 0.55
    assert light[Lane("h2", "eth0", 3)] == -math.inf


def test_the_weakest_channel_counts_for_one_lane(tmp_path: Path) -> None:
    (tmp_path / "h0.eth0.ethtool").write_text(QSFP)
    assert light_with_notes(tmp_path, known_names(duplex(4, 2)))[0] == {Lane("h0", "eth0", 1): -math.inf}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("h0.ethtool", QSFP, "line 3: no interface is named"),
        ("h0.p0.ethtool", "netlink error: Invalid argument\n", "no power is reported"),
        ("h0.p0.ethtool", SFP.replace("-33.98", "77"), "line 3: '77' is not a power"),
        ("h0.p0.ethtool", '[{"rx_power": {}}]', "rx_power"),
        ("h0.p0.ethtool", "[{}]", "no power is reported"),
        ("h0.ethtool", '[{"rx_power": {"values": [1]}}]', "HOST.INTERFACE"),
    ],
)
def test_modules_that_tell_nothing_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_power(tmp_path / name)


def test_dumps_take_text_and_modules(tmp_path: Path) -> None:
    plan = duplex()
    (tmp_path / "fabric.topo").write_text(to_topo(plan))
    (tmp_path / "h0.eth0.ethtool").write_text(QSFP)
    found = read_dumps(tmp_path, plan)
    assert check_wiring(plan, found).ok
    assert len(found.light) == 4


def test_labels_of_a_switch_may_lack_their_zeros(tmp_path: Path) -> None:
    plan = duplex(4, 2, "ocs")
    export_wiring(plan, "sonic", tmp_path / "sonic")
    (file,) = (tmp_path / "sonic").glob("*.json")
    labels = {port.label for panel in plan.inventory.panels for port in panel.ports}
    assert labels
    text = file.read_text()
    padded = text
    for label in sorted(labels, key=len, reverse=True):
        padded = padded.replace(f'"{label}', f'"0{label}').replace(f"-{label}", f"-0{label}")
    assert padded != text
    file.write_text(padded)
    told = check_wiring(plan, ocs=file)
    assert told.ok
    assert not read_switch(file, plan).sightings


# -- results of wirings and the functions that make them: one below command and notebook, from whatever names it ------


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

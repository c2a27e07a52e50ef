"""Rooms that others entered into NetBox: read from its exports, planned, written and read back, with the same paths."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from pathlib import Path

import pytest

from topodesign import check_wiring, export_wiring, plan_wiring, read_netbox
from topodesign.wiring.inventory.inventory import Inventory

Lane = tuple[str, str, int]
Path_ = list[tuple[str, str]]  # panels and front ports, from the host on


class Room:
    """A room as NetBox exports it, with the path of every lane by construction."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311
        self.tables: dict[str, list[list[str]]] = {
            "devices": [["Name", "Role", "Site", "Rack", "Position", "Comments"]],
            "interfaces": [["Device", "Name", "Label", "Type", "Speed (Kbps)", "Management Only", "Description"]],
            "rear_ports": [["Device", "Name", "Type", "Positions", "Mark Connected", "Description"]],
            "front_ports": [["Device", "Name", "Type", "Mappings", "Mark Connected"]],
            "cables": [["Label", "Device A", "Termination A", "Device B", "Termination B", "Status", "Type"]],
        }
        self.paths: dict[Lane, Path_] = {}
        self.hosts = 0
        self.lost: list[str] = []
        kinds = [self.cassette4, self.breakout, self.several, self.panels_of_12, self.pairs, self.one_by_one]
        for number, kind in enumerate(self.rng.sample(kinds, self.rng.randint(1, 3))):
            kind(f"P{number}")
        if self.rng.random() < 0.5:
            self.cable("h1", "nowhere", "P0" if self.rng.random() < 0.5 else "Q0", "neither", "X1")
            self.lost.append("X1")

    def device(self, name: str, role: str) -> None:
        self.tables["devices"].append([name, role, "dc", f"r{len(self.tables['devices'])}", "1", ""])

    def host(self, lanes: int, split: bool) -> str:
        self.hosts += 1
        name = f"h{self.hosts}"
        self.device(name, "server")
        for lane in range(1, lanes + 1) if split else (0,):
            kind = "100GBASE-X-QSFP28" if split or lanes == 1 else "400GBASE-DR4 (QSFP-DD)"
            port = f"e0/{lane}" if split else "e0"
            self.tables["interfaces"].append(
                [name, port, "e0" if split else "", kind, "100000000" * split, "False", ""]
            )
        return name

    def rear(self, panel: str, name: str, positions: int) -> None:
        self.tables["rear_ports"].append([panel, name, "MPO", str(positions), "False", ""])

    def front(self, panel: str, name: str, places: str) -> None:
        self.tables["front_ports"].append([panel, name, "LC", places, "False"])

    def cable(self, a: str, ports: str, b: str, others: str, label: str = "") -> None:
        ends = [(a, ports), (b, others)]
        self.rng.shuffle(ends)
        label = label or f"K{len(self.tables['cables'])}"
        self.tables["cables"].append([label, *ends[0], *ends[1], "Connected", "SMF"])

    def cassette4(self, panel: str) -> None:
        self.device(panel, "patch panel")
        for box in range(self.rng.randint(2, 4)):
            host = self.host(4, split=False)
            self.rear(panel, f"MPO{box}", 4)
            self.cable(host, "e0", panel, f"MPO{box}")
            for lane in self.rng.sample(range(1, 5), 4):
                self.front(panel, f"L{box}-{lane}", f"MPO{box}:{lane}")
                self.paths[host, "e0", lane] = [(panel, f"L{box}-{lane}")]

    def ports_of_lanes(self, panel: str, split: bool) -> None:
        self.device(panel, "patch panel")
        for box in range(self.rng.randint(2, 4)):
            host = self.host(4, split=split)
            names = [f"{box * 4 + lane}" for lane in range(1, 5)]
            for lane, name in enumerate(names, start=1):
                self.rear(panel, f"R{name}", 1)
                self.front(panel, f"F{name}", f"R{name}:1")
                self.paths[host, "e0", lane] = [(panel, f"F{name}")]
            near = ", ".join(f"e0/{lane} (e0)" for lane in range(1, 5)) if split else "e0"
            self.cable(host, near, panel, ", ".join(f"R{name}" for name in names))

    def breakout(self, panel: str) -> None:
        self.ports_of_lanes(panel, split=False)

    def several(self, panel: str) -> None:
        self.ports_of_lanes(panel, split=True)

    def trunked(self, panel: str, positions: int, behind: list[str], same: bool) -> None:
        """Two panels with trunks between their rear ports; hosts plug into fronts of the first."""
        far = panel.replace("P", "Q")
        self.device(panel, "patch panel")
        self.device(far, "patch panel")
        for box in range(self.rng.randint(1, 2)):
            rear = f"T{box}"
            for name in (panel, far):
                self.rear(name, rear, positions)
            fronts = {
                name: [f"{'' if same else name[0]}{box}{k:02}" for k in range(len(behind))] for name in (panel, far)
            }
            for name, labels in fronts.items():
                rows = [(label, places.format(rear)) for label, places in zip(labels, behind, strict=True)]
                for label, places in self.rng.sample(rows, len(rows)):
                    self.front(name, label, places)
            self.cable(panel, rear, far, rear)
            for place in sorted(self.rng.sample(range(len(behind)), self.rng.randint(1, len(behind)))):
                host = self.host(1, split=False)
                self.cable(host, "e0", panel, fronts[panel][place])
                self.paths[host, "e0", 1] = [(panel, fronts[panel][place]), (far, fronts[far][place])]

    def panels_of_12(self, panel: str) -> None:
        self.trunked(panel, 12, [f"{{0}}:{n}" for n in range(1, 13)], same=True)

    def pairs(self, panel: str) -> None:
        self.trunked(panel, 12, [f"{{0}}:{2 * n - 1}, {{0}}:{2 * n}" for n in range(1, 7)], same=False)

    def one_by_one(self, panel: str) -> None:
        """Two panels whose front and rear ports have the same names, of which an export tells neither."""
        far = panel.replace("P", "Q")
        self.device(panel, "patch panel")
        self.device(far, "patch panel")
        for place in range(1, self.rng.randint(3, 6)):
            for name in (panel, far):
                self.rear(name, str(place), 1)
                self.front(name, str(place), f"{place}:1")
            host = self.host(1, split=False)
            self.cable(host, "e0", panel, str(place))
            self.cable(panel, str(place), far, str(place))
            self.paths[host, "e0", 1] = [(panel, str(place)), (far, str(place))]

    def write(self, folder: Path) -> Path:
        folder.mkdir()
        for name, (head, *rows) in self.tables.items():
            with (folder / f"netbox_{name}.csv").open("w", newline="") as stream:
                csv.writer(stream).writerows([head, *self.rng.sample(rows, len(rows))])
        return folder


def paths_of(inventory: Inventory) -> dict[Lane, Path_]:
    near = {(one.panel, one.panel_port): (one.near, one.near_port) for one in inventory.trunks}
    return {
        (one.host, one.port, one.lane): [near[one.place], one.place] if one.place in near else [one.place]
        for one in inventory.cabling
    }


def walked(folder: Path) -> dict[Lane, Path_]:
    """Walk over the import files, which have one termination an end, from every interface to the free front port."""
    tables = {file.stem[3:]: list(csv.DictReader(file.read_text().splitlines())) for file in sorted(folder.iterdir())}
    through = {(row["device"], "dcim.rearport", row["rear_port"]): row["name"] for row in tables["front-ports"]}
    far: dict[tuple[str, str, str], tuple[str, str, str]] = {}
    for row in tables["cables"]:
        if row["status"] == "connected":
            a, b = ((row[f"side_{s}_device"], row[f"side_{s}_type"], row[f"side_{s}_name"]) for s in "ab")
            far[a], far[b] = b, a
    found: defaultdict[Lane, Path_] = defaultdict(list)
    for row in tables["interfaces"]:
        port, _, lane = row["name"].partition("/")
        here = far.get((row["device"], "dcim.interface", row["name"]))
        while here is not None:
            front = through[here]
            found[row["device"], port, int(lane or 1)].append((here[0], front))
            here = far.get((here[0], "dcim.frontport", front))
    return dict(found)


@pytest.mark.parametrize("seed", range(60))
def test_rooms_are_read_planned_written_and_read_back_with_the_same_paths(seed: int, tmp_path: Path) -> None:
    room = Room(seed)
    inventory = read_netbox(room.write(tmp_path / "export"))
    assert paths_of(inventory) == room.paths
    for label in room.lost:
        assert any(f"cable {label} is omitted: " in note for note in inventory.notes)
    assert len(inventory.notes) == len(room.lost)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for (host, _, lane), path in room.paths.items():
        if lane == 1:
            groups[path[-1][0]].append(host)
    panel, hosts = max(groups.items(), key=lambda item: len(item[1]))
    if len(hosts) > 1:
        check_plan_of(room, inventory, panel, hosts, tmp_path)


def check_plan_of(room: Room, inventory: Inventory, panel: str, hosts: list[str], tmp_path: Path) -> None:
    """Plan a room on hosts of one panel, write it, and hold what is read back against the paths of the room."""
    lanes = sum(host == hosts[0] for host, _, _ in room.paths)
    plan = plan_wiring(
        "complete(2)" if lanes == 1 else f"biring(2,{max(3, len(hosts))})" if len(hosts) > 2 else "complete(2)",
        inventory,
        hosts=hosts if lanes > 1 else hosts[:2],
        mode="duplex",
        speed=None,
    )
    assert {one.a.panel for one in plan.connects} == {panel}
    export_wiring(plan, "netbox", tmp_path / "import")
    again = read_netbox(tmp_path / "import")
    assert paths_of(again) == walked(tmp_path / "import") == room.paths
    for one in plan.connects:  # and in the room as others modelled it, once the patches are in
        room.cable(one.a.panel, one.a.panel_port, one.b.panel, one.b.panel_port)
    assert check_wiring(plan, netbox=room.write(tmp_path / "patched")).ok
    text = (tmp_path / "import" / "10-cables.csv").read_text()
    (tmp_path / "built.csv").write_text(text.replace(",planned,", ",connected,"))
    assert check_wiring(plan, netbox=tmp_path / "built.csv").ok


def chain(folder: Path, cables: list[str], panels: str = "ABC") -> Inventory:
    """Read two hosts and panels of two ports each, whose fronts are F1 and F2 before R1 and R2."""
    folder.mkdir()
    devices = [f"{name},server,dc,r1,1," for name in ("h1", "h2")] + [f"{name},patch panel,dc,r2,1," for name in panels]
    texts = {
        "devices": ["Name,Role,Site,Rack,Position,Comments", *devices],
        "interfaces": [
            "Device,Name,Label,Type,Speed (Kbps),Management Only,Description",
            *(f"{name},e0,,100GBASE-X-QSFP28,100000000,False," for name in ("h1", "h2")),
        ],
        "rear_ports": [
            "Device,Name,Type,Positions,Mark Connected,Description",
            *(f"{name},R{n},LC,1,False," for name in panels for n in (1, 2)),
        ],
        "front_ports": [
            "Device,Name,Type,Mappings,Mark Connected",
            *(f"{name},F{n},LC,R{n}:1,False" for name in panels for n in (1, 2)),
        ],
        "cables": ["Label,Device A,Termination A,Device B,Termination B,Status,Type", *cables],
    }
    for name, lines in texts.items():
        (folder / f"netbox_{name}.csv").write_text("\n".join(lines) + "\n")
    return read_netbox(folder)


def test_the_patch_of_a_whole_path_is_between_two_fronts(tmp_path: Path) -> None:
    cables = [
        *("c1,h1,e0,A,R1,Connected,", "c2,h2,e0,A,R2,Connected,", "c3,A,F1,A,F2,Connected,"),
        "c4,B,R1,B,R2,Connected,",
    ]
    found = chain(tmp_path / "a", cables)
    assert paths_of(found) == {("h1", "e0", 1): [("A", "F1")], ("h2", "e0", 1): [("A", "F2")]}
    assert found.notes == ("cable c4 is omitted: it joins B F1 to what no interface reaches",)
    assert [(port.label, port.blocked) for port in found.panel["B"].ports] == [("F1", True), ("F2", True)]


def test_panels_on_the_way_and_paths_without_a_patch_are_named(tmp_path: Path) -> None:
    way = ["c1,h1,e0,A,F1,Connected,", "c2,A,R1,B,R1,Connected,", "c3,B,F1,C,R1,Connected,"]
    found = chain(tmp_path / "a", way)
    assert paths_of(found) == {("h1", "e0", 1): [("A", "F1"), ("C", "F1")]}
    assert found.notes == ("the path of h1 e0 passes B, which the inventory lacks",)
    assert found.panel_port["B", "F1"].blocked
    direct = [*way[:2], "c4,h2,e0,B,F1,Connected,"]
    found = chain(tmp_path / "b", direct)
    assert not found.cabling
    assert {note.partition(":")[0] for note in found.notes} >= {"cable c1 is omitted", "cable c4 is omitted"}
    assert all("without a patch between front ports" in note for note in found.notes[:2])


def test_ports_that_other_hosts_are_cabled_to_are_taken(tmp_path: Path) -> None:
    found = chain(tmp_path / "a", ["c1,h1,e0,A,R1,Connected,", "c2,stranger,e0,A,R2,Connected,"])
    assert [(port.label, port.blocked) for port in found.panel["A"].ports] == [("F1", False), ("F2", True)]

"""A double of NetBox 4.6: takes import files by the rules of its forms, row by row, and tells what it then has.

Its columns, choices and constraints are those of NetBox's documented import forms; what it answers has the shape of
the answers that are recorded in ``netbox_4_6/``. It shares no code with what writes and reads the files.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Row = dict[str, str]

STATUS = {"sites": {"active", "planned"}, "racks": {"active", "planned"}, "devices": {"active", "planned", "inventory"}}
CABLE_STATUS = {"connected": "Connected", "planned": "Planned", "decommissioning": "Decommissioning"}
CABLE_TYPES = {"smf-os2": "Single-mode Fiber (OS2)", "smf": "Single-mode Fiber"}
PROFILES = {"single-1c1p": (1, "1C1P"), "single-1c2p": (2, "1C2P")}
INTERFACE_TYPES = {
    "1000base-x-sfp": "SFP (1GE)",
    "10gbase-x-sfpp": "SFP+ (10GE)",
    "25gbase-x-sfp28": "SFP28 (25GE)",
    "50gbase-x-sfp56": "SFP56 (50GE)",
    "100gbase-x-qsfp28": "QSFP28 (100GE)",
    "200gbase-x-qsfp56": "QSFP56 (200GE)",
    "400gbase-x-qsfpdd": "QSFP-DD (400GE)",
    "800gbase-x-osfp": "OSFP (800GE)",
    "other": "Other",
}
COLUMNS = {  # required, optional
    "sites": ({"name", "slug", "status"}, {"description", "comments", "facility"}),
    "racks": ({"site", "name", "status", "width", "u_height"}, {"description", "comments", "role"}),
    "manufacturers": ({"name", "slug"}, {"description"}),
    "device-roles": ({"name", "slug", "color"}, {"vm_role", "description"}),
    "device-types": ({"manufacturer", "model", "slug"}, {"u_height", "is_full_depth", "comments"}),
    "devices": (
        {"name", "role", "manufacturer", "device_type", "status", "site"},
        {"rack", "position", "face", "description", "comments"},
    ),
    "interfaces": ({"device", "name", "type"}, {"label", "speed", "enabled", "mark_connected", "description"}),
    "rear-ports": ({"device", "name", "type"}, {"label", "positions", "mark_connected", "description"}),
    "front-ports": (
        {"device", "name", "type", "rear_port"},
        {"label", "positions", "rear_port_position", "mark_connected", "description"},
    ),
    "cables": (
        {"side_a_type", "side_a_name", "side_b_type", "side_b_name"},
        {f"side_{side}_{what}" for side in "ab" for what in ("site", "device")}
        | {"status", "profile", "type", "label", "color", "length", "length_unit", "description", "comments"},
    ),
}
"""The columns of the forms that an inventory has use for; NetBox refuses a file with any other."""

LONGEST = {"name": 64, "label": 100, "slug": 100, "model": 100, "description": 200}


@dataclass
class NetboxDouble:
    """What has been imported: the objects of each kind, with their numbers, in order."""

    objects: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in COLUMNS})

    def load(self, files: Mapping[str, str]) -> None:
        """Import files in the order of their names, all rows or an error for the first that is refused."""
        for name in sorted(files):
            kind = name.partition("-")[2].removesuffix(".csv")
            rows = list(csv.reader(io.StringIO(files[name])))
            header = rows[0]
            required, optional = COLUMNS[kind]
            assert len(set(header)) == len(header), name
            assert set(header) <= required | optional, f"{name}: unknown columns {set(header) - required - optional}"
            assert required <= set(header), f"{name}: missing columns {required - set(header)}"
            for line, cells in enumerate(rows[1:], start=2):
                assert len(cells) == len(header), f"{name} row {line}"
                row = {column: cell.strip() for column, cell in zip(header, cells, strict=True) if cell.strip()}
                assert required <= row.keys(), f"{name} row {line}: empty {required - row.keys()}"
                for column, most in LONGEST.items():
                    assert len(row.get(column, "")) <= most, f"{name} row {line}: {column} is too long"
                getattr(self, f"_add_{kind.replace('-', '_')}")(row)

    def find(self, kind: str, **wanted: object) -> dict[str, Any] | None:
        found = [one for one in self.objects[kind] if all(one[key] == value for key, value in wanted.items())]
        assert len(found) <= 1, (kind, wanted)
        return found[0] if found else None

    def _add(self, kind: str, row: Mapping[str, Any], **unique: object) -> None:
        assert self.find(kind, **unique) is None, f"{kind}: {unique} is there already"
        number = 1 + sum(map(len, self.objects.values()))
        self.objects[kind].append({"id": number, "cable": None, **row})

    def _add_sites(self, row: Row) -> None:
        assert row["status"] in STATUS["sites"]
        assert re.fullmatch("[-a-zA-Z0-9_]+", row["slug"])
        assert self.find("sites", slug=row["slug"]) is None
        self._add("sites", row, name=row["name"])

    def _add_racks(self, row: Row) -> None:
        assert self.find("sites", name=row["site"])
        assert row["status"] in STATUS["racks"]
        assert row["width"] in {"10", "19", "21", "23"}
        assert 1 <= int(row["u_height"]) <= 100
        self._add("racks", row, site=row["site"], name=row["name"])

    def _add_manufacturers(self, row: Row) -> None:
        self._add("manufacturers", row, name=row["name"])

    def _add_device_roles(self, row: Row) -> None:
        assert re.fullmatch("[0-9a-f]{6}", row["color"])
        self._add("device-roles", row, name=row["name"])

    def _add_device_types(self, row: Row) -> None:
        assert self.find("manufacturers", name=row["manufacturer"])
        self._add("device-types", row, model=row["model"])

    def _add_devices(self, row: Row) -> None:
        assert row["status"] in STATUS["devices"]
        assert self.find("device-roles", name=row["role"])
        assert self.find("device-types", manufacturer=row["manufacturer"], model=row["device_type"])
        assert self.find("sites", name=row["site"])
        assert ("position" in row) == ("face" in row)
        if "rack" in row:
            rack = self.find("racks", site=row["site"], name=row["rack"])
            assert rack is not None
            assert "position" not in row or 1 <= int(row["position"]) <= int(rack["u_height"])
        if "position" in row:
            taken = {(one["site"], one["rack"], one.get("position")) for one in self.objects["devices"]}
            assert (row["site"], row["rack"], row["position"]) not in taken, "the unit is taken"
        lower = row["name"].lower()
        assert not any(one["name"].lower() == lower and one["site"] == row["site"] for one in self.objects["devices"])
        assert self.find("devices", name=row["name"]) is None, "a name that the other forms cannot tell apart"
        self._add("devices", {"rack": "", **row}, name=row["name"])

    def _add_interfaces(self, row: Row) -> None:
        assert self.find("devices", name=row["device"])
        assert row["type"] in INTERFACE_TYPES
        assert len(row.get("label", "")) <= 64
        assert 0 <= int(row.get("speed", "0")) < 2**63
        self._add("interfaces", row, device=row["device"], name=row["name"])

    def _add_rear_ports(self, row: Row) -> None:
        assert self.find("devices", name=row["device"])
        assert row["type"] == "lc"
        assert 1 <= int(row.get("positions", "1")) <= 1024
        assert row.get("mark_connected", "false") in {"true", "false"}
        self._add("rear-ports", row, device=row["device"], name=row["name"])

    def _add_front_ports(self, row: Row) -> None:
        rear = self.find("rear-ports", device=row["device"], name=row["rear_port"])
        assert rear is not None
        place = int(row.get("rear_port_position", "1"))
        assert 1 <= place <= int(rear.get("positions", "1"))
        there = [
            o for o in self.objects["front-ports"] if (o["device"], o["rear_port"]) == (row["device"], rear["name"])
        ]
        assert place not in [int(one.get("rear_port_position", "1")) for one in there], "the position is taken"
        assert row.get("mark_connected", "false") in {"true", "false"}
        self._add("front-ports", row, device=row["device"], name=row["name"])

    def _add_cables(self, row: Row) -> None:
        kinds = {"dcim.interface": "interfaces", "dcim.frontport": "front-ports", "dcim.rearport": "rear-ports"}
        assert row.get("status", "connected") in CABLE_STATUS
        assert row.get("profile", "single-1c1p") in PROFILES
        assert row.get("type", "smf") in CABLE_TYPES
        assert len(row.get("color", "")) <= 6
        assert ("length" in row) <= ("length_unit" in row)
        assert Decimal(row.get("length", "0")) >= 0
        ends = []
        for side in "ab":
            device = self.find("devices", name=row[f"side_{side}_device"])
            assert device is not None
            assert row.get(f"side_{side}_site", device["site"]) == device["site"]
            end = self.find(kinds[row[f"side_{side}_type"]], device=device["name"], name=row[f"side_{side}_name"])
            assert end is not None, f"{row[f'side_{side}_name']!r} of {device['name']!r} is not found"
            assert end["cable"] is None, f"{row[f'side_{side}_name']!r} of {device['name']!r} is already connected"
            assert end.get("mark_connected", "false") != "true", "marked as connected"
            ends.append(end)
        assert ends[0] is not ends[1]
        number = 1 + sum(map(len, self.objects.values()))
        cable = {"id": number, "cable": None, **row, "ends": ends}
        self.objects["cables"].append(cable)
        for end in ends:
            end["cable"] = cable

    def trace(self, device: str, name: str) -> tuple[str, str] | None:
        """Return the interface that NetBox's path from an interface leads to; None if it ends before or splits."""
        end, place = self.find("interfaces", device=device, name=name), 1
        while end is not None and (cable := end["cable"]) is not None:
            far = cable["ends"][1] if cable["ends"][0] is end else cable["ends"][0]
            profile = PROFILES[cable["profile"]][0] if "profile" in cable else None
            if profile is not None and place > profile:
                return None
            if far in self.objects["interfaces"]:
                return far["device"], far["name"]
            if far in self.objects["rear-ports"]:
                if profile is None and int(far.get("positions", "1")) > 1:
                    return None  # split: NetBox cannot tell which position it is
                end = next(
                    one
                    for one in self.objects["front-ports"]
                    if (one["device"], one["rear_port"]) == (far["device"], far["name"])
                    and int(one.get("rear_port_position", "1")) == place
                )
                place = 1
            else:
                end = self.find("rear-ports", device=far["device"], name=far["rear_port"])
                place = int(far.get("rear_port_position", "1"))
        return None


ANSWERS = Path(__file__).parent / "netbox_4_6"
"""Answers of NetBox 4.6.8 and its exports, recorded of the room beside them; ``room.yaml`` says how."""

GOOD_TOKEN = f"nbt_{'a' * 12}.{'0123456789' * 4}"


def recorded() -> dict[str, list[dict[str, Any]]]:
    """Return the recorded objects by the part of the address that asks for them."""
    return {path.stem.replace("_", "-"): json.loads(path.read_text()) for path in ANSWERS.glob("*.json")}


class Asked(BaseHTTPRequestHandler):
    """A request, as faults get it."""

    ended: Event
    """Set when nobody asks any more, so that a fault that waits ends."""


@contextmanager
def serving(
    objects: Mapping[str, list[dict[str, Any]]],
    *,
    page: int = 1000,
    token: str = GOOD_TOKEN,
    fault: Callable[[Asked, dict[str, Any]], bool] | None = None,
) -> Iterator[str]:
    """Answer as NetBox's REST API does, at the address that is yielded.

    Parameters
    ----------
    objects
        By kind, as in the address.
    page
        The most objects of an answer, whatever is asked for.
    token
        What is accepted.
    fault
        Gets every request and its answer, and answers itself if it returns true.
    """

    class Handler(Asked):
        protocol_version = "HTTP/1.1"
        wbufsize = 2**16  # so that head and body go together
        ended = Event()

        def handle(self) -> None:
            with suppress(OSError):  # the reader may leave amid an answer
                super().handle()

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()
            self.rfile.close()  # what the base leaves open when its last words find nobody

        def do_GET(self) -> None:  # the name that the base wants
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query))
            scheme = "Bearer" if token.startswith("nbt_") else "Token"
            if self.headers.get("authorization") != f"{scheme} {token}":
                return answer(self, 403, {"detail": "Invalid v1 token"})
            kind = parts.path.removeprefix("/api/dcim/").strip("/")
            if kind not in objects:
                return answer(self, 404, {"detail": "Not found."})
            sites = [int(value) for key, value in parse_qsl(parts.query) if key == "site_id"]
            found = [one for one in objects[kind] if not sites or _sites(one, objects) & set(sites)]
            fields = set(query.get("fields", "").split(",")) - {""}
            found = [{key: one[key] for key in one if not fields or key in fields} for one in found]
            start = int(query.get("offset", "0"))
            end = start + min(page, int(query.get("limit", "50")))
            rest = urlencode([*((k, v) for k, v in parse_qsl(parts.query) if k != "offset"), ("offset", end)])
            following = f"http://{self.headers['host']}{parts.path}?{rest}" if end < len(found) else None
            body = {"count": len(found), "next": following, "previous": None, "results": found[start:end]}
            if fault is None or not fault(self, body):
                answer(self, 200, body)
            return None

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False  # closing the server waits for every answer, so none ends in a later test
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        Handler.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def answer(handler: BaseHTTPRequestHandler, status: int, body: object, *, short: int = 0) -> None:
    """Send an answer as JSON, text as it is; the last ``short`` bytes of it never come."""
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content[: len(content) - short])
    if short:
        handler.close_connection = True


def _sites(one: Mapping[str, Any], objects: Mapping[str, list[dict[str, Any]]]) -> set[int]:
    """Return the sites that an object is at."""
    if "site" in one:
        return {one["site"]["id"]}
    far = [end["object"] for side in "ab" for end in one.get(f"{side}_terminations", ())]
    ends = [one] if "device" in one else far
    devices = {end["device"]["id"] for end in ends}
    return {device["site"]["id"] for device in objects["devices"] if device["id"] in devices} or {one["id"]}

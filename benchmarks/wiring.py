"""Measure wiring plans: one of 1024 nodes on four panels, one of 2048 nodes of degree 16, and placement.

Run it with ``python benchmarks/wiring.py``. Seconds are CPU time of one run in this process and include the proof of
the plan; the seconds for reading the inventory are its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from topodesign import build
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plan.wire import place_hosts

_Result = TypeVar("_Result")


def room(racks: int, lanes: int, panels: int, ports: int, field: str = "") -> str:
    """Return an inventory of racks of 32 hosts, eight in a row, and panels in racks of their own."""
    lines = ["slack: 2m", "racks:"]
    lines += [f"  - {{rack: r{n}, x: {600 * (n % 8)}mm, y: {2400 * (n // 8)}mm}}" for n in range(racks)]
    lines += [f"  - {{rack: p{n}, x: {600 * (n % 8)}mm, y: {2400 * (n // 8) + 1200}mm}}" for n in range(panels)]
    card = f'[{{name: "eth[1-{lanes}]", connector: LC, speed: 25Gbps}}]'
    lines += ["hosts:"]
    lines += [f'  - {{name: "r{n}-[01-32]", rack: r{n}, unit: "[01-32]", ports: {card}}}' for n in range(racks)]
    lines += ["panels:"]
    group = f"field: {field}, " if field else ""
    board = f'kind: patch panel, {group}ports: [{{label: "[1-{ports}]", mode: simplex}}]'
    lines += [f"  - {{name: panel{n}, rack: p{n}, {board}}}" for n in range(panels)]
    return "\n".join(lines) + "\n"


def seconds(action: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def read(text: str) -> Inventory:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "room.yaml"
        path.write_text(text)
        took, inventory = seconds(lambda: read_inventory(path))
    print(f"inventory of {len(inventory.hosts)} hosts, {len(inventory.panel_port)} panel ports: read in {took:.2f} s")
    return inventory


def main() -> None:
    for racks, lanes, panels, ports, specs in (
        (32, 4, 4, 1100, ("genkautz(4,1024)", "torus(32,32)", "circulant(1024,3,41)")),
        (64, 16, 16, 2100, ("genkautz(16,2048)", "circulant(2048,1,2,3,4,5,6,7,8)")),
    ):
        inventory = read(room(racks, lanes, panels, ports))
        for spec in specs:
            topology = build(spec)
            took, plan = seconds(lambda topology=topology, inventory=inventory: make_plan(topology, inventory))  # type: ignore[misc]
            print(f"  {spec:32} {panels} panels, {plan.mode}: {len(plan.connects)} cross-connects in {took:.2f} s")
    inventory = read(room(32, 4, 32, 128, "hall"))
    for spec in ("torus(32,32)", "genkautz(4,1024)"):
        topology = build(spec)
        plain = make_plan(topology, inventory).bill().metres
        took, plan = seconds(lambda topology=topology, inventory=inventory: place_hosts(topology, inventory))  # type: ignore[misc]
        placed = plan.bill().metres
        print(f"  {spec:32} placed in {took:.2f} s: {float(plain or 0):g} m of cable become {float(placed or 0):g} m")


if __name__ == "__main__":
    main()

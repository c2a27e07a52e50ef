"""Random rooms, with a topology that is likely to be wired in each."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import (
    LANES,
    POLARITIES,
    PORT_SIDES,
    Connector,
    Host,
    Losses,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Port,
    Trunk,
)
from topodesign.wiring.inventory.inventory import Inventory

_SPEED = Fraction(25 * 10**9)


def random_room(seed: int) -> tuple[Inventory, Topology, Mode]:
    """Return a room of panels or switches, with one or two sides, trunks, breakouts to 16 lanes, losses and lengths."""
    rng = Random(seed)  # noqa: S311  no secret
    mode: Mode = rng.choice(["simplex", "duplex"])
    connector: Connector = rng.choice(list(LANES))
    sockets = rng.randint(1, 4) if connector == "LC" else 1
    lanes, count = LANES[connector] * sockets, rng.randint(4, 9)
    parts = rng.choice([one for one in (1, 2, 3, 4) if one <= lanes])
    two_sided = mode == "duplex" and lanes >= 2 and rng.random() < 0.3
    kind: PanelKind = "ocs" if two_sided else rng.choice(["ocs", "patch panel"])
    together = kind == "patch panel" and rng.random() < 0.5
    budget = rng.choice([None, Fraction(3), Fraction(4, 5)])
    ports = [Port(f"p{row}", connector, _SPEED, rng.choice(POLARITIES), budget) for row in range(sockets)]
    hosts = [Host(f"h{row}", "s", f"r{row % 3}", 1 + row, tuple(ports)) for row in range(count)]
    size = count * (-(-lanes // parts) + lanes % 2 + rng.randint(0, 1)) + 1
    panels = []
    for row in range(parts):
        some = [
            PanelPort(
                f"{port + 1:03}",
                "duplex" if two_sided else "simplex",
                loss_db=rng.choice([None, None, Fraction(1, 4)]),
                side=PORT_SIDES[1 + port % 2] if two_sided else "",
            )
            for port in range(size + size % 2)
        ]
        circuit = rng.choice([None, Fraction(2)]) if kind == "ocs" else None
        field = "hall" if together else f"P{row}"
        panels.append(Panel(f"P{row}", "s", f"x{row}", 5, kind, tuple(some), field, circuit_db=circuit))
    trunks = []
    if rng.random() < 0.5:
        for panel in panels[: rng.randint(1, parts)]:
            near = [PanelPort(f"n{row}", port.mode, loss_db=port.loss_db) for row, port in enumerate(panel.ports)]
            panels.append(Panel(f"N{panel.name}", "s", "r1", 30, "patch panel", tuple(near), f"N{panel.name}"))
            trunks += [
                Trunk(panel.name, port.label, f"N{panel.name}", one.label, rng.choice([None, Fraction(1, 2)]))
                for port, one in zip(panel.ports, near, strict=True)
            ]
    racks = {f"r{row}": (Fraction(row), Fraction(0)) for row in range(3)}
    racks |= {f"x{row}": (Fraction(row, 2), Fraction(7, 2)) for row in range(parts)}
    room = Inventory(
        tuple(hosts),
        tuple(panels),
        racks={"s": racks} if rng.random() < 0.8 else {},
        slack=Fraction(1, 2),
        stock={"LC simplex": (Fraction(3, 2), Fraction(9))} if rng.random() < 0.3 else {},
        trunks=tuple(trunks),
        losses=rng.choice([Losses(), Losses(Fraction(1, 5), Fraction(2, 5), Fraction(1, 10), 2)]),
    )
    return room, _topology(rng, count, lanes - lanes % 2 if two_sided else lanes, mode), mode


def _topology(rng: Random, nodes: int, lanes: int, mode: Mode) -> Topology:
    """Return random links: unions of permutations, both ways round in a duplex topology."""
    links: list[tuple[int, int]] = []
    for _ in range(rng.randint(1, max(lanes // 2, 1)) if mode == "duplex" else rng.randint(1, lanes)):
        order = rng.sample(range(nodes), nodes)
        if mode == "duplex" and lanes == 1:
            pairs = list(zip(order[::2], order[1::2], strict=False))
        else:
            pairs = list(zip(order, order[1:] + order[:1], strict=True))
        links += pairs + ([pair[::-1] for pair in pairs] if mode == "duplex" else [])
    return Topology.from_links(nodes, links)

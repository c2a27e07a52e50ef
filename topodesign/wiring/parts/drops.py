"""What leads from the ports of a host to panels by one way of cabling: cords, breakouts and shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.devices import Place
from topodesign.wiring.parts.parts import Part, Piece
from topodesign.wiring.parts.ways import PortRun, Rack, Shop, Way, rack_of


class Option(NamedTuple):
    """How a group of ports may be cabled: the way, and of shuffles which, with which type of array cord."""

    way: Way
    shuffle: Part | None = None
    kind: str = ""
    crosses: bool = False  # whether the array cord does

    @property
    def bundle(self) -> tuple[str, str]:
        """What its bundles have in common."""
        return (self.shuffle.name, self.kind) if self.shuffle is not None else ("", "")


class Drop(NamedTuple):
    """The cords of a lane at the two ends of a bundle; none at the near end of a breakout or a shuffle."""

    near: Piece | None
    far: Piece
    near_crosses: bool
    far_crosses: bool
    circulator: Piece | None = None  # behind the near cord, or the leg of a breakout

    @property
    def price(self) -> Fraction:
        """What they cost."""
        return sum((one.price for one in (self.far, self.near, self.circulator) if one is not None), Fraction(0))


def outputs_of(option: Option, run: PortRun) -> dict[int, Rack]:
    """Return the rack that each output of a shuffle leads to; raises InfeasibleError if it would be several."""
    if option.shuffle is None:
        return {}
    width = run.port.lanes // option.shuffle.fronts
    found: dict[int, Rack] = {}
    for lane, rack in run.racks:
        output = (lane - 1) // width + 1
        if rack == rack_of(run.place) or found.setdefault(output, rack) != rack:
            raise InfeasibleError("lanes of one output of the shuffle end in several racks, or stay in their own")
    return found


def lone_drop(shop: Shop, run: PortRun, start: Place, end: Place) -> Drop | None:
    """Return the cords of a lane that goes by one fibre, from some place on to a panel; None if there are none."""
    near = shop.near_cord(run) if run.port.lanes == 1 else None
    far = shop.cord(shop.ends, start, end)
    if far is None or (near is None and run.port.lanes == 1):
        return None
    return Drop(near, far, near_crosses=False, far_crosses=False, circulator=shop.circulator)


def lone_drops(shop: Shop, run: PortRun) -> list[Drop] | None:
    """Return the cords of all lanes of a port from circulators at its rack's top to panels; None if some has none."""
    drops = [lone_drop(shop, run, shop.top(rack_of(run.place)), end) for _, end in run.ends.values()]
    found = [drop for drop in drops if drop is not None]
    return found if len(found) == len(drops) else None


def near_piece(shop: Shop, run: PortRun, option: Option, *, inside: bool = False) -> Piece | None:
    """Return what leads from a port to cassettes or a shuffle of its rack; None for a cord of one lane, or if none.

    Lanes that end at a panel in that rack go there at once, unless all shall end ``inside``, at circulators.
    """
    top = shop.top(rack_of(run.place))
    if option.shuffle is not None:
        return shop.cord(run.port.connector, run.place, top, kind=option.kind)
    if run.port.lanes == 1:
        return None
    ends = {
        lane: end if not inside and rack_of(end) == rack_of(run.place) else top for lane, (_, end) in run.ends.items()
    }
    return shop.breakout(run, ends)


def boxes(option: Option, ports: Sequence[PortRun]) -> int:
    """Return how many shuffles some ports need."""
    return 0 if option.shuffle is None else -(-len(ports) // option.shuffle.count)

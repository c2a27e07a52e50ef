"""Cross-connects of a plan: patches, circuits and spare lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from topodesign.base.declared import Declared
from topodesign.wiring.inventory.devices import Fixed, Mode

End: TypeAlias = Fixed  # one end of a cross-connect: the panel port, and the lane that the fixed cabling brings there


@dataclass(frozen=True, slots=True)
class CrossConnect:
    """Patch, or circuit of a switch.

    * ``mode``: ``simplex``: light goes from side A of the panel port of ``a`` to side B of that of ``b``, which makes
      the link u -> v. ``duplex``: both fibres, which makes the links u -> v and v -> u.
    * ``a``, ``b``: the ends; their panels differ only within a field.
    """

    cable: str  # its name, unique in the plan
    mode: Mode
    a: End
    b: End

    KEYS = "cable mode from_*=a to_*=b"

    @property
    def ways(self) -> tuple[tuple[End, End], ...]:
        """Entry and exit ends of light, for each direction."""
        there = self.a, self.b
        return (there,) if self.mode == "simplex" else (there, there[::-1])


@dataclass(frozen=True, slots=True)
class Spare(Declared):
    """Cabled lane with a free transmitter, receiver or both.

    * ``transmit``, ``receive``: whether the transmitter (side A) and the receiver (side B) are free.
    """

    end: End  # the lane and its panel port
    transmit: bool
    receive: bool
    self_loop: bool  # whether the lane is free because of a self-loop, which uses up a port and is not patched

    KEYS = "*end transmit receive self_loop"
    SHARED = "spare"

    def __str__(self) -> str:
        part = {(True, True): "", (True, False): "transmitter of ", (False, True): "receiver of "}
        loop = " (self-loop)" if self.self_loop else ""
        return f"{part[self.transmit, self.receive]}{self.end.host} {self.end.port}/{self.end.lane}{loop}"


class Fibre(NamedTuple):
    """Place that one end of a patch occupies."""

    panel: str
    panel_port: str
    side: str  # ``A`` or ``B``; ``AB`` for both, of a duplex patch

    @property
    def name(self) -> str:
        """Panel, port and single side, such as ``panel1:12B``."""
        return f"{self.panel}:{self.panel_port}{self.side if len(self.side) == 1 else ''}"


def fibres(connect: CrossConnect) -> tuple[Fibre, Fibre]:
    """Return the places of the two ends of a patch."""
    sides = ("A", "B") if connect.mode == "simplex" else ("AB", "AB")
    return Fibre(*connect.a.place, sides[0]), Fibre(*connect.b.place, sides[1])

"""The simulator's network, as its congestion-aware backend counts.

ASTRA-sim's analytical backend knows networks of one dimension whose links are all alike: ``FullyConnected`` has one in
each direction between any two ranks, ``Switch`` one from every rank to a switch and one back, which stores what it
forwards. A link serves one message after the other, in the order in which they come: it is busy for size / bandwidth,
and the message is there a latency after that. Times are whole nanoseconds, cut off, from a calculation in doubles, and
a bandwidth of one GB/s is 2^30 bytes per second. Read in ``congestion_aware/network/Link.cpp`` and
``common/NetworkFunction.cpp`` of astra-sim/astra-network-analytical (599a047).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.declared import Declared
from topodesign.base.errors import FileFormatError
from topodesign.base.tables import LocatedValue, parse_yaml
from topodesign.base.text_files import naming, read_text

SHAPES = ("FullyConnected", "Switch")  # words for ``topology`` that are understood here
_LARGEST_FILE = 2**20
_MAX_NUMBER = 10.0**12
_DECIMAL = re.compile(r"[0-9]{1,20}(\.[0-9]{0,60})?([eE][-+]?[0-9]{1,3})?")

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Network(Declared):
    """A network as the simulator's file says it."""

    shape: str  # one of `SHAPES`
    ranks: int  # number of ranks
    bandwidth: float  # of a link, in 2^30 bytes per second
    latency: float  # of a link, in nanoseconds

    KEYS = "shape ranks bandwidth latency"

    def route(self, src: int, dst: int) -> tuple[Link, ...]:
        """Return the links that a message takes."""
        return ((src, self.ranks), (self.ranks, dst)) if self.shape == "Switch" else ((src, dst),)


class Clock:
    """Nanoseconds that messages occupy a link and travel.

    Whole ones as the simulator counts them, with its doubles and where it cuts off; or exactly.
    """

    def __init__(self, network: Network, *, exact: bool = False) -> None:
        self._number: Callable[[Any], Any] = Fraction if exact else int
        self._latency = Fraction(network.latency) if exact else network.latency
        self._rate: Any = network.bandwidth * (1 << 30) / 1_000_000_000
        if exact:
            self._rate = Fraction(network.bandwidth) * 2**30 / 10**9

    def busy(self, size: int) -> Any:
        """Return size / bandwidth."""
        return self._number(size / self._rate)

    def under_way(self, size: int) -> Any:
        """Return latency + size / bandwidth."""
        return self._number(self._latency + size / self._rate)


def read_network(path: Path) -> Network:
    """Return the network of a file."""
    with naming(path):
        document = parse_yaml(read_text(path, largest=_LARGEST_FILE)).value
        if not isinstance(document, dict):
            raise FileFormatError("no network: it has no fields")
        shape, ranks = _only(document, "topology"), _only(document, "npus_count")
        if shape not in SHAPES:
            raise FileFormatError(f"a network of {shape[:50]!r}; understood are {' and '.join(SHAPES)}")
        if not ranks.isdecimal() or len(ranks) > 5 or not 2 <= int(ranks) <= 2**16:
            raise FileFormatError(f"npus_count {ranks[:50]!r} is not a number from 2 to {2**16}")
        bandwidth, latency = (_number(_only(document, name), name) for name in ("bandwidth", "latency"))
        if not bandwidth:
            raise FileFormatError("the bandwidth is zero")
        return Network(shape, int(ranks), bandwidth, latency)


def _only(document: dict[Any, Any], name: str) -> str:
    """Return the one value of a field: networks have one dimension."""
    located = document.get(name)
    values = located.value if isinstance(located, LocatedValue) else None
    if not isinstance(values, list) or len(values) != 1 or not isinstance(values[0].value, str):
        raise FileFormatError(f"{name} is to be a list of one, for the one dimension that is understood here")
    return str(values[0].value)


def _number(text: str, name: str) -> float:
    if not _DECIMAL.fullmatch(text) or float(text) > _MAX_NUMBER:
        raise FileFormatError(f"{name} {text[:50]!r} is not a number from 0 to 1e12")
    return float(text)

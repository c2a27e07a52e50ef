"""A box as a tool describes it.

Its accelerators, links between them, PCIe tree and network cards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import exact_rate
from topodesign.fabrics.drawing import GB, check_boxes, duplex, make_fabric, rails
from topodesign.fabrics.fabric import Fabric, FabricLink

CARD = "card"  # how the name of what several ports of one card hang on begins
Rate = Fraction | None
"""GB/s in each direction, or None where the tool does not say."""


@dataclass(frozen=True)
class Machine:
    """One box.

    * ``direct``: of pairs that have such a link, how many of them and what one of them carries; one end may be a
      processor.
    * ``switched``: of accelerators on a switch of such links, the same.
    * ``above``: what each accelerator, card and PCIe switch hangs on, and what is between; processors hang on nothing.
      Ports of a card hang on the card if it has several.
    * ``hosts``: host of each processor, of a domain of several.
    * ``notes``: what the reader of the tool took for granted, a sentence each.
    """

    gpus: tuple[str, ...]  # names of the accelerators, in the order of the tool
    kind: str  # what the links between them are called, such as ``NVLink``
    direct: Mapping[tuple[str, str], tuple[int, Rate]] = field(default_factory=dict)
    switched: Mapping[str, tuple[int, Rate]] = field(default_factory=dict)
    reducing: bool = False  # whether that switch copies and adds
    above: Mapping[str, tuple[str, Rate]] = field(default_factory=dict)
    nics: Mapping[str, Rate] = field(default_factory=dict)  # network cards, and what each carries
    hosts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise FileFormatError if there is nothing that could send."""
        if not self.gpus:
            raise FileFormatError("no accelerator is named")

    @property
    def joined(self) -> bool:
        """Whether links between accelerators, and their switch, join all of them."""
        near: dict[str, set[str]] = defaultdict(set)
        for a, b in [*self.direct, *combinations(self.switched, 2)]:
            near[a].add(b)
            near[b].add(a)
        found, border = {self.gpus[0]}, [self.gpus[0]]
        while border:
            fresh = near[border.pop()] - found
            found |= fresh
            border += fresh
        return found.issuperset(self.gpus)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Names of what everything hangs on: processors, or parts of them."""
        tops = {top for top, _ in self.above.values()} - self.above.keys()
        return tuple(sorted(tops, key=lambda name: (len(name), name)))

    def way_up(self, name: str) -> list[str]:
        """Return a device and all that it hangs on."""
        way = [name]
        while way[-1] in self.above:
            way.append(self.above[way[-1]][0])
        return way

    def distance(self, a: str, b: str) -> int:
        """Return the number of PCIe and socket links between two devices."""
        up, down = self.way_up(a), self.way_up(b)
        meet = next((step for step, name in enumerate(up) if name in down), None)
        return len(up) + len(down) - 1 if meet is None else meet + down.index(up[meet])


@dataclass(frozen=True)
class Rates:
    """Rates that tools leave open, in GB/s.

    Of a link between accelerators, of PCIe, between processors, of a card.
    """

    link: Rate = None
    pcie: Rate = None
    sockets: Rate = None
    nic: Rate = None


_ASSUMED = {
    "link": (Fraction(25), "NVLink 2 to 4, by data sheets of V100, A100 and H100"),
    "pcie": (Fraction(32), "PCIe 4.0 with 16 lanes"),
    "sockets": (Fraction(336, 5), "three UPI links of 22.4GB/s"),
}
_KNOWN = "NVLink"  # the kind of links of which one is taken for what nearly all are
_WORDS = {"link": "a link between accelerators", "pcie": "PCIe", "sockets": "between processors"}


def fabric_of(machine: Machine, name: str, boxes: int, rates: Rates, pcie: bool | None) -> tuple[Fabric, list[str]]:
    """Return a number of equal boxes as a fabric, and the assumptions made.

    One sentence per assumption.

    Cards with the same place in all boxes share a switch, a rail. ``rates`` count where the machine does not say;
    ``pcie`` says whether PCIe is part of it, None for where links between accelerators do not join all of them.
    ParameterError or TooLargeError if there is no way between accelerators, boxes have no cards, what cards carry is
    open, or there are too many.
    """
    check_boxes(boxes, len(machine.gpus))
    filled = _Filled(rates, machine)
    with_tree = not machine.joined if pcie is None else pcie
    if with_tree and not machine.roots:
        raise ParameterError("what the accelerators hang on is not specified, and so PCIe cannot be part of the fabric")
    if boxes > 1 and not machine.nics:
        raise ParameterError("no network card is named, and so several boxes cannot be joined")
    places = dict(_cards(machine, with_tree)) if boxes > 1 else {}
    cards = {card: (at, filled.nic(card, with_tree=with_tree)) for card, at in places.items()}
    held = [end for end in dict.fromkeys(end for pair in machine.direct for end in pair) if end not in machine.gpus]
    links: list[FabricLink] = []
    switches: list[str] = []
    capable: list[str] = []
    for box in range(boxes):
        here = f"box{box}/"
        links += _between(machine, here, filled)
        if machine.switched:
            switches.append(f"{here}nvswitch")
            capable += [switches[-1]] if machine.reducing else []
        if with_tree:
            links += _tree(machine, here, filled)
            switches += [here + top for top in _select_parts(machine)]
        switches += [here + end for end in held if here + end not in switches]
        for rail, (at, rate) in enumerate(cards.values()):
            links += duplex(here + at, f"rail{rail}", rate, "network")
    outer = rails(len(cards))
    nodes = [f"box{box}/{gpu}" for box in range(boxes) for gpu in machine.gpus]
    fabric = make_fabric(name, nodes, [*switches, *outer], links, multicast=capable, aggregation=capable)
    return fabric, filled.sentences


class _Filled:
    """Rates as they are filled in; what was assumed is kept."""

    def __init__(self, rates: Rates, machine: Machine) -> None:
        self._rates = rates
        self._machine = machine
        self.sentences: list[str] = list(machine.notes)

    def rate(self, what: str, said: Rate) -> Fraction:
        """Return the given rate, that of the machine, or an assumed one."""
        given: Rate = getattr(self._rates, what)
        if given is not None or said is not None:
            return given if given is not None else said  # type: ignore[return-value]
        if what == "link" and self._machine.kind != _KNOWN:
            raise ParameterError(
                f"the rate of a link of {self._machine.kind} is not specified; "
                "give it as --link, such as 64GB/s of MI300X"
            )
        rate, source = _ASSUMED[what]
        self.say(f"{_WORDS[what]}: {exact_rate(rate * GB)} is assumed ({source}); --{what} changes it")
        return rate

    def say(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence not in self.sentences:
            self.sentences.append(sentence)

    def nic(self, card: str, *, with_tree: bool) -> Fraction:
        """Return the rate of a card, limited by its PCIe link.

        Nothing is assumed of the card itself.
        """
        machine = self._machine
        rate = self._rates.nic if self._rates.nic is not None else machine.nics[card]
        if rate is None:
            raise ParameterError(f"the rate of {card} is not specified; give it as --nic, such as --nic 400Gbps")
        top, own = machine.above.get(card, ("", None))
        ports = [one for one in machine.nics if machine.above.get(one, ("", None))[0] == top]
        if top.startswith(CARD) and not with_tree:
            whole = machine.above[top][1]
            own = None if whole is None else whole / len(ports)
        if own is None or own >= rate:
            return rate
        shared = f", shared by {len(ports)} ports" if top.startswith(CARD) else ""
        self.say(f"{card} carries {exact_rate(own * GB)}, as its PCIe does{shared}, and not {exact_rate(rate * GB)}")
        return own


def _between(machine: Machine, here: str, filled: _Filled) -> Iterator[FabricLink]:
    """Yield the links between accelerators, and to their switch."""
    for (a, b), (count, rate) in machine.direct.items():
        yield from duplex(here + a, here + b, count * filled.rate("link", rate), machine.kind)
    for gpu, (count, rate) in machine.switched.items():
        yield from duplex(here + gpu, f"{here}nvswitch", count * filled.rate("link", rate), machine.kind)


def _select_parts(machine: Machine) -> list[str]:
    """Return the processors and PCIe switches that have devices below."""
    needed = {top for name in [*machine.gpus, *machine.nics] if name in machine.above for top in machine.way_up(name)}
    devices = {*machine.gpus, *machine.nics}
    return [name for name in [*machine.roots, *machine.above] if name in needed - devices]


def _tree(machine: Machine, here: str, filled: _Filled) -> Iterator[FabricLink]:
    """Yield the links of PCIe, and between processors."""
    kept = set(_select_parts(machine))
    for name, (top, rate) in machine.above.items():
        if name in kept or name in machine.gpus:
            yield from duplex(here + name, here + top, filled.rate("pcie", rate), "PCIe")
    for a, b in combinations([top for top in machine.roots if top in kept], 2):
        if machine.hosts.get(a) != machine.hosts.get(b):
            continue
        yield from duplex(here + a, here + b, filled.rate("sockets", None), "socket")


def _cards(machine: Machine, with_tree: bool) -> Iterator[tuple[str, str]]:
    """Yield each card with the device it is attached to."""
    served = dict.fromkeys(machine.gpus, 0)
    for card in machine.nics:
        if with_tree and card in machine.above:
            yield card, machine.above[card][0]
            continue
        at = min(machine.gpus, key=lambda gpu: (machine.distance(card, gpu), served[gpu]))
        served[at] += 1
        yield card, at

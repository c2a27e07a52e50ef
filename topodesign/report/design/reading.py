"""Request parser for files and arguments, with one-line errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

from topodesign.base import retired
from topodesign.base.arguments import as_path
from topodesign.base.cost import keeps_port_free
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.options import collect_options
from topodesign.base.tables import LocatedValue, parse_yaml
from topodesign.base.text_files import read_text
from topodesign.base.units import as_bandwidth, as_time, read_number
from topodesign.base.wording import suggest
from topodesign.fabrics.boxes import Box
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.networks import names_file
from topodesign.fabrics.places import as_place
from topodesign.pricing.mix import PRICED, Mix, Share, mix_of, read_mix
from topodesign.pricing.training.traffic import StepMix
from topodesign.pricing.workload import Workload, as_workload
from topodesign.report.boxes.frontier import as_box
from topodesign.report.comparison.contender import PRICED as BOUGHT
from topodesign.report.comparison.everyday import EVERYDAY
from topodesign.report.design.boxed import RAILS
from topodesign.report.design.fields import RequestOptions
from topodesign.report.design.request import Request
from topodesign.schedulers.step import as_step
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.answers import init_wiring
from topodesign.wiring.inventory.devices import MODES, PANEL_KINDS
from topodesign.wiring.inventory.files import as_inventory
from topodesign.wiring.inventory.inventory import Inventory

_LARGEST_FILE = 2**20
_ROOM = ("panels", "panel_ports", "kind", "mode", "connector")
_MAX_PRICE = 10**12


def read_request(path: str | Path) -> Request:
    """Read a request from a YAML or JSON file.

    Paths in it are relative to its directory.
    """
    source = as_path(path)
    with expecting(source, FileKind.REQUEST):
        document = parse_yaml(read_text(source, (".yaml", ".yml", ".json"), _LARGEST_FILE))
        if not isinstance(document.value, dict):
            raise FileFormatError(f"line {document.line}: expected the fields of a request, such as nodes: 200")
        return _request(document, source.parent, source.stem)


def request_of(given: Mapping[str, Any]) -> Request:
    """Return a request from arguments.

    Raises
    ------
    ParameterError
        If one is wrong, or they contradict each other.
    """
    try:
        return _request(_locate({name: value for name, value in given.items() if value is not None}), None, "")
    except FileFormatError as error:
        raise ParameterError(str(error).removeprefix("line 0: ")) from None


def _locate(value: Any) -> LocatedValue:
    """Convert an argument to the form that files have."""
    if isinstance(value, Mapping):
        return LocatedValue({str(name): _locate(one) for name, one in value.items()}, 0)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple | range | set):
        return LocatedValue([_locate(one) for one in value], 0)
    return LocatedValue(value, 0)


def _request(document: LocatedValue, folder: Path | None, name: str) -> Request:
    fields = Fields(document, folder)
    if "boxes" in fields and "nodes" in fields:
        fields.wrong("boxes", "there are nodes, too; give one of them")
    if "box" in fields and "boxes" not in fields:
        fields.wrong("box", "say how many 'boxes' there are")
    box = _box(fields) if "boxes" in fields else None
    plain = "room" not in fields or isinstance(fields.given["room"].value, dict)
    room = None if plain else _inventory(fields)
    if plain and box is None:
        fields.needs("nodes", "how many hosts or accelerators")
        fields.needs("degree", "how many ports each has")
    if "model" in fields and "workload" in fields:
        fields.wrong("model", "there is a workload, too; give one of them")
    step = _step(fields) if "model" in fields else None
    if step is None:
        fields.needs("workload", "what a training step sends; or give a 'model'")
    if box is not None:
        nodes, degree = fields.whole("boxes"), fields.whole("degree") if "degree" in fields else len(box.nics)
        work = _of_box(box, degree)
    else:
        nodes = fields.whole("nodes") if "nodes" in fields or room is None else len(room.hosts)
        degree = fields.whole("degree") if "degree" in fields or room is None else max(one.lanes for one in room.hosts)
        work = _work(fields)
    ranks = nodes if box is None else nodes * len(box.nodes)
    if step is not None and step.model is not None and step.model.ranks != ranks:
        there = f"{nodes} nodes" if box is None else f"{ranks} accelerators in {nodes} boxes"
        fields.wrong(
            "model",
            f"it has {step.model.ranks} ranks (tensor x data x pipeline), and there are {there}; change one, such as "
            "data",
        )
    mix = _mix(fields) if step is None else mix_of_step(step)
    cabling = fields.word("cabling")
    if cabling == "duplex" and degree == 1 and nodes > 2:
        fields.wrong("degree", f"one duplex port each cannot connect {nodes} nodes; give 2 or more")
    grow = _growth(fields, nodes)
    if room is None and "room" in fields:
        room = _plan_room(fields, max((nodes, *grow)), degree)
    _check_room(fields, room, nodes, degree)
    survive = fields.whole("survive") if "survive" in fields else 0
    least = degree - keeps_port_free(nodes, degree, duplex=cabling == "duplex")
    if survive >= max(least, 1):
        fields.wrong("survive", f"a node of {degree} ports is cut off by {least} failures; give at most {least - 1}")
    prices, watts = (_amounts(fields, name) for name in ("prices", "watts"))
    aim = fields.word("optimise")
    rivals, given = _rivals(fields)
    if aim != "time" and not prices:
        fields.wrong("optimise", f"{aim} needs prices: of a cable, a port, a switch or a switch-port")
    return Request(
        _name(fields, name, nodes, degree),
        nodes,
        degree,
        Workload(work.alpha, tuple(dict.fromkeys(one.size for one in mix.shares)), work.bandwidth, work.gap, work.hop),
        mix,
        cabling,
        rivals,
        prices,
        watts,
        survive,
        grow,
        aim,
        room,
        box,
        step,
        given,
    )


def _work(fields: Fields) -> Workload:
    fields.needs("bandwidth", "of a node over all its ports, such as 400Gbps")

    def seconds(said: Any) -> Fraction:
        return as_time(said, latency=True)

    alpha = fields.read("alpha", seconds) if "alpha" in fields else "10us"
    rest = {name: fields.amount(name, seconds) for name in ("gap", "hop")}
    return as_workload(alpha, 1, fields.read("bandwidth", as_bandwidth), **rest)


def _box(fields: Fields) -> Box:
    """Return the box of a request; reject contradictory fields."""
    fields.needs("box", "what each box is, such as dgx_h100")
    for name in ("bandwidth", "alpha", "gap", "hop"):
        if name in fields:
            fields.wrong(name, "boxes have bandwidths and latencies of their own; omit it")
    named = names_file(str(fields.given["box"].value))
    box = as_box(fields.path("box")) if named else fields.read("box", as_box)
    fields.whole("boxes")
    if "degree" in fields and fields.whole("degree") > len(box.nics):
        fields.wrong("degree", f"a box {box.name} has {len(box.nics)} ports; ask for as many or fewer")
    return box


def _of_box(box: Box, degree: int) -> Workload:
    """Return cable latency and box bandwidth for some of its ports."""
    rate = 8 * box.nic_bandwidth * degree / len(box.nics)
    return as_workload(dict(box.latency).get(box.kind, "10us"), 1, rate)


def _step(fields: Fields) -> StepMix:
    """Return the training step of a model, from file or fields."""
    said = fields.given["model"]
    if isinstance(said.value, list):
        fields.wrong("model", "expected a file, or the fields of a model below")
    if "grow" in fields:
        fields.wrong("grow", "a model has as many ranks as there are nodes, so that none can come; give a 'workload'")
    if isinstance(said.value, dict):
        try:
            return as_step({name: one.value for name, one in said.value.items()})
        except TopodesignError as error:
            fields.wrong("model", str(error))
    path = fields.path("model")
    return fields.read("model", lambda _: as_step(path))


def mix_of_step(step: StepMix) -> Mix:
    """Return the collectives of a step as if among all nodes.

    They serve to select topologies that may be fast.
    """
    shares = [Share(one.collective, one.size, many) for one, many in step.counts.items() if one.collective in PRICED]
    return Mix(step.name, tuple(shares) or (Share("allreduce", Fraction(2**20)),))


def _name(fields: Fields, name: str, nodes: int, degree: int) -> str:
    if "name" in fields:
        said = str(fields.read("name", str)).strip()
        if not said or len(said) > 100 or not said.isprintable():
            fields.wrong("name", "expected text of one line, up to 100 letters")
        return said
    return name or f"{nodes} {'boxes' if 'boxes' in fields else 'nodes'} of degree {degree}"


def _mix(fields: Fields) -> Mix:
    said = fields.given["workload"]
    if isinstance(said.value, Mix):
        return said.value
    if isinstance(said.value, dict):
        return mix_of(_as_text(said), "workload")
    if isinstance(said.value, list):
        fields.wrong("workload", "expected a file, or 'collectives' with a list below")
    path = fields.path("workload")
    return fields.read("workload", lambda _: read_mix(path))


def _as_text(place: LocatedValue) -> LocatedValue:
    """Convert all values of a tree to text; whole numbers are sizes in bytes."""
    if isinstance(place.value, dict):
        text = {name: _as_text(one) for name, one in place.value.items()}
        if not isinstance(getattr(place.value.get("size"), "value", ""), str):
            text["size"] = LocatedValue(f"{text['size'].value}B", place.line)
        return LocatedValue(text, place.line)
    if isinstance(place.value, list):
        return LocatedValue([_as_text(one) for one in place.value], place.line)
    return place if isinstance(place.value, str) else LocatedValue(str(place.value), place.line)


def _inventory(fields: Fields) -> Inventory:
    said = fields.given["room"]
    if isinstance(said.value, Inventory):
        return said.value
    if isinstance(said.value, list):
        fields.wrong("room", "expected the path of an inventory, or its panels")
    path = fields.path("room")
    return fields.read("room", lambda _: as_inventory(path))


def _plan_room(fields: Fields, nodes: int, degree: int) -> Inventory:
    """Return a room from a few answers, with hosts for growth."""
    answers: dict[str, Any] = {"connector": "LC"}
    known = fields.given["room"].value
    for name, value in known.items():
        if name not in _ROOM:
            wrong_at(value, f"room: unknown field {name[:50]!r}; {suggest(name, _ROOM, most=1, like=0.6)}")
        words = {"kind": PANEL_KINDS, "mode": MODES, "connector": ("LC", "MPO-12")}.get(name)
        if words is not None and value.value not in words:
            wrong_at(value, f"room: {name} is one of {', '.join(words)}, not {str(value.value)[:50]!r}")
        answers[name] = value.value if words is not None else fields.read("room", number_of, value)
    try:
        return init_wiring(nodes, ports=degree, name="room", **answers)
    except TopodesignError as error:
        fields.wrong("room", str(error))


def _check_room(fields: Fields, room: Inventory | None, nodes: int, degree: int) -> None:
    if room is None:
        return
    if nodes > len(room.hosts):
        fields.wrong("nodes", f"the room has {len(room.hosts)} hosts, not {nodes}")
    most = max(one.lanes for one in room.hosts)
    if degree > most:
        fields.wrong("degree", f"hosts of the room have {most} lanes, not {degree}")


def _growth(fields: Fields, nodes: int) -> tuple[int, ...]:
    sizes: list[int] = []
    for one in fields.items("grow"):
        size = fields.whole("grow", one)
        if size <= nodes:
            wrong_at(one, f"grow: {size} nodes are no more than the {nodes} that there are")
        if sizes and size <= sizes[-1]:
            wrong_at(one, f"grow: sizes ascend, and {size} comes after {sizes[-1]}")
        sizes.append(size)
    return tuple(sizes)


def _amounts(fields: Fields, name: str) -> dict[str, Fraction]:
    """Return the cost or power of cables, ports, switches and switch ports."""
    if name not in fields:
        return {}
    said = fields.given[name].value
    if not isinstance(said, dict):
        fields.wrong(name, f"expected a number for each of {', '.join(BOUGHT)}, such as cable: 40")
    amounts: dict[str, Fraction] = {}
    for what, value in said.items():
        if what not in BOUGHT:
            wrong_at(value, f"{name}: nothing is called {what[:50]!r}; {suggest(what, BOUGHT, most=1, like=0.5)}")
        try:
            amounts[what] = read_number(value.value)
        except (TypeError, ValueError, ZeroDivisionError, OverflowError):
            wrong_at(value, f"{name}: {what}: expected a number, not {str(value.value)[:50]!r}")
        if not 0 <= amounts[what] <= _MAX_PRICE:
            wrong_at(value, f"{name}: {what}: expected a number from 0 to {_MAX_PRICE}")
    if not any(amounts.values()):
        fields.wrong(name, "all are zero; give one, or omit the field")
    return amounts


def _rivals(fields: Fields) -> tuple[tuple[str, ...], dict[str, Topology | Fabric]]:
    """Return the names of rivals, and rivals given as objects."""
    names: list[str] = []
    given: dict[str, Topology | Fabric] = {}
    for number, one in enumerate(fields.items("rivals"), 1):
        if not isinstance(one.value, str | Path | int | float | bool):
            place = fields.read("rivals", as_place, one)
            whose = place.name if isinstance(place, Fabric) else str(place.spec or f"rival {number}")
            names.append(whose)
            given[whose] = place
            continue
        name = str(fields.read("rivals", str, one)).strip()
        if name in names:
            wrong_at(one, f"rivals: {name[:50]} is there twice")
        known = (*EVERYDAY, RAILS) if "boxes" in fields else tuple(EVERYDAY)
        if name not in known and fields.folder is not None and (fields.folder / name).is_file():
            name = str(fields.folder / name)
        network = name.rpartition("@")[0] or name
        if network not in known:
            try:
                as_place(network)
            except TopodesignError as error:
                plain = name.isidentifier()
                why = suggest(name, known) if plain else str(error).splitlines()[0]
                wrong_at(
                    one, f"rivals: {name[:50]!r} is not a name, spec or file; {why}" if plain else f"rivals: {why}"
                )
        names.append(name)
    return tuple(names), given


_FIELDS = collect_options(RequestOptions)
_MEANT = {
    "accelerators": "nodes",
    "hosts": "nodes",
    "gpus": "nodes",
    "ports": "degree",
    "latency": "alpha",
    "speed": "bandwidth",
    "mix": "workload",
    "collectives": "workload",
    "inventory": "room",
    "plant": "room",
    "against": "rivals",
    "step": "model",
    "costs": "prices",
    "power": "watts",
    "failures": "survive",
    "sizes": "grow",
    "optimize": "optimise",
    "objective": "optimise",
}
"""Other words for fields, which do not look like them."""
_Value = TypeVar("_Value")


def wrong_at(place: LocatedValue, what: str) -> NoReturn:
    """Raise the error at a place, with its line if known."""
    raise FileFormatError(f"line {place.line}: {what}" if place.line else what)


class Fields:
    """Fields of a request, with their readers."""

    def __init__(self, document: LocatedValue, folder: Path | None) -> None:
        self.document, self.folder = document, folder
        self.given: dict[str, LocatedValue] = document.value
        for name, value in self.given.items():
            if name in retired.FIELDS:
                wrong_at(value, retired.describe_retired(f"field {name!r}", retired.FIELDS[name]))
            if name not in _FIELDS:
                meant = _MEANT.get(name.lower())
                hint = f"did you mean {meant!r}?" if meant else suggest(name, _FIELDS, most=1, like=0.6)
                wrong_at(value, f"unknown field {name[:50]!r}; {hint}")

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def wrong(self, name: str, what: str) -> NoReturn:
        """Raise the error of a field, at its line."""
        wrong_at(self.given.get(name, self.document), f"{name}: {what}")

    def needs(self, name: str, why: str) -> None:
        """Raise an error if a field is missing."""
        if name not in self.given:
            wrong_at(self.document, f"the field '{name}' is missing: {why}")

    def read(self, name: str, reader: Callable[[Any], _Value], value: LocatedValue | None = None) -> _Value:
        """Apply a reader to a field, or to part of it."""
        place = self.given[name] if value is None else value
        if isinstance(place.value, dict | list):
            wrong_at(place, f"{name}: expected one value")
        try:
            return reader(place.value)
        except TopodesignError as error:
            text = str(error)
            wrong_at(place, text if text.startswith(name) else f"{name}: {text}")

    def amount(self, name: str, reader: Callable[[Any], Fraction]) -> Fraction | None:
        """Return a quantity; None if it is not given."""
        return self.read(name, reader) if name in self.given else None

    def whole(self, name: str, value: LocatedValue | None = None) -> int:
        """Return a whole number in the range of a field."""
        return int(self.read(name, lambda said: _FIELDS[name].read(name, number_of(said)), value))

    def word(self, name: str) -> Any:
        """Return the choice of a field."""
        option = _FIELDS[name]
        return self.read(name, lambda said: option.read(name, said)) if name in self.given else option.default

    def items(self, name: str) -> list[LocatedValue]:
        """Return the entries of a list field; accept a single value."""
        if name not in self.given:
            return []
        value = self.given[name]
        if isinstance(value.value, dict):
            self.wrong(name, "expected a list")
        return value.value if isinstance(value.value, list) else [value]

    def path(self, name: str) -> Path:
        """Return the path in a field, relative to the request's folder."""
        said = self.read(name, as_path)
        return said if self.folder is None else self.folder / said


def number_of(said: Any) -> Any:
    """Convert digits to a number, and return other values unchanged."""
    return int(said) if isinstance(said, str) and said.isascii() and said.isdigit() and len(said) < 20 else said

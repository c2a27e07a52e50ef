"""Formats of topodesign: fabric files (YAML, JSON) and link lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Integral
from typing import Any, TypeVar

from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.tables import LocatedValue
from topodesign.base.units import parse_bandwidth, parse_time
from topodesign.base.wording import suggest
from topodesign.fabrics.fabric import Price, Shared, parse_price
from topodesign.fabrics.networks.raw import PLAIN, RawNetwork
from topodesign.topology.topology import MAX_CAPACITY, check_buildable

_Value = TypeVar("_Value")
_POWERS = ("multicast", "aggregation", "memory")


def read_fabric_fields(data: Any) -> RawNetwork:
    """Read the fields of a fabric file.

    See :mod:`topodesign.fabrics.files`.
    """
    fields = _fields(data, "", ("nodes", "links"), ("name", "switches", "shared", "latency", "prices", "unequal"))
    nodes: dict[str, Mapping[str, Any]] = {}
    for group in ("nodes", "switches"):
        for row, entry in enumerate(_list(fields.get(group, []), group)):
            where = f"{group}[{row}]"
            powers: dict[str, bool] = {}
            if group == "switches":
                switch = _fields(entry, where, ("name",), _POWERS) if isinstance(entry, dict) else {"name": entry}
                powers = {power: _flag(switch.get(power, False), f"{where}.{power}") for power in _POWERS}
                entry, powers["switch"] = switch["name"], True  # noqa: PLW2901
            name = _text(entry, where)
            if name in nodes:
                raise FileFormatError(f"the name '{name}' is there twice")
            nodes[name] = powers
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for row, entry in enumerate(_list(fields["links"], "links")):
        where = f"links[{row}]"
        link = _fields(entry, where, ("from", "to", "bandwidth"), ("duplex", "class"))
        ends = _text(link["from"], f"{where}.from"), _text(link["to"], f"{where}.to")
        for end in ends:
            if end not in nodes:
                raise FileFormatError(f"the link from '{ends[0]}' to '{ends[1]}' names no node or switch '{end}'")
        rate = parse_value(parse_bandwidth, link["bandwidth"], f"{where}.bandwidth") / 8
        said = {"bandwidth": rate, "class": _text(link.get("class", ""), f"{where}.class")}
        edges.append((*ends, said))
        if _flag(link.get("duplex", False), f"{where}.duplex"):
            edges.append((ends[1], ends[0], said))
    about: dict[str, Any] = {name: fields[name] for name in ("shared", "latency", "prices") if name in fields}
    about["unequal"] = _flag(fields.get("unequal", False), "unequal")
    if "name" in fields:
        about["name"] = _text(fields["name"], "name")
    return RawNetwork("fabric file", nodes, edges, directed=True, about=about, exact=True)


def read_links(data: dict[str, Any]) -> RawNetwork:
    """Read ``{"nodes": N, "links": [[u, v, capacity], ...], "switches": [u, ...]}``."""
    unknown = sorted(data.keys() - {"nodes", "links", "switches"})
    if unknown:
        raise FileFormatError(f"unknown field {unknown[0][:50]!r}; known are nodes, links, switches")
    count: Any = data.get("nodes")
    links, switches = data.get("links"), data.get("switches", [])
    if not isinstance(links, list) or not isinstance(switches, list) or not _is_whole(count):
        raise FileFormatError('"nodes" must be an integer, "links" and "switches" lists')
    check_buildable(count, len(links))
    if not all(_is_whole(one) for one in switches):
        raise FileFormatError('"switches" must hold node numbers')
    if not all(0 <= one < count for one in switches):
        raise FileFormatError(f"switches must be among nodes 0 to {count - 1}")
    names = [str(number) for number in range(count)]
    shared: dict[int, Mapping[str, Any]] = {1: PLAIN}
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for row, link in enumerate(links):
        if not isinstance(link, list) or len(link) not in {2, 3} or not all(map(_is_whole, link)):
            raise FileFormatError(f"links[{row}] must be [u, v] or [u, v, capacity] with integers")
        u, v, capacity = (*link, 1)[:3]
        if not (0 <= u < count and 0 <= v < count):
            raise FileFormatError(f"links must join nodes 0 to {count - 1}")
        if not 1 <= capacity <= MAX_CAPACITY:
            raise FileFormatError(f"link capacities must be from 1 to {MAX_CAPACITY}")
        edges.append((names[u], names[v], shared.setdefault(capacity, {"capacity": capacity})))
    chosen = set(switches)
    nodes: dict[str, Mapping[str, Any]] = {
        name: {"switch": True} if number in chosen else PLAIN for number, name in enumerate(names)
    }
    return RawNetwork("list of links", nodes, edges, directed=True, exact=True)


def latencies_of(value: Any) -> dict[str, Fraction]:
    """Return seconds for each class of links."""
    if not isinstance(value, dict):
        raise FileFormatError(f"latency: expected a time for each class of links, not {format_value(value)}")
    where = {kind: f"latency.{kind[:50]}" for kind in value}
    return {kind: parse_value(parse_time, _text(time, where[kind]), where[kind]) for kind, time in value.items()}


def prices_of(value: Any) -> dict[str, Price]:
    """Return the price of each class of links; a JSON cost may be a number."""
    if not isinstance(value, dict):
        raise FileFormatError(f"prices: expected a price for each class of links, not {format_value(value)}")
    found = {}
    for kind, said in value.items():
        where = f"prices.{kind[:50]}"
        number = isinstance(said, int | float) and not isinstance(said, bool)
        found[kind] = parse_value(parse_price, format_value(said) if number else _text(said, where), where)
    return found


def shared_limits(value: Any) -> list[Shared]:
    """Return limits on what several links carry together."""
    limits = []
    for row, entry in enumerate(_list(value, "shared")):
        where = f"shared[{row}]"
        limit = _fields(entry, where, ("name", "bandwidth", "links"), ())
        ends: list[tuple[str, str]] = []
        for at, one in enumerate(_list(limit["links"], f"{where}.links")):
            inner = f"{where}.links[{at}]"
            link = _fields(one, inner, ("from", "to"), ("duplex",))
            pair = _text(link["from"], f"{inner}.from"), _text(link["to"], f"{inner}.to")
            ends.append(pair)
            if _flag(link.get("duplex", False), f"{inner}.duplex"):
                ends.append((pair[1], pair[0]))
        rate = parse_value(parse_bandwidth, limit["bandwidth"], f"{where}.bandwidth") / 8
        limits.append(Shared(_text(limit["name"], f"{where}.name"), rate, tuple(ends)))
    return limits


def without_lines(located: LocatedValue) -> Any:
    """Return a YAML value without line numbers: text, booleans, lists, mappings."""
    value = located.value
    if isinstance(value, list):
        return [without_lines(item) for item in value]
    if isinstance(value, dict):
        return {field: without_lines(item) for field, item in value.items()}
    return value == "true" if located.plain and value in {"true", "false"} else value


def parse_value(parse: Callable[[str], _Value], text: str, where: str) -> _Value:
    """Return what a text says; FileFormatError names the place."""
    try:
        return parse(text)
    except UnitError as error:
        raise FileFormatError(f"{where}: {error}") from None


def format_value(value: Any) -> str:
    """Return a value of a file as messages show it."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    text = f"{value!r}" if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"
    return text if len(text) <= 50 else f"{text[:50]}..."


def _fields(value: Any, where: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping after a check of its field names."""
    before = f"{where}: " if where else ""
    if not isinstance(value, dict):
        raise FileFormatError(f"{before}expected fields {', '.join(required)}, not {format_value(value)}")
    for field in value:
        if field not in required + optional:
            hint = suggest(field, required + optional, most=1, like=0.6)
            raise FileFormatError(f"{before}unknown field {field[:50]!r}; {hint}")
    for field in required:
        if field not in value:
            raise FileFormatError(f"{before}the field '{field}' is missing")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileFormatError(f"{where}: expected a list, not {format_value(value)}")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"{where}: expected text, not {format_value(value)}; put it in quotes")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise FileFormatError(f"{where}: expected true or false, not {format_value(value)}")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63

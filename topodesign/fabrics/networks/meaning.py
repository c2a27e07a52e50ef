"""Meaning of network attributes: capacity, latency and role.

Other attributes are refused by name.

No attribute that may carry a bandwidth, a latency or a role is dropped. Names that people use are understood with the
unit that the value, the name, or an attribute beside it says. Any other attribute of an edge that holds numbers, and
any of a node that holds a role or a flag, makes the file be refused with the words of ``--read`` that decide it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NoReturn

from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.strict_json import parse_json
from topodesign.base.units import parse_bandwidth, parse_time
from topodesign.base.wording import join_words, suggest
from topodesign.fabrics.fabric import LONGEST_NAME
from topodesign.fabrics.networks.network import Network
from topodesign.fabrics.networks.ours import format_value, latencies_of, prices_of, shared_limits
from topodesign.fabrics.networks.raw import PLAIN, RawNetwork, is_whole
from topodesign.topology.topology import check_buildable

_RATES = frozenset((
    "bandwidth", "bw", "speed", "rate", "capacity", "linkspeed", "linkspeedraw", "linkbandwidth", "linkcapacity",
    "linkrate", "datarate", "bitrate", "throughput", "maxbandwidth"
))  # fmt: skip
_LATENCIES = frozenset(("latency", "lat", "delay", "linkdelay", "linklatency", "propagationdelay"))
_ROLES = frozenset(("type", "kind", "role", "nodetype", "noderole", "nodekind", "devicetype", "devicerole", "category"))
_SWITCHES = frozenset((
    "switch", "switches", "router", "tor", "leaf", "spine", "core", "aggregation", "agg", "edgeswitch", "nvswitch"
))  # fmt: skip
_HOSTS = frozenset((
    "host", "hosts", "node", "server", "gpu", "compute", "accelerator", "npu", "endpoint", "terminal", "nic",
    "hca", "ca"
))  # fmt: skip
_POWERS = ("switch", "multicast", "aggregation", "memory")
_SAID = ("capacity", "bandwidth", "class")
_SUFFIXES = (("gbps", "Gbps"), ("mbps", "Mbps"), ("kbps", "kbps"), ("linkspeedraw", "bps"))
_TIME_SUFFIXES = (("ns", "ns"), ("us", "us"), ("ms", "ms"))
_PREFIXES = {"": "bps", "k": "kbps", "m": "Mbps", "g": "Gbps", "t": "Tbps"}
_UNITS = re.compile(r"([KMGT]i|[kKMGT]?)(bps|Bps|b/s|B/s|bit/s|byte/s)|[numµ]?s")
_MEASURED = ("distance", "length", "buffer", "queue", "weight")  # what a unit of the graph may be of, and we do not use
_SIMILAR = 0.75  # swich, Switch and is_switch are like switch; unit, site and weight are not
_FIELDS = ("capacity", "latency", "role", "switch", "ignore", "nodes", "links", "form")


@dataclass(frozen=True)
class Rules:
    """Rules of ``--read KEY=VALUE`` for the attributes of a file.

    Attributes
    ----------
    capacity, latency
        Attribute, and its unit or "" if none is given.
    role, switch, ignore
        Attribute of roles; patterns of names of switches; attributes that mean nothing.
    nodes, links, form
        ``names`` if numbers are names with gaps; ``duplex`` or ``directed``; ``edges`` or ``adjlist``.
    """

    capacity: tuple[str, str] | None = None
    latency: tuple[str, str] | None = None
    role: str = ""
    switch: tuple[str, ...] = ()
    ignore: frozenset[str] = frozenset()
    nodes: str = ""
    links: str = ""
    form: str = ""


def parse_rules(words: Iterable[str] | str) -> Rules:
    """Parse ``KEY=VALUE`` words; ParameterError names a faulty word."""
    found: dict[str, Any] = {}
    for word in [words] if isinstance(words, str) else words:
        name, sign, value = (part.strip() for part in str(word).partition("="))
        if name not in _FIELDS or not sign or not value:
            raise ParameterError(f"--read {word!r:.60}: expected KEY=VALUE; {suggest(name, _FIELDS)}")
        if name in {"capacity", "latency"}:
            attribute, _, unit = value.partition(":")
            found[name] = attribute.strip(), unit.strip()
        elif name in {"switch", "ignore"}:
            parts = [part.strip() for part in value.split(",")]
            found[name] = (*found.get(name, ()), *parts)
        else:
            found[name] = value
    allowed = {"nodes": ("names",), "links": ("duplex", "directed"), "form": ("edges", "adjlist")}
    for name, known in allowed.items():
        if name in found and found[name] not in known:
            raise ParameterError(f"--read {name}={found[name]:.40}: expected {' or '.join(known)}")
    return Rules(**{**found, "ignore": frozenset(found.get("ignore", ()))})


def understand(raw: RawNetwork, rules: Rules, name: str) -> Network:
    """Return a network whose attributes are understood.

    Raises
    ------
    FileFormatError
        If an attribute may mean something and does not say what, or the network has fewer than two nodes or no link.
    """
    order = list(raw.nodes)
    if not raw.exact and all(map(is_whole, order)):
        order.sort(key=int)
    number = {word: place for place, word in enumerate(order)}
    notes = list(raw.notes)
    about = _about(raw)
    able = _roles(raw, rules, order, notes)
    pairs = [(u, v) for u, v, _ in raw.edges]
    links = _Edges(raw, rules, pairs)
    capacities, stated = links.capacities()
    kinds, latency = links.kinds()
    latency |= latencies_of(about["latency"]) if "latency" in about else {}
    if links.unknown:
        _refuse_unknown(links.unknown)
    notes += links.notes
    both = raw.directed if rules.links == "" else rules.links == "directed"
    _check_size(raw)
    rows: list[tuple[int, int, Fraction | int]] = []
    classes: list[str] = []
    for place, (u, v) in enumerate(pairs):
        rows.append((number[u], number[v], capacities[place]))
        classes.append(kinds[place])
        if not both and u != v:
            rows.append((number[v], number[u], capacities[place]))
            classes.append(kinds[place])
    if rules.links:
        notes.append(f"links are {rules.links} (--read)")
    return Network(
        str(about.get("name") or name),
        raw.form,
        tuple(order),
        tuple(rows),
        tuple(classes) if any(classes) else (),
        stated,
        able,
        latency,
        prices_of(about["prices"]) if "prices" in about else {},
        tuple(shared_limits(about["shared"])) if "shared" in about else (),
        about.get("unequal", False) is True,
        tuple(notes),
    )


def _check_size(raw: RawNetwork) -> None:
    """Refuse networks without links, of one node, or with look-alike names."""
    if not raw.nodes:
        raise FileFormatError("there is no node; a network requires at least one node and one link")
    if len(raw.nodes) < 2:
        raise FileFormatError(f"there is only one node, {next(iter(raw.nodes))[:50]!r}; a network requires two or more")
    if not raw.edges:
        raise FileFormatError("there are no links between the nodes")
    check_buildable(len(raw.nodes), len(raw.edges))
    for word in raw.nodes:
        if not word or word != word.strip() or len(word) > LONGEST_NAME or not word.isprintable():
            raise FileFormatError(f"node name {word[:50]!r}: names have 1 to {LONGEST_NAME} printable characters")


def _about(raw: RawNetwork) -> dict[str, Any]:
    """Return known attributes of the graph; refuse those that may mean something."""
    if raw.exact:
        return raw.about
    about, both = dict(raw.about), _RATES | _LATENCIES
    for word, value in raw.about.items():
        if word in {"shared", "latency", "prices"}:
            if not isinstance(value, str):
                raise FileFormatError(f"{word}: expected text, not {format_value(value)}; put it in quotes")
            about[word] = parse_json(value)
        elif word == "unequal":
            if not isinstance(value, bool):
                raise FileFormatError(f"unequal: expected true or false, not {format_value(value)}")
        elif word == "name":
            if not isinstance(value or "", str):
                raise FileFormatError(f"name: expected text, not {format_value(value)}; put it in quotes")
        elif isinstance(value, str) and _UNITS.fullmatch(value) and not _is_unit_name(_plain(word), value):
            raise FileFormatError(f"the graph's attribute {word[:50]!r} is a unit, and does not say of what; remove it")
        elif value and (isinstance(value, dict | list) or str(value).strip()[:1] in {"{", "["} or _plain(word) in both):
            raise FileFormatError(
                f"the graph's attribute {word[:50]!r} may mean something for all links; say it of links, or remove it"
            )
    return about


def _is_unit_name(word: str, unit: str) -> bool:
    """Return whether an attribute is the unit of a known one of its kind."""
    base = re.sub(r"units?$", "", word)
    measures = _LATENCIES if unit.endswith("s") and not unit.endswith("ps") and "/" not in unit else _RATES
    return base != word and (base in measures or base in _MEASURED)


# -- nodes ------------------------------------------------------------------------------------------------------------


def _roles(raw: RawNetwork, rules: Rules, order: list[str], notes: list[str]) -> dict[str, tuple[str, ...]]:
    """Return which nodes are switches, and what these can do."""
    columns: dict[str, dict[str, Any]] = {}
    for node, fields in raw.nodes.items():
        for name, value in fields.items():
            if value is not None:
                columns.setdefault(str(name), {})[node] = value
    able = {power: _find_flagged(power, columns.pop(power, {}), order) for power in _POWERS}
    switches = set(able["switch"])
    if rules.switch:
        switches |= {node for node in order if any(fnmatchcase(node, pattern) for pattern in rules.switch)}
        notes.append(f"switches by name: {', '.join(rules.switch)}")
    if rules.role and rules.role not in columns:
        raise FileFormatError(f"--read role={rules.role}: no node has that attribute; {suggest(rules.role, columns)}")
    ignored = []
    for name, values in columns.items():
        by_role = rules.role == name or (not rules.role and _plain(name) in _ROLES)
        if by_role and name not in rules.ignore:
            found = _switches_by(name, values, order, raw, forced=rules.role == name)
            if found is not None:
                switches |= found
                notes.append(f"switches are those that {name} says")
                continue
        elif not raw.exact and name not in rules.ignore:
            _check_node_attribute(name, values, known=bool(switches))
        ignored.append(name)
    if ignored:
        notes.append(f"not used of nodes: {join_words(sorted(ignored))}")
    able["switch"] = tuple(node for node in order if node in switches)
    return able


def _find_flagged(power: str, said: Mapping[str, Any], order: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes whose attribute is true."""
    for node, value in said.items():
        if not isinstance(value, bool):
            raise FileFormatError(f"{power} of node '{node[:50]}': expected true or false, not {format_value(value)}")
    return tuple(node for node in order if said.get(node, False))


def _switches_by(
    name: str, values: Mapping[str, Any], order: Sequence[str], raw: RawNetwork, *, forced: bool
) -> set[str] | None:
    """Return the switches that an attribute marks, or None."""
    flags = {"true": "switch", "yes": "switch", "1": "switch", "false": "host", "no": "host", "0": "host"}
    words = {node: re.sub(r"[^a-z01]", "", str(value).lower()) for node, value in values.items()}
    words = {node: flags.get(word, word) if forced else word for node, word in words.items()}
    switches = {node for node, word in words.items() if word in _SWITCHES}
    hosts = {node for node, word in words.items() if word in _HOSTS}
    other = next((node for node in order if node not in switches | hosts), None)
    if not forced and len(set(words.values())) == 1 and not switches and len(words) == len(raw.nodes):
        return set() if hosts else None
    if other is not None:
        said = f"has {name} {format_value(values[other])}" if other in values else f"has no {name}"
        raise FileFormatError(
            f"node {other[:50]!r} {said}, which names neither a host nor a switch; use words such as host and switch, "
            f"or use --read switch=PATTERN and --read ignore={name}"
        )
    return switches


def _may_be_role(values: Mapping[str, Any]) -> bool:
    return any(re.sub(r"[^a-z]", "", str(value).lower()) in _SWITCHES for value in values.values())


def _check_node_attribute(name: str, values: Mapping[str, Any], known: bool) -> None:
    """Refuse an unknown node attribute that may be a role or bandwidth."""
    hint = suggest(name, _POWERS, "", most=1, like=_SIMILAR)
    if hint:
        raise FileFormatError(f"unknown attribute {name[:50]!r} of nodes; {hint}")
    flags = any(value is True or str(value).lower() in {"true", "yes"} for value in values.values())
    numbers = {str(value) for value in values.values()} <= {"0", "1", "0.0", "1.0"} and name != "bipartite"
    looks = flags or (numbers and any(float(value) for value in values.values())) or _may_be_role(values)
    rated = _plain(name) in _RATES or any(_rate_text(value) is not None for value in values.values())
    if (looks and not known) or flags or rated:
        what = "a bandwidth" if rated else "the role"
        raise FileFormatError(
            f"the attribute {name[:50]!r} of nodes may mean {what}: use --read role={name[:50]} or "
            f"--read ignore={name[:50]}"
        )


# -- edges ------------------------------------------------------------------------------------------------------------


@dataclass
class _Edges:
    """The attributes of edges, by name."""

    raw: RawNetwork
    rules: Rules
    pairs: list[tuple[str, str]]
    notes: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns: dict[str, dict[int, Any]] = {}
        for place, (_, _, fields) in enumerate(self.raw.edges):
            if fields is PLAIN:
                continue
            for name, value in fields.items():
                if value is not None or name in _SAID:
                    self.columns.setdefault(str(name), {})[place] = value
        for asked in (self.rules.capacity, self.rules.latency):
            if asked is not None and asked[0] not in self.columns:
                raise FileFormatError(
                    f"--read: no link has the attribute {asked[0][:50]!r}; "
                    f"{suggest(asked[0], self.columns, 'links have none')}"
                )
        self.used: set[str] = set()
        self.known: list[Fraction] | list[int] = []
        self.capacity_said = False

    def describe_place(self, place: int) -> str:
        u, v = self.pairs[place]
        return f"link '{u[:50]}', '{v[:50]}'"

    def capacities(self) -> tuple[list[Fraction] | list[int], bool]:
        """Return capacities of edges.

        With True in bytes per second, with False relative to each other.
        """
        rates: dict[str, list[Fraction]] = {}
        relative: dict[str, list[int]] = {}
        asked = self.rules.capacity
        for name, values in self.columns.items():
            plain = _plain(name)
            if name in self.rules.ignore or (asked is not None and asked[0] != name):
                continue
            chosen = asked is not None
            if not chosen and not self._is_rate(name, plain, values):
                continue
            unit = (asked[1] if asked else "") or self._unit(plain)
            self.used.add(name)
            self.used.add(self._unit_column(name))
            if (
                unit
                or name == "bandwidth"
                or self._unit_column(name)
                or any(_rate_text(value) is not None for value in values.values())
            ):
                rates[name] = [self._rate(name, place, unit) for place in range(len(self.pairs))]
                if name != "bandwidth":
                    said = f" ({unit})" if unit else ""
                    self.notes.append(f"bandwidths are {name}{said}")
            elif chosen or plain == "capacity":
                relative[name] = [self._whole(name, place) for place in range(len(self.pairs))]
                if name != "capacity":
                    self.notes.append(f"capacities are {name}, and compare links only")
            else:
                raise FileFormatError(
                    f"the attribute {name[:50]!r} of links may be a bandwidth and has no unit: use "
                    f"--read capacity={name[:50]}:Gbps (or its unit), or --read capacity={name[:50]} if it only "
                    "compares links"
                )
        self._check_agreement(rates, relative)
        known: list[list[Fraction] | list[int]] = [*rates.values(), *relative.values()]
        self.capacity_said = bool(known)
        self.known = known[0] if known else [1] * len(self.pairs)
        return self.known, bool(rates)

    def _is_rate(self, name: str, plain: str, values: Mapping[int, Any]) -> bool:
        """Return whether an attribute is a capacity."""
        if plain in _RATES or (
            plain.startswith(("bandwidth", "bw", "speed", "rate", "capacity", "linkspeed")) and plain.endswith("bps")
        ):
            return True
        if plain in {"weight", "column3"} or name == "label":
            return len(values) == len(self.pairs) and all(_rate_text(value) is not None for value in values.values())
        return False

    def _unit_column(self, name: str) -> str:
        """Return the edge attribute that gives the unit of another, or none."""
        wanted = {f"{_plain(name)}unit", f"{_plain(name)}units"}
        return next((column for column in self.columns if _plain(column) in wanted), "")

    def _unit(self, plain: str) -> str:
        """Return the unit of an attribute, by its name or a graph attribute."""
        for ending, unit in _SUFFIXES:
            if plain.endswith(ending):
                return unit
        for word, value in self.raw.about.items():
            if _plain(word) in {f"{plain}unit", f"{plain}units"}:
                return str(value)
        return ""

    def _rate(self, name: str, place: int, unit: str) -> Fraction:
        value: Any = self.columns[name].get(place)
        if isinstance(value, Fraction):
            return value  # bytes per second, of our own files
        where = self.describe_place(place)
        if unit and _number(value) is not None:
            value = f"{_decimal(value)}{_PREFIXES.get(unit.lower(), unit)}"
        units = self._unit_column(name)
        if units and _number(value) is not None:
            said = str(self.columns[units].get(place, "?"))
            value = f"{_decimal(value)}{_PREFIXES.get(said.lower(), said)}"
        try:
            return parse_bandwidth(value) / 8
        except UnitError as error:
            missing = "" if place in self.columns[name] else f" (it has no {name})"
            raise FileFormatError(f"{where}: {error}{missing}") from None

    def _whole(self, name: str, place: int) -> int:
        value = self.columns[name].get(place, 1)
        number: Any = _number(value) if isinstance(value, str) else value
        if isinstance(number, float) and name != "capacity" and number == int(number):
            number = int(number)
        if not isinstance(number, Integral) or isinstance(number, bool) or not 1 <= int(number) < 2**63:
            raise FileFormatError(
                f"{self.describe_place(place)}: the {name} must be an integer above zero, not {format_value(value)}; "
                "capacities with a unit are bandwidths"
            )
        return int(number)

    def _check_agreement(self, rates: dict[str, list[Fraction]], relative: dict[str, list[int]]) -> None:
        """Refuse attributes that say different capacities."""
        said: list[tuple[str, Sequence[Fraction]]] = [*rates.items()]
        said += [(name, list(map(Fraction, values))) for name, values in relative.items()]
        for name, values in said[1:]:
            first = said[0]
            pairs = list(zip(first[1], values, strict=True))
            same = [a == b for a, b in pairs] if name in rates else [a * values[0] == b * first[1][0] for a, b in pairs]
            if not all(same) and not (name in relative and set(values) == {1}):
                place = same.index(False)
                raise FileFormatError(
                    f"{self.describe_place(place)}: {first[0]} and {name} say different capacities; choose one with "
                    f"--read capacity={first[0]} or --read ignore={name}"
                )

    def kinds(self) -> tuple[list[str], dict[str, Fraction]]:
        """Return the class of each edge, and latencies by class.

        Latencies that edges themselves have.
        """
        count = len(self.pairs)
        kinds = [""] * count
        for place, value in self.columns.get("class", {}).items():
            if not isinstance(value, str):
                raise FileFormatError(
                    f"class of {self.describe_place(place)}: expected text, not {format_value(value)}; put it in quotes"
                )
            if not self.raw.exact and (_number(value) is not None or _rate_text(value) is not None):
                raise FileFormatError(
                    f"class of {self.describe_place(place)}: {value!r:.40} may be a capacity; rename it"
                )
            kinds[place] = value
        self.used.add("class")
        latency: dict[str, Fraction] = {}
        asked = self.rules.latency
        for name, values in self.columns.items():
            plain = _plain(name)
            by_name = plain in _LATENCIES or bool(re.fullmatch(r"(latency|delay)(ns|us|ms)", plain))
            if name in self.rules.ignore or name in self.used or not (asked[0] == name if asked else by_name):
                continue
            self.used.add(name)
            unit = (asked[1] if asked else "") or self._unit(plain)
            unit = unit or next((one for ending, one in _TIME_SUFFIXES if plain.endswith(ending)), "")
            for place in range(count):
                seconds = self._seconds(name, place, values.get(place), unit)
                kinds[place] = " ".join(filter(None, (kinds[place], f"{seconds * 10**9}ns")))
                latency[kinds[place]] = seconds
            self.notes.append(f"latencies are {name}{f' ({unit})' if unit else ''}, as classes of links")
        for name, values in self.columns.items():
            if name not in self.used and name not in self.rules.ignore and not self.raw.exact:
                self._check_unknown(name, values)
        quiet = {"key"} if self.capacity_said else {"weight", "key"}  # a weight of 1 everywhere says nothing
        rest = sorted(set(self.columns) - self.used - set(self.unknown) - quiet)
        if rest:
            self.notes.append(f"not used of links: {join_words(rest)}")
        return kinds, latency

    def _seconds(self, name: str, place: int, value: Any, unit: str) -> Fraction:
        number = _number(value)
        if number is not None and not unit:
            raise FileFormatError(
                f"the attribute {name[:50]!r} of links may be a latency and has no unit: use "
                f"--read latency={name[:50]}:us (or its unit), or --read ignore={name[:50]}"
            )
        try:
            return parse_time(f"{_decimal(value)}{unit}" if number is not None else value)
        except UnitError as error:
            raise FileFormatError(f"{self.describe_place(place)}: {name}: {error}") from None

    def _check_unknown(self, name: str, values: Mapping[int, Any]) -> None:
        """Note an unknown attribute, or refuse one whose name is nearly known."""
        hint = suggest(name, _SAID, "", most=1, like=_SIMILAR)
        if hint and _plain(name) not in _SAID:
            raise FileFormatError(f"unknown attribute {name[:50]!r} of edges; {hint}")
        if all(self.known[place] in {_rate_text(value), _number(value)} for place, value in values.items()):
            return  # a label that repeats the capacity
        whole = len(values) == len(self.pairs)
        if name == "weight" and self.capacity_said:
            return  # which people use for routes where they say the capacity, too
        numbers = [_number(value) for value in values.values()]
        if name == "weight" and whole and set(numbers) == {1}:
            return
        if any(isinstance(value, dict | list | tuple) for value in values.values()) and name != "viz":
            self.unknown[name] = "it has fields of its own"
        elif any(value is True or str(value).lower() == "true" for value in values.values()):
            self.unknown[name] = "it may change what a link carries"
        elif any(_rate_text(value) is not None or _time_text(value) is not None for value in values.values()):
            self.unknown[name] = "it looks like a bandwidth or a latency"
        elif set(numbers) != {None} and not (whole and set(numbers) in ({0}, {1})):
            self.unknown[name] = "it may be a capacity, a latency or a length"


def _refuse_unknown(unknown: Mapping[str, str]) -> NoReturn:
    name, why = next(iter(unknown.items()))
    shown_name = name[:50]
    words = ",".join(one[:50] for one in list(unknown)[:6])
    if name == "weight":
        why = "and it could be a capacity or a length"
    raise FileFormatError(
        f"links have the attribute {shown_name!r}; {why}: use --read capacity={shown_name}:Gbps, "
        f"--read latency={shown_name}:us, or --read ignore={words}"
    )


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _number(value: object) -> int | float | None:
    """Return the number of a value or text, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?\s*", value[:80]):
        return int(value) if re.fullmatch(r"\s*[0-9]{1,18}\s*", value) else float(value)
    return None


def _decimal(value: object) -> str:
    """Return a number as text that units can follow."""
    number = _number(value)
    if isinstance(number, float) and number == int(number) and abs(number) < 2**63:
        return str(int(number))
    return str(number).strip()


def _rate_text(value: object) -> Fraction | None:
    """Return bytes per second of a text with a unit, or None."""
    rate = _parse_quantity(parse_bandwidth, value)
    return None if rate is None else rate / 8


def _time_text(value: object) -> Fraction | None:
    return _parse_quantity(parse_time, value)


def _parse_quantity(parse: Callable[[str], Fraction], value: object) -> Fraction | None:
    """Return the quantity of a text with a unit, or None."""
    if not isinstance(value, str) or not value[:1].isdigit():
        return None
    try:
        return parse(value)
    except UnitError:
        return None

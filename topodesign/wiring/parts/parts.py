"""Parts lists in YAML, read strictly.

A list of parts is

    name: neutral types                      # optional
    currency: EUR                            # optional: of all prices
    cords:      # ends: LC simplex or LC duplex
      - {part: duplex cord, ends: LC duplex, lengths: [1m, 2m, 3m, 5m], price: 4.20, per_metre: 0.60,
         lead: 3d, polarity: either}
    breakouts:  # legs: how much of the length is legs, one for all or one for each lane
      - {part: fan, connector: MPO-12, lengths: [3m, 5m], legs: 1m, price: 31, per_metre: 2, lead: 5d}
    trunks:     # connectors: at either end
      - {part: trunk 6, connector: MPO-12, connectors: 6, lengths: [10m, 15m], polarity: B, price: 190, per_metre: 9,
         lead: 3w}
    cassettes:  # rears: plugs of trunks behind; fronts: LC duplex ports; fibres: which fibres one front port has
      - {part: cassette, connector: MPO-12, rears: 1, fronts: 6, fibres: pairs, price: 85, lead: 5d, loss: 0.5dB}
    circulators:                             # join what is sent and received of a lane on one fibre
      - {part: circulator, price: 70, lead: 4w, loss: 0.8dB}

``loss`` is what light loses in a part. Fibre is counted by the metre (``losses`` of the inventory), and connectors
where cables are plugged in: at a panel port as the inventory says, those of a cassette with its loss, before and
behind it. So cables have none of their own unless it is given. ``polarity`` of a trunk is its type by TIA-568 (A, B or
C; B if unsaid); a duplex cord is ``crossed`` (A to B, as usual and if unsaid), ``straight`` or can be turned:
``either``. The ``fibres`` of a cassette's front port are ``pairs`` (1 and 2, 3 and 4; if unsaid) or ``ends`` (1 and 12,
2 and 11: as optics with parallel lanes send and receive). ``diameter`` of a cable is for trays. A price is that of one
piece of no length, and ``per_metre`` is added.

Lists of 0.27 may have ``shuffles``, ``optics``, array cords and ``fit`` too. These are read over, and ``notes`` of the
list names them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import parse_yaml
from topodesign.base.text_files import read_text
from topodesign.wiring.inventory.devices import LANES, POLARITIES, Connector
from topodesign.wiring.inventory.fields import (
    FileFields,
    fields,
    items,
    parse_choice,
    parse_decibels,
    parse_metres,
    parse_whole,
    read_located,
)

Sort = Literal["cord", "breakout", "trunk", "cassette", "circulator"]
Turn = Literal["crossed", "straight", "either"]
Pairing = Literal["pairs", "ends"]

PartsLike: TypeAlias = "PartsList | str | Path"  # a list of parts, or the path of its file

TURNS: tuple[Turn, ...] = get_args(Turn)
PAIRINGS: tuple[Pairing, ...] = get_args(Pairing)
ARRAYS: tuple[Connector, ...] = ("MPO-12", "MPO-16", "MPO-24", "MPO-32")
_CORDS = ("LC simplex", "LC duplex")
_ENDINGS = (".yaml", ".yml")
_LARGEST = 2**20
_MAX = 2000  # parts of a list
_MAX_LENGTHS = 200
_MAX_PORTS = 999  # connectors, ports
_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?")
_LEAD = re.compile(r"([0-9]{1,4})(d|w)")
_DAYS = {"d": 1, "w": 7}
_SECTIONS = {
    "cords": ("ends lengths", "per_metre loss polarity diameter"),
    "breakouts": ("connector lengths legs", "per_metre loss diameter"),
    "trunks": ("connector connectors lengths", "per_metre loss polarity diameter"),
    "cassettes": ("connector rears fronts", "loss fibres"),
    "circulators": ("", "loss"),
}
"""The fields of parts by section, beside those of all: required ones, and optional ones."""
_RETIRED = ("shuffles", "optics")  # sections of 0.27


@dataclass(frozen=True, slots=True)
class Part:
    """Part on sale under one name, in several lengths.

    * ``name``, ``sort``: what it is called and is.
    * ``price``, ``per_metre``: of a piece, and of each of its metres.
    * ``polarity``: A, B or C of a trunk; of a duplex cord ``crossed``, ``straight`` or ``either``.
    * ``legs``: metres of the legs of a breakout behind its furcation, one for all or one for each lane.
    * ``count``, ``fronts``: connectors of a trunk; rears and fronts of a cassette.
    """

    name: str
    sort: Sort
    connector: str  # its plugs; of a cord its ends
    price: Fraction
    lead: int  # days until it is there
    per_metre: Fraction = Fraction(0)
    lengths: tuple[Fraction, ...] = ()  # metres that it is sold in, ascending; none of what has no length
    loss: Fraction | None = None  # in dB, with the connectors of a cassette; None if unknown
    diameter: Fraction | None = None  # in metres, or None
    polarity: str = ""
    legs: tuple[Fraction, ...] = ()
    count: int = 1
    fronts: int = 1
    pairing: Pairing = "pairs"  # which fibres a front port of a cassette has

    def leg(self, lane: int) -> Fraction | None:
        """Return the length of a lane's leg, or None."""
        if len(self.legs) == 1:
            return self.legs[0]
        return self.legs[lane - 1] if lane <= len(self.legs) else None

    @property
    def slots(self) -> int:
        """Front ports of a cassette per rear."""
        return self.fronts // self.count


class Piece(NamedTuple):
    """Part in one of its lengths (metres, or None)."""

    part: Part
    length: Fraction | None = None

    @property
    def price(self) -> Fraction:
        """Price of one piece."""
        return self.part.price + self.part.per_metre * (self.length or 0)

    @property
    def rank(self) -> tuple[Fraction, Fraction, str]:
        """Selection key: price, then length, then name."""
        return self.price, self.length or Fraction(0), self.part.name


@dataclass(frozen=True)
class PartsList:
    """List of parts, with currency and name.

    ``notes``: what its file has and nothing uses any more, in words.
    """

    parts: tuple[Part, ...]
    currency: str = ""
    name: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def by_sort(self) -> Mapping[str, tuple[Part, ...]]:
        """Parts by type."""
        found: dict[str, list[Part]] = {sort: [] for sort in get_args(Sort)}
        for part in self.parts:
            found[part.sort].append(part)
        return {sort: tuple(some) for sort, some in found.items()}


def shortest(part: Part, needed: Fraction) -> Piece | None:
    """Return a part in its shortest sufficient length, or None."""
    return next((Piece(part, size) for size in part.lengths if size >= needed), None)


def as_parts(value: PartsLike) -> PartsList:
    """Return a parts list from a list or path."""
    if isinstance(value, PartsList):
        return value
    if isinstance(value, str | Path):
        return read_parts(value)
    raise ParameterError(f"a list of parts or the path of its file is needed, not {value!r:.100}")


def read_parts(path: str | Path) -> PartsList:
    """Read a list of parts from a YAML file.

    Parameters
    ----------
    path
        A YAML file with fields of a parts list.

    Raises
    ------
    FileFormatError
        If it is missing, too large, or not of its format; the message names the file, the line and the field.

    Examples
    --------
    >>> from topodesign import copy_examples, read_parts
    >>> [path] = copy_examples(["parts_neutral.yaml"], ".")
    >>> sorted({part.connector for part in read_parts(path).by_sort["breakout"]})
    ['MPO-12', 'MPO-16', 'MPO-24']
    """
    path = as_path(path)
    with expecting(path, FileKind.PARTS):
        known_sections = ("name", "currency", *_SECTIONS, *_RETIRED)
        said = fields(parse_yaml(read_text(path, _ENDINGS, _LARGEST)), "parts", (), known_sections)
        document = FileFields(said, "")
        seen: dict[str, Part] = {}
        ignored = Counter({section: 1 for section in _RETIRED if section in said})
        for section, (required, optional) in _SECTIONS.items():
            known = ("part", *required.split(), "price", "lead"), (*optional.split(), "fit")
            for value in items(said[section], section) if section in said else ():
                entry = FileFields(fields(value, section, *known), section)
                ignored["fit"] += "fit" in entry
                if section == "cords" and entry.text("ends") in ARRAYS:
                    ignored["cords with MPO ends"] += 1
                    continue
                part = _part(entry, section)
                if part.name in seen:
                    raise entry.wrong("part", f"there are two parts '{part.name}'")
                if len(seen) >= _MAX:
                    raise entry.wrong("part", f"there are more than {_MAX} parts")
                seen[part.name] = part
        if not seen:
            raise FileFormatError(f"there are no parts; sections are {', '.join(_SECTIONS)}")
        names = ", ".join(name for name, count in ignored.items() if count)
        notes = (f"ignored in {path.name}, as retired after 0.27: {names}",) if names else ()
        return PartsList(tuple(seen.values()), document.text("currency", ""), document.text("name", path.stem), notes)


def _part(entry: FileFields, section: str) -> Part:
    sort: Sort = next(one for one in get_args(Sort) if section.startswith(one))
    name, price, lead = entry.text("part"), _price(entry, "price"), _lead(entry)
    part = Part(name, sort, "", price, lead, **_common(entry))  # type: ignore[arg-type]
    return _special(entry, part)


def _common(entry: FileFields) -> dict[str, object]:
    found: dict[str, object] = {"loss": entry.read("loss", parse_decibels, None)}
    if "lengths" in entry:
        found["loss"] = found["loss"] or Fraction(0)
        found["lengths"] = tuple(sorted(_lengths(entry, "lengths")))
    if "per_metre" in entry:
        found["per_metre"] = _price(entry, "per_metre")
    if "diameter" in entry:
        found["diameter"] = _above_zero(entry, "diameter")
    return found


def _special(entry: FileFields, part: Part) -> Part:
    """Return a part with the fields of its type."""
    if part.sort == "cord":
        ends = entry.read("ends", parse_choice(_CORDS))
        usual: Turn = "crossed" if ends == "LC duplex" else "straight"
        return replace(part, connector=ends, polarity=entry.read("polarity", parse_choice(TURNS), usual))
    if part.sort == "circulator":
        return part
    connector = entry.read("connector", parse_choice(ARRAYS))
    part = replace(part, connector=connector)
    if part.sort == "breakout":
        legs = _lengths(entry, "legs") if isinstance(entry.values["legs"].value, list) else [_above_zero(entry, "legs")]
        if len(legs) not in (1, LANES[connector]):
            raise entry.wrong("legs", f"expected one length for all, or {LANES[connector]}: one for each lane")
        if part.lengths[0] < max(legs):
            raise entry.wrong("lengths", "the length is that of the cable with its longest leg; the leg is longer")
        return replace(part, legs=tuple(legs))
    if part.sort == "trunk":
        polarity = entry.read("polarity", parse_choice(POLARITIES), "B")
        return replace(part, polarity=polarity, count=_ports(entry, "connectors"))
    rears, fronts = _ports(entry, "rears"), _ports(entry, "fronts")
    if fronts % rears or fronts // rears > _pairs(connector):
        words = f"each of {rears} rears has as many fronts, at most {_pairs(connector)} by {connector}"
        raise entry.wrong("fronts", words)
    return replace(part, count=rears, fronts=fronts, pairing=entry.read("fibres", parse_choice(PAIRINGS), "pairs"))


def _pairs(connector: Connector) -> int:
    return {"LC": 1, "MPO-12": 6, "MPO-16": 8, "MPO-24": 12, "MPO-32": 16}[connector]


def _ports(entry: FileFields, name: str) -> int:
    count = entry.read(name, lambda said: parse_whole(said, 1))
    if count > _MAX_PORTS:
        raise entry.wrong(name, f"{count} are more than {_MAX_PORTS}")
    return count


def _price(entry: FileFields, name: str) -> Fraction:
    said = entry.text(name)
    if not _PRICE.fullmatch(said):
        raise entry.wrong(name, f"{said[:50]!r} is not a {'price' if 'p' in name else 'number'} such as 12.50")
    return Fraction(said)


def _lead(entry: FileFields) -> int:
    said = entry.text("lead")
    match = _LEAD.fullmatch(said)
    if match is None:
        raise entry.wrong("lead", f"{said[:50]!r} is not a time such as 5d or 3w")
    return int(match[1]) * _DAYS[match[2]]


def _above_zero(entry: FileFields, name: str) -> Fraction:
    found = entry.read(name, parse_metres)
    if found == 0:
        raise entry.wrong(name, "expected a length above zero")
    return found


def _lengths(entry: FileFields, name: str) -> list[Fraction]:
    where = entry.at(name)
    found = [read_located(one, where, parse_metres) for one in items(entry.values[name], where)]
    if not found or min(found) == 0 or len(found) > _MAX_LENGTHS:
        raise entry.wrong(name, f"expected 1 to {_MAX_LENGTHS} lengths, all of them above zero")
    return found

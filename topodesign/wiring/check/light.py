"""Received optical power from ``ethtool -m``, ``mlxlink -m`` or a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import read_named_columns
from topodesign.base.text_files import naming, read_text

LIGHT_COLUMNS = ("host", "port", "rx_dbm")
LIGHT_FILE = "light.csv"
LIGHT_ENDINGS = (".ethtool", ".mlxlink")
DARK = -30.0  # power in dBm below which no light arrives; without any, transceivers tell -40 or minus infinity

_MAX_LIGHT = 30.0  # dBm; a watt
_POWER = re.compile(
    r"\s*(?:Receiver signal average optical power|Rcvr signal avg optical power|Receiver signal OMA)"
    r"\s*(?:\(Channel (\d+)\))?\s*:.*?(-?inf|-?\d+(?:\.\d+)?) dBm\s*"
)
_MLXLINK = re.compile(r"\s*Rx Power Current \[dBm\]\s*:\s*([^\[]*?)\s*(?:\[.*)?")
_HEADING = re.compile(r"[=#\s]*([^\s:=#][^\s=#]*?):?[=#\s]*")


class Power(NamedTuple):
    """Received power in dBm; ``channel`` counts from 1, None for the interface."""

    host: str
    interface: str
    channel: int | None
    dbm: float


class LightTold(NamedTuple):
    """Received power from files, and the reasons for files without any."""

    powers: list[Power]
    unread: tuple[str, ...] = ()


def read_power(path: Path) -> LightTold:
    """Read received power from a CSV, ``ethtool -m`` or ``mlxlink -m``.

    The CSV has the columns ``host,port,rx_dbm``.

    Any other path is ``HOST.ethtool``, with the name of an interface on the line before each module, or
    ``HOST.INTERFACE.ethtool``, also of ``ethtool --json -m``, or ``HOST.INTERFACE.mlxlink``; or a directory of them, in
    which a file that tells no light, as of a copper cable, is passed over. An empty cell, ``-inf`` and what is below
    :data:`DARK` say that no light arrives.
    """
    if not path.is_dir():
        return LightTold(_of_file(path))
    files = light_files(path)
    if not files:
        raise FileFormatError(f"{path}: there is nothing in it; expected files HOST.INTERFACE{LIGHT_ENDINGS[0]}")
    powers: list[Power] = []
    unread: list[str] = []
    for file in files:
        try:
            powers += _of_file(file)
        except FileFormatError as error:
            unread.append(str(error))
    if not powers:
        raise FileFormatError(unread[0])
    return LightTold(powers, tuple(unread))


def light_files(path: Path) -> list[Path]:
    """Return the files with received power in a directory, sorted."""
    return sorted(file for file in path.iterdir() if file.suffix.lower() in LIGHT_ENDINGS)


def _of_file(path: Path) -> list[Power]:
    with naming(path):
        text = read_text(path, (".csv", *LIGHT_ENDINGS))
        if path.suffix.lower() == ".csv":
            return list(_of_table(text))
        read = _of_json if text.lstrip().startswith("[") else _of_mlxlink if "[dBm]" in text else _of_modules
        found = list(read(path.stem, text))
        if not found:
            copper = " of a copper cable" if re.search(r"copper", text, re.IGNORECASE) else ""
            words = (
                f"no power is reported{copper}; expected what 'ethtool -m' or 'mlxlink -m' print of an optical module"
            )
            raise FileFormatError(words)
        return found


def _of_table(text: str) -> Iterator[Power]:
    for line, row in read_named_columns(text, LIGHT_COLUMNS):
        host, interface, power = (row[name].strip() for name in LIGHT_COLUMNS)
        yield Power(host, interface, None, _dbm(power or "-inf", f"line {line}"))


def _of_modules(stem: str, text: str) -> Iterator[Power]:
    host, _, interface = stem.rpartition(".")
    for number, line in enumerate(text.splitlines(), 1):
        if power := _POWER.fullmatch(line):
            if not host:
                raise FileFormatError(f"line {number}: no interface is named on a line before, nor by HOST.INTERFACE")
            channel = int(power[1]) if power[1] else None
            yield Power(host, interface, channel, _dbm(power[2], f"line {number}"))
        elif ":" not in line.rstrip().rstrip(":") and (heading := _HEADING.fullmatch(line)):
            host, interface = stem, heading[1]


def _of_mlxlink(stem: str, text: str) -> Iterator[Power]:
    host, _, interface = stem.rpartition(".")
    for number, line in enumerate(text.splitlines(), 1):
        if found := _MLXLINK.fullmatch(line):
            if not host:
                raise FileFormatError("name the file HOST.INTERFACE.mlxlink: it does not tell of which module it is")
            powers = [cell for cell in found[1].split(",") if cell.strip()]
            for lane, cell in enumerate(powers, 1):
                yield Power(host, interface, lane if len(powers) > 1 else None, _dbm(cell, f"line {number}"))


def _of_json(stem: str, text: str) -> Iterator[Power]:
    host, _, interface = stem.rpartition(".")
    try:
        (module,) = parse_json(text)
        if "rx_power" not in module:
            return
        told = module["rx_power"]
        powers = [float(value) for value in (told["values"] if "values" in told else [told["value"]])]
    except (ValueError, TypeError, KeyError):
        raise FileFormatError("this is not how 'ethtool --json -m' tells rx_power") from None
    if not host:
        raise FileFormatError("name the file HOST.INTERFACE.ethtool: JSON does not tell of which module it is")
    for channel, milliwatts in enumerate(powers, 1):
        dbm = 10 * math.log10(milliwatts) if milliwatts > 0 else -math.inf
        yield Power(host, interface, channel if len(powers) > 1 else None, _dbm(str(dbm), f"channel {channel}"))


def _dbm(text: str, place: str) -> float:
    try:
        dbm = float(text)
    except ValueError:
        dbm = math.nan
    if math.isnan(dbm) or dbm > _MAX_LIGHT:
        raise FileFormatError(f"{place}: '{text[:20]}' is not a power in dBm; expected one such as -2.3")
    return dbm

"""What light arrives, as transceivers tell it: a CSV ``host,port,rx_dbm``, or what ``ethtool -m`` prints.

Of ``ethtool -m`` there is a file ``HOST.ethtool`` with the name of an interface on the line before each module, which
``for i in p0 p1; do echo $i:; ethtool -m $i; done > HOST.ethtool`` writes, a file ``HOST.INTERFACE.ethtool`` for each
module, also of ``ethtool --json -m``, or a directory of such files. Known to SFF-8472, SFF-8636 and CMIS modules is the
mean power or its modulation (OMA), for each channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import named_columns
from topodesign.base.text_files import naming, read_text

LIGHT_COLUMNS = ("host", "port", "rx_dbm")
LIGHT_FILE = "light.csv"
ETHTOOL = ".ethtool"
DARK = -30.0  # power in dBm below which no light arrives; without any, transceivers tell -40 or minus infinity

_MOST_LIGHT = 30.0  # dBm; a watt
_POWER = re.compile(
    r"\s*(?:Receiver signal average optical power|Rcvr signal avg optical power|Receiver signal OMA)"
    r"\s*(?:\(Channel (\d+)\))?\s*:.*?(-?inf|-?\d+(?:\.\d+)?) dBm\s*"
)
_HEADING = re.compile(r"[=#\s]*([^\s:=#][^\s=#]*?):?[=#\s]*")


class Power(NamedTuple):
    """What arrives at a module in dBm; ``channel`` from 1 on, None if it is of an interface as a whole."""

    host: str
    interface: str
    channel: int | None
    dbm: float


def read_power(path: Path) -> Iterator[Power]:
    """Yield what a file or a directory of ``ethtool`` files tells.

    An empty cell, ``-inf`` and what is below :data:`DARK` say that no light arrives.

    Raises
    ------
    FileFormatError
        If it is neither, tells no power, or one that is impossible.
    """
    if path.is_dir():
        files = sorted(path.glob(f"*{ETHTOOL}"))
        if not files:
            raise FileFormatError(f"{path}: there is nothing in it; expected files HOST{ETHTOOL}")
        for file in files:
            yield from read_power(file)
        return
    with naming(path):
        text = read_text(path, (".csv", ETHTOOL))
        if path.suffix.lower() == ".csv":
            yield from _of_table(text)
        else:
            found = list(_of_json(path.stem, text) if text.lstrip().startswith("[") else _of_modules(path.stem, text))
            if not found:
                raise FileFormatError("no power is told; expected what 'ethtool -m' prints of an optical module")
            yield from found


def _of_table(text: str) -> Iterator[Power]:
    for line, row in named_columns(text, LIGHT_COLUMNS, str.strip):
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


def _of_json(stem: str, text: str) -> Iterator[Power]:
    host, _, interface = stem.rpartition(".")
    try:
        (module,) = parse_json(text)
        values = module["rx_power"]["values"]
        powers = [float(value) for value in values]
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
    if math.isnan(dbm) or dbm > _MOST_LIGHT:
        raise FileFormatError(f"{place}: '{text[:20]}' is no power in dBm; expected one such as -2.3")
    return dbm

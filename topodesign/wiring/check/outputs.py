"""What programs print of neighbours, as text: each kind is told by its content, so files may be called anything.

``lldpctl`` (plain, which is SONiC's ``show lldp neighbors``, and ``-f keyvalue``) and SONiC's ``show lldp table`` tell
of one host, the one that their file is named after. ``ibnetdiscover`` and the ``.topo`` files of UFM and ibdiagnet tell
of a whole fabric; a channel adapter ``h3 mlx5_0`` is the port ``mlx5_0`` of host ``h3``, or its lanes ``mlx5_0/1`` and
so on where it has several ports.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import named_columns
from topodesign.base.text_files import naming, read_text

TEXT_ENDINGS = (".txt", ".lldp", ".topo")

_AGE = re.compile(r"([0-9]{1,6}) days?, ([0-9]{1,2}):([0-9]{2}):([0-9]{2})")


class Neighbour(NamedTuple):
    """One entry: where it was heard (host, interface), the names the neighbour gives, and for how long.

    The age is in seconds, None if it is not told.
    """

    host: str
    interface: str
    chassis: str
    ports: tuple[str, ...]
    age: int | None


class Told(NamedTuple):
    """What a file tells, and of which hosts, also of those that hear nothing."""

    entries: list[Neighbour]
    hosts: list[str]


def read_output(host: str, text: str) -> Told:
    """Return what a text tells, which tells of ``host`` if it is of one host alone."""
    for sign, read in _OUTPUTS:
        if sign.search(text):
            return read(host, text)
    raise FileFormatError(
        "this is nothing that lldpctl, lldpctl -f keyvalue, SONiC's 'show lldp table', ibnetdiscover or UFM print"
    )


def age_of(text: str) -> int | None:
    """Return seconds of an age such as ``1 day, 02:03:04``; None if it is none."""
    match = _AGE.search(text)
    if match is None:
        return None
    days, hours, minutes, seconds = map(int, match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _from_lldpctl(host: str, text: str) -> Told:
    entries = []
    for part in re.split(r"^Interface:", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        interface = head.partition(", via:")[0].strip()
        said = {key: value.strip() for key, value in re.findall(r"^ +(\w+):[ \t]*(.*)$", body, re.MULTILINE)}
        if "ChassisID" not in said or "PortID" not in said:
            raise FileFormatError(f"interface '{interface[:40]}': ChassisID and PortID of a neighbour are not told")
        name = said.get("SysName") or _after_type(said["ChassisID"])
        ports = (_after_type(said["PortID"]), said.get("PortDescr", ""))
        entries.append(Neighbour(host, interface, name, ports, age_of(head)))
    return Told(entries, [host])


def _after_type(text: str) -> str:
    return text.partition(" ")[2].strip() or text


_KEYVALUE = re.compile(r"^lldp\.(.+?)\.((?:via|rid|age|chassis|port)[^=\n]*)=(.*)$", re.MULTILINE)
_KINDS = ("mac", "ifname", "local", "ip", "ifalias", "unhandled")  # of names that lldpctl tells


def _from_keyvalue(host: str, text: str) -> Told:
    found: list[tuple[str, dict[str, str]]] = []
    for name, key, value in _KEYVALUE.findall(text):
        if key == "via":
            found.append((name, {}))
        if found and found[-1][0] == name:
            found[-1][1].setdefault(key, value.strip())
    entries = []
    for name, said in found:
        chassis = [said[key] for kind in ("name", *_KINDS) if (key := f"chassis.{kind}") in said]
        ports = tuple(said[key] for kind in (*_KINDS, "descr") if (key := f"port.{kind}") in said)
        if not chassis or not ports:
            raise FileFormatError(f"interface '{name[:40]}': chassis and port of a neighbour are not told")
        entries.append(Neighbour(host, name, chassis[0], ports, age_of(said.get("age", ""))))
    return Told(entries, [host])


def _from_table(host: str, text: str) -> Told:
    lines = iter(text.splitlines())
    head = next(line for line in lines if _TABLE.match(line))
    columns = [match.span() for match in re.finditer(r"-+", next(lines, ""))]
    names = [head[a:b].strip() for a, b in columns]
    if "RemotePortID" not in names:
        raise FileFormatError("the line of dashes below LocalPort, RemoteDevice, RemotePortID is missing")
    columns[-1] = (columns[-1][0], 10**6)
    entries = []
    for line in lines:
        if not line.strip() or line.startswith("---"):
            break
        row = {name: line[a:b].strip() for name, (a, b) in zip(names, columns, strict=True)}
        ports = (row["RemotePortID"], row.get("RemotePortDescr", ""))
        entries.append(Neighbour(host, row["LocalPort"], row["RemoteDevice"], ports, None))
    return Told(entries, [host])


class _Port(NamedTuple):
    """A port of a channel adapter or switch: its host or name, the device, and the number."""

    host: str
    device: str
    number: str


_NODE = re.compile(r'(Ca|Switch|Rt)\s+(\d+)\s+"([^"]+)"\s*#\s*"([^"]*)"')
_LINK = re.compile(r'\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\[(\d+)\]')


def _from_ibnetdiscover(_: str, text: str) -> Told:
    nodes: dict[str, tuple[str, str]] = {}
    adapters: dict[str, None] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    links: list[tuple[str, str, str, str]] = []
    here: str | None = None
    for line in text.splitlines():
        if node := _NODE.match(line):
            kind, ports, here, said = node.groups()
            host, _, device = said.partition(" ")
            nodes[here] = host, device.strip() or "port"
            if kind == "Ca":
                adapters[here] = None
                sizes[nodes[here]] = max(int(ports), sizes[nodes[here]])
        elif here is not None and (link := _LINK.match(line)):
            port, there, far = link.groups()
            links.append((here, port, there, far))
    unknown = next((there for *_, there, _ in links if there not in nodes), None)
    if unknown is not None:
        raise FileFormatError(f"a link leads to '{unknown[:40]}', of which nothing is told")
    pairs = [(_Port(*nodes[a], p), _Port(*nodes[b], q)) for a, p, b, q in links if a in adapters]
    return Told(list(_entries(pairs, sizes)), list(dict.fromkeys(nodes[one][0] for one in adapters)))


_TOPO_LINK = re.compile(r"\s+(\S+)\s+(?:-\S*)?->\s+(\S+)\s+(\S+)\s+(\S+)\s*(?:#.*)?")


def _from_topo(_: str, text: str) -> Told:
    pairs: dict[tuple[_Port, _Port], None] = {}
    hosts: dict[str, None] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    here: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if link := _TOPO_LINK.fullmatch(line):
            if here is None:
                raise FileFormatError(f"line {number}: a link before the system that it is of")
            near, _, name, far = link.groups()
            a, b = _topo_port(here, near), _topo_port(name, far)
            for one, other, said in ((a, b, near), (b, a, far)):
                if "/" in said:  # a channel adapter's; a switch has plain numbers
                    pairs[one, other] = None
                    hosts[one.host] = None
                    sizes[one[:2]] = max(sizes[one[:2]], int(one.number) if one.number.isdecimal() else 1)
        elif not line[0].isspace() and len(words := line.split()) > 1:
            here = words[1]
        else:
            raise FileFormatError(f"line {number}: neither 'TYPE NAME' nor 'PORT -> TYPE NAME PORT'")
    return Told(list(_entries(list(pairs), sizes)), list(hosts))


def _topo_port(host: str, text: str) -> _Port:
    device, _, number = text.rpartition("/")
    return _Port(host, device or text, number.removeprefix("P"))


def _entries(pairs: list[tuple[_Port, _Port]], sizes: Counter[tuple[str, str]]) -> Iterator[Neighbour]:
    """Yield what channel adapters hear; a device of one port is the interface, of several each port is a lane of it."""

    def name(port: _Port) -> str:
        return f"{port.device}/{port.number}" if sizes[port[:2]] > 1 else port.device

    for here, there in pairs:
        yield Neighbour(here.host, name(here), there.host, (name(there),), None)


_TABLE = re.compile(r"^LocalPort\s+RemoteDevice\s+RemotePortID", re.MULTILINE)
_OUTPUTS: tuple[tuple[re.Pattern[str], Callable[[str, str], Told]], ...] = (
    (re.compile(r"^LLDP neighbors:", re.MULTILINE), _from_lldpctl),
    (re.compile(r"^lldp\..+\.via=", re.MULTILINE), _from_keyvalue),
    (_TABLE, _from_table),
    (re.compile(r'^(?:Ca|Switch)\s+\d+\s+"', re.MULTILINE), _from_ibnetdiscover),
    (re.compile(r"^\s+\S+\s+(?:-\S*)?->\s+\S+\s+\S+\s+\S+", re.MULTILINE), _from_topo),
)
"""What tells an output, and what reads it."""


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
    """Yield what a CSV ``host,port,rx_dbm``, or files of what ``ethtool -m`` prints, tell of the light that arrives.

    Such a file is ``HOST.ethtool``, with the name of an interface on the line before each module, or
    ``HOST.INTERFACE.ethtool``, also of ``ethtool --json -m``, or a directory of them. An empty cell, ``-inf`` and what
    is below :data:`DARK` say that no light arrives.
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
            for line, row in named_columns(text, LIGHT_COLUMNS, str.strip):
                host, interface, power = (row[name].strip() for name in LIGHT_COLUMNS)
                yield Power(host, interface, None, _dbm(power or "-inf", f"line {line}"))
        else:
            found = list(_of_json(path.stem, text) if text.lstrip().startswith("[") else _of_modules(path.stem, text))
            if not found:
                raise FileFormatError("no power is told; expected what 'ethtool -m' prints of an optical module")
            yield from found


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

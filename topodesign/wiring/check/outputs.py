"""Neighbour listings of programs as text, recognised by content.

``lldpctl`` (plain, which is SONiC's ``show lldp neighbors``, ``-f keyvalue`` and ``-f xml``), ``networkctl lldp`` and
SONiC's ``show lldp table`` tell of one host, the one that their file is named after, or each that ``pdsh`` puts before
its lines. ``ibnetdiscover`` (also with ``-p``), ``iblinkinfo`` and the ``.topo`` files of UFM and ibdiagnet tell of a
whole fabric; a channel adapter ``h3 mlx5_0`` is the port ``mlx5_0`` of host ``h3``, or its lanes ``mlx5_0/1`` and so on
where it has several ports.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.xml import parse_xml

TEXT_ENDINGS = (".txt", ".lldp", ".topo", ".xml")

_AGE = re.compile(r"([0-9]{1,6}) days?, ([0-9]{1,2}):([0-9]{2}):([0-9]{2})")


class Neighbour(NamedTuple):
    """Neighbour entry: place, names and age.

    The name of its chassis is empty, or an address, if it has none. The age is in seconds, None if it is not reported.
    """

    host: str
    interface: str
    chassis: str
    ports: tuple[str, ...]
    age: int | None
    identity: str = ""  # the address of the chassis, by which it may be known where it tells no name


class NeighbourOutput(NamedTuple):
    """Parsed neighbours, their hosts, unread files and faults."""

    entries: list[Neighbour]
    hosts: list[str]
    unread: Mapping[str, str] = {}  # by the host that a file is named after
    faults: Sequence[str] = ()  # what link tests found that is not as written


def read_output(host: str, text: str) -> NeighbourOutput:
    """Return the neighbours in a program's output.

    They are those of ``host`` if the output concerns one host alone.
    """
    for sign, read in _OUTPUTS:
        if sign.search(text):
            return read(host, text)
    raise FileFormatError(
        "this is nothing that lldpctl, networkctl lldp, SONiC's 'show lldp table', ibnetdiscover, iblinkinfo or UFM "
        "print"
    )


def age_of(text: str) -> int | None:
    """Return the seconds of an age such as ``1 day, 02:03:04``, or None."""
    match = _AGE.search(text)
    if match is None:
        return None
    days, hours, minutes, seconds = map(int, match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _from_lldpctl(host: str, text: str) -> NeighbourOutput:
    entries = []
    for part in re.split(r"^Interface:", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        interface = head.partition(", via:")[0].strip()
        said = {key: value.strip() for key, value in re.findall(r"^ +(\w+):[ \t]*(.*)$", body, re.MULTILINE)}
        if "ChassisID" not in said or "PortID" not in said:
            raise FileFormatError(f"interface '{interface[:40]}': ChassisID and PortID of a neighbour are missing")
        name = said.get("SysName") or _after_type(said["ChassisID"])
        ports = (_after_type(said["PortID"]), said.get("PortDescr", ""))
        entries.append(Neighbour(host, interface, name, ports, age_of(head), _after_type(said["ChassisID"])))
    return NeighbourOutput(entries, [host])


def _after_type(text: str) -> str:
    return text.partition(" ")[2].strip() or text


_KEYVALUE = re.compile(r"^lldp\.(.+?)\.((?:via|rid|age|chassis|port)[^=\n]*)=(.*)$", re.MULTILINE)
_KINDS = ("mac", "ifname", "local", "ip", "ifalias", "unhandled")  # of names that lldpctl tells


def _from_keyvalue(host: str, text: str) -> NeighbourOutput:
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
            raise FileFormatError(f"interface '{name[:40]}': chassis and port of a neighbour are missing")
        entries.append(Neighbour(host, name, chassis[0], ports, age_of(said.get("age", "")), chassis[-1]))
    return NeighbourOutput(entries, [host])


def _from_table(host: str, text: str) -> NeighbourOutput:
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
    return NeighbourOutput(entries, [host])


def _from_xml(host: str, text: str) -> NeighbourOutput:
    entries = []
    for interface in parse_xml(text, "lldp", "lldpctl -f xml").iter("interface"):
        name = interface.get("name", "")
        chassis, port = interface.find("chassis"), interface.find("port")
        if chassis is None or port is None:
            raise FileFormatError(f"interface '{name[:40]}': chassis and port of a neighbour are missing")
        identity = (chassis.findtext("id") or "").strip()
        ports = ((port.findtext("id") or "").strip(), (port.findtext("descr") or "").strip())
        said = (chassis.findtext("name") or "").strip() or identity
        entries.append(Neighbour(host, name, said, ports, age_of(interface.get("age", "")), identity))
    return NeighbourOutput(entries, [host])


_NETWORKCTL = re.compile(
    r"^(?P<link>LINK +)(?P<id>CHASSIS[ -]ID +)(?P<name>SYSTEM[ -]NAME +)(?P<caps>CAPS +)(?P<port>PORT[ -]ID *)"
    r"(?P<descr>PORT[ -]DESCRIPTION)?",
    re.MULTILINE,
)


def _from_networkctl(host: str, text: str) -> NeighbourOutput:
    head = _NETWORKCTL.search(text)
    if head is None:
        raise FileFormatError("the line LINK, CHASSIS ID, SYSTEM NAME, CAPS, PORT ID is missing")
    spans = {name: (start - head.start(), end - head.start()) for name, (start, end) in _spans(head)}
    entries = []
    for line in text[head.end() :].splitlines()[1:]:
        if not line.strip():
            break
        row = {name: line[a:b].strip() for name, (a, b) in spans.items()}
        row = {name: "" if cell in {"n/a", "-"} else cell for name, cell in row.items()}
        ports = (row["port"], row.get("descr", ""))
        entries.append(Neighbour(host, row["link"], row["name"], ports, None, row["id"]))
    return NeighbourOutput(entries, [host])


def _spans(head: re.Match[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    names = [name for name, words in head.groupdict().items() if words]
    for name in names:
        yield name, (head.start(name), head.end(name) if name != names[-1] else 10**6)


_OF_HOSTS = re.compile(
    r"^[A-Za-z0-9][\w.-]*: *(?:-{9,}$|LocalPort\b|lldp\.|LINK +CHASSIS|Ca\s|Capability codes)", re.MULTILINE
)
_PDSH = re.compile(r"^([A-Za-z0-9][\w.-]*): ?(.*)$")


def _from_pdsh(_: str, text: str) -> NeighbourOutput:
    """Read the lines of each host in pdsh output."""
    parts: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if found := _PDSH.match(line):
            parts.setdefault(found[1], []).append(found[2])
        elif line.strip():
            raise FileFormatError(f"line {number}: no host is named before it, as pdsh does")
    entries, hosts, unread = [], [], {}
    for host, lines in parts.items():
        try:
            told = read_output(host, "\n".join(lines) + "\n")
        except FileFormatError as error:
            unread[host] = str(error)
        else:
            entries += told.entries
            hosts += told.hosts
    if not hosts:
        raise FileFormatError(next(iter(unread.values())))
    return NeighbourOutput(entries, hosts, unread)


class _Port(NamedTuple):
    """Port of a channel adapter or switch."""

    host: str
    device: str
    number: str


_Link: TypeAlias = tuple[_Port, _Port | None, bool]
"""A port of a channel adapter, the port that it is joined to if any, and whether that is of another adapter."""

_NODE = re.compile(r'(Ca|Switch|Rt)\s+(\d+)\s+"([^"]+)"\s*#\s*"([^"]*)"')
_LINK_LINE = re.compile(r'\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([^"]+)"\[(\d+)\]')


def _from_ibnetdiscover(_: str, text: str) -> NeighbourOutput:
    nodes: dict[str, tuple[str, str]] = {}
    adapters: dict[str, str] = {}  # ports of each
    links: list[tuple[str, str, str, str]] = []
    here: str | None = None
    for line in text.splitlines():
        if node := _NODE.match(line):
            kind, ports, here, said = node.groups()
            host, _, device = said.partition(" ")
            nodes[here] = host, device.strip() or "port"
            if kind == "Ca":
                adapters[here] = ports
        elif here is not None and (link := _LINK_LINE.match(line)):
            port, there, far = link.groups()
            links.append((here, port, there, far))
    unknown = next((there for *_, there, _ in links if there not in nodes), None)
    if unknown is not None:
        raise FileFormatError(f"a link leads to '{unknown[:40]}', which the file does not describe")
    found: list[_Link] = [(_Port(*nodes[one], ports), None, False) for one, ports in adapters.items()]
    found += [(_Port(*nodes[a], p), _Port(*nodes[b], q), False) for a, p, b, q in links if a in adapters]
    return _of_adapters(found)


_PAIR = re.compile(
    r"^(?P<kind>CA|SW|RT)\s+\d+\s+(?P<port>\d+)\s+0x[0-9a-fA-F]+\s+\S+\s+\S+"
    r"(?:\s+-\s+(?P<far_kind>CA|SW|RT)\s+\d+\s+(?P<far>\d+)\s+0x[0-9a-fA-F]+)?"
    r"\s+\(?\s*'(?P<name>[^']*)'(?:\s+-\s+'(?P<far_name>[^']*)')?",
    re.MULTILINE,
)


def _from_port_pairs(_: str, text: str) -> NeighbourOutput:
    """Read ``ibnetdiscover -p``: one port and its peer per line."""
    links = []
    for found in _PAIR.finditer(text):
        if found["kind"] == "CA":
            far = _ib_port(found["far_name"], found["far"]) if found["far"] else None
            links.append((_ib_port(found["name"], found["port"]), far, found["far_kind"] == "CA"))
    return _of_adapters(links)


_BLOCK = re.compile(r"^(CA|Switch|Router):\s+(.*?):?\s*$")
_INFO = re.compile(
    r"^\s+(?:0x[0-9a-fA-F]+\s+)?\d+\s+(\d+)\[[^\]]*\]\s+==\((.*?)\)==>\s*(?:\d+\s+(\d+)\[[^\]]*\]\s+\"([^\"]*)\")?"
)


def _from_iblinkinfo(_: str, text: str) -> NeighbourOutput:
    """Read ``iblinkinfo``: one block per device, one line per port."""
    links = []
    adapters = {match[2] for line in text.splitlines() if (match := _BLOCK.match(line)) and match[1] == "CA"}
    name, of_adapter = "", False
    for line in text.splitlines():
        if block := _BLOCK.match(line):
            name, of_adapter = block[2], block[1] == "CA"
        elif of_adapter and (info := _INFO.match(line)):
            far = _ib_port(info[4], info[3]) if info[4] else None
            links.append((_ib_port(name, info[1]), far, info[4] in adapters))
    return _of_adapters(links)


def _ib_port(name: str, number: str) -> _Port:
    host, _, device = name.partition(" ")
    return _Port(host, device.strip() or "port", number)


def _of_adapters(links: Iterable[_Link]) -> NeighbourOutput:
    """Return the neighbours of channel adapters.

    A device of one port is the interface, of several each port is a lane of it.
    """
    links = list(links)
    sizes: Counter[tuple[str, str]] = Counter()
    for here, there, adapter in links:
        for port in (here, *([there] if there is not None and adapter else [])):
            sizes[port[:2]] = max(sizes[port[:2]], int(port.number) if port.number.isdecimal() else 1)

    def name(port: _Port) -> str:
        return f"{port.device}/{port.number}" if sizes[port[:2]] > 1 else port.device

    entries = [
        Neighbour(here.host, name(here), there.host, (name(there),), None)
        for here, there, _ in links
        if there is not None
    ]
    return NeighbourOutput(entries, list(dict.fromkeys(here.host for here, *_ in links)))


_TOPO_LINK = re.compile(r"\s+(\S+)\s+(?:-\S*)?->\s+(\S+)\s+(\S+)\s+(\S+)\s*(?:#.*)?")


def _from_topo(_: str, text: str) -> NeighbourOutput:
    links: dict[_Link, None] = {}
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
                    links[one, other, False] = None
        elif not line[0].isspace() and len(words := line.split()) > 1:
            here = words[1]
        else:
            raise FileFormatError(f"line {number}: neither 'TYPE NAME' nor 'PORT -> TYPE NAME PORT'")
    return _of_adapters(links)


def _topo_port(host: str, text: str) -> _Port:
    device, _, number = text.rpartition("/")
    return _Port(host, device or text, number.removeprefix("P"))


_TABLE = re.compile(r"^LocalPort\s+RemoteDevice\s+RemotePortID", re.MULTILINE)
_OUTPUTS: tuple[tuple[re.Pattern[str], Callable[[str, str], NeighbourOutput]], ...] = (
    (re.compile(r"\A\s*<(?:\?xml|lldp\b)"), _from_xml),
    (_OF_HOSTS, _from_pdsh),
    (_NETWORKCTL, _from_networkctl),
    (_PAIR, _from_port_pairs),
    (re.compile(r"^(?:CA|Switch|Router): .*:$\n\s+0x.*==\(", re.MULTILINE), _from_iblinkinfo),
    (re.compile(r"^LLDP neighbors:", re.MULTILINE), _from_lldpctl),
    (re.compile(r"^lldp\..+\.via=", re.MULTILINE), _from_keyvalue),
    (_TABLE, _from_table),
    (re.compile(r'^(?:Ca|Switch)\s+\d+\s+"', re.MULTILINE), _from_ibnetdiscover),
    (re.compile(r"^\s+\S+\s+(?:-\S*)?->\s+\S+\s+\S+\s+\S+", re.MULTILINE), _from_topo),
)
"""What tells an output, and what reads it."""

"""What ports are called, as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.tables import Located, parse_csv
from topodesign.base.text_files import naming, read_text
from topodesign.fabrics.fabric import Fabric

_GUID = re.compile(r"(0x)?[0-9a-fA-F]{1,16}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,63}")


@dataclass(frozen=True)
class Port:
    """One end of a cable: what it is called, its address or None, and the GUID of what it belongs to or None."""

    name: str
    address: str | None = None
    guid: int | None = None


def read_ports(path: str | Path, fabric: Fabric) -> dict[tuple[str, str], list[Port]]:
    """Return the ports from each vertex to each neighbour, in the order of the file.

    The table has the columns ``node,peer,port`` and as needed ``address`` and ``guid``: the name of the port at the
    node (for InfiniBand its number) with its cable to the peer, its address, and the GUID of the node. Of a topology,
    whose nodes are switches to InfiniBand, ``host-NODE`` is the adapter at a node.
    """
    path = as_path(path)
    known = {*fabric.names, *(f"host-{name}" for name in fabric.names)}
    ports: dict[tuple[str, str], list[Port]] = {}
    with naming(path):
        for row in parse_csv(read_text(path, (".csv",)), ("node", "peer", "port"), ("address", "guid")):
            for column in ("node", "peer"):
                if row[column].value not in known:
                    raise FileFormatError(f"line {row[column].line}: there is no {row[column].value!r:.60}")
            for column, form in (("port", _WORD), ("guid", _GUID)):
                if column in row and not form.fullmatch(row[column].value):
                    raise FileFormatError(f"line {row[column].line}: {column} {row[column].value!r:.60} is none")
            address = None if "address" not in row else _address(row["address"])
            guid = int(row["guid"].value, 16) if "guid" in row else None
            pair = row["node"].value, row["peer"].value
            ports.setdefault(pair, []).append(Port(row["port"].value, address, guid))
    return ports


def _address(cell: Located) -> str:
    import ipaddress  # noqa: PLC0415  for such tables alone

    try:
        return str(ipaddress.ip_interface(cell.value).ip)
    except ValueError:
        raise FileFormatError(f"line {cell.line}: address {cell.value!r:.60} is none, such as 10.0.0.1") from None

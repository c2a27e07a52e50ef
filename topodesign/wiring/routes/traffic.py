"""How much goes from which node to which, as a table; and what ports are called."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import Located, parse_csv
from topodesign.base.text_files import naming, read_text
from topodesign.fabrics.fabric import Fabric
from topodesign.topology.topology import IntArray

_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_GUID = re.compile(r"(0x)?[0-9a-fA-F]{1,16}")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,63}")
_MOST_WEIGHT = 2**50  # of all traffic together, so that loads fit into 64 bits


def uniform(fabric: Fabric) -> IntArray:
    """Return as much from every compute node to every other."""
    weight = np.zeros((len(fabric.names),) * 2, dtype=np.int64)
    weight[np.ix_(fabric.compute, fabric.compute)] = 1
    np.fill_diagonal(weight, 0)
    return weight


def read_traffic(path: str | Path, fabric: Fabric) -> tuple[IntArray, Fraction]:
    """Return how much goes from each vertex to each other in integers, and what one of these is in the file's unit.

    The table has the columns ``src,dst,amount``, with names (of a topology numbers) of nodes and amounts such as 3 or
    0.25; repeated rows add up.
    """
    path = as_path(path)
    amounts: dict[tuple[int, int], Fraction] = {}
    with naming(path):
        for row in parse_csv(read_text(path, (".csv",)), ("src", "dst", "amount"), ()):
            pair = _node(row["src"], fabric), _node(row["dst"], fabric)
            text = row["amount"]
            if not _AMOUNT.fullmatch(text.value):
                raise FileFormatError(f"line {text.line}: amount: expected a number such as 3 or 0.25")
            if pair[0] == pair[1]:
                raise FileFormatError(f"line {text.line}: {row['src'].value} sends to itself; leave the row out")
            amounts[pair] = amounts.get(pair, Fraction(0)) + Fraction(text.value)
        total = sum(amounts.values(), Fraction(0))
        if not total:
            raise FileFormatError("there is no traffic; give rows such as 0,5,1")
        common = math.lcm(*(amount.denominator for amount in amounts.values()))
        if total * common > _MOST_WEIGHT:
            raise FileFormatError(f"all amounts together are at most {_MOST_WEIGHT} of their finest part; round them")
    weight = np.zeros((len(fabric.names),) * 2, dtype=np.int64)
    for pair, amount in amounts.items():
        weight[pair] = int(amount * common)
    return weight, Fraction(1, common)


def _node(cell: Located, fabric: Fabric) -> int:
    try:
        number = fabric.number(cell.value)
    except ParameterError as error:
        raise FileFormatError(f"line {cell.line}: {error}") from None
    if number in fabric.topology.switches:
        raise FileFormatError(f"line {cell.line}: {cell.value} is a switch, which sends nothing of its own")
    return number


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

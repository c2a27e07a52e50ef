"""Traffic matrices: read from a file, or drawn from expert routing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from topodesign.base.arguments import as_integer, as_path, as_seed
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import LocatedValue, csv_rows, parse_csv, write_csv
from topodesign.base.text_files import naming, read_text
from topodesign.fabrics.fabric import Fabric
from topodesign.topology.topology import IntArray

MatrixLike: TypeAlias = "str | Path | Sequence[Sequence[int]] | IntArray"
"""A matrix of whole numbers, the name of its file (.csv), or the text of a distribution such as ``zipf:1.2``."""

MAX_NODES = 2048
_MAX = 2**40  # of what goes from one node to another
_MAX_TOGETHER = 2**50  # of all traffic, so that loads fit into 64 bits
_MAX_DRAWN = 10**9  # numbers that a choice of several experts draws
_NUMBER = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"
_DRAWN = re.compile(rf"(?P<kind>zipf|dirichlet):(?P<skew>{_NUMBER})|top(?P<k>[1-9][0-9]?):(?P<of>{_NUMBER})")
_AMOUNT = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")


class Demand(NamedTuple):
    """Traffic of a fabric."""

    amounts: IntArray  # from each vertex to each other, whole numbers; shape (vertices, vertices)
    unit: Fraction  # what one of these is in the unit of the file


def as_demand(value: MatrixLike, fabric: Fabric, *, tokens: int | None = None, seed: int | None = None) -> Demand:
    """Return the demand between all nodes of a fabric.

    * ``value``: a matrix, or a ``.csv`` file: a table with the columns ``src,dst,amount``, with names (of a topology
      numbers) of nodes, in which repeated rows add up; or without a header a line for every sender, whole numbers with
      commas between. Or a distribution, of which every node draws the experts of its tokens, one expert on each node:
      ``zipf:S`` (the experts are popular with all nodes, the r-th of a random order by r^-S), ``topK:S`` (the same, and
      every token goes to K different ones), or ``dirichlet:A`` (each node has favourites of its own, the fewer the
      smaller A is). What a node has for itself does not count.
    * ``tokens``, ``seed``: how many each node draws (4096), and how (0); of a distribution alone.

    Examples
    --------
    >>> from topodesign.fabrics.places import as_fabric
    >>> as_demand([[5, 3], [1, 0]], as_fabric("biring(2,2)")).amounts.tolist()
    [[0, 3], [1, 0]]
    """
    nodes = len(fabric.compute)
    if not 1 < nodes <= MAX_NODES:
        raise ParameterError(f"matrices of traffic are of 2 to {MAX_NODES} nodes, not {nodes}")
    found = _DRAWN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None:
        many = as_integer("tokens", 4096 if tokens is None else tokens, 1, 10**9)
        return _place_matrix(fabric, _draw_matrix(found, nodes, many, as_seed(seed or 0)))
    if tokens is not None or seed is not None:
        raise ParameterError("tokens and seed are for distributions such as zipf:1.2; this matrix is given")
    if not isinstance(value, str | Path):
        return _place_matrix(fabric, _whole(value))
    if not str(value).lower().endswith(".csv"):
        raise ParameterError(f"traffic is a .csv file or a distribution such as zipf:1.2, not {str(value)!r:.60}")
    path = as_path(value)
    with naming(path):
        text = read_text(path, (".csv",))
        line = next(csv_rows(text, comments=True), None)
        if line is not None and line[1][0].strip().isalpha():
            return _table(text, fabric)
        return _place_matrix(fabric, _read(text))


def traffic_table(fabric: Fabric, demand: Demand) -> str:
    """Return the text of a table ``src,dst,amount``.

    Examples
    --------
    >>> from topodesign.fabrics.places import as_fabric
    >>> fabric = as_fabric("biring(2,3)")
    >>> print(traffic_table(fabric, as_demand([[0, 2, 0], [0, 0, 0], [1, 0, 0]], fabric)), end="")
    src,dst,amount
    0,1,2
    2,0,1
    """
    rows: list[tuple[str, ...]] = [("src", "dst", "amount")]
    for u, v in np.argwhere(demand.amounts).tolist():
        rows.append((fabric.names[u], fabric.names[v], _decimal(int(demand.amounts[u, v]) * demand.unit)))
    return write_csv(rows)


def _decimal(amount: Fraction) -> str:
    """Return an amount with up to nine decimals."""
    whole, rest = divmod(amount, 1)
    return str(whole) if not rest else f"{whole}.{int(rest * 10**9):09}".rstrip("0")


def _whole(value: object) -> IntArray:
    try:
        matrix = np.array(value)
    except ValueError:
        matrix = np.zeros(0)
    if matrix.dtype.kind not in "iu":
        raise ParameterError("a matrix of traffic has whole numbers")
    return matrix.astype(np.int64)


def _draw_matrix(found: re.Match[str], nodes: int, tokens: int, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    if found["kind"] == "dirichlet":
        if not float(found["skew"]):
            raise ParameterError("dirichlet:A requires a number above zero")
        return rng.multinomial(tokens, rng.dirichlet(np.full(nodes, float(found["skew"])), nodes)).astype(np.int64)
    popular = np.arange(1, nodes + 1) ** -float(found["skew"] or found["of"])
    shares = rng.permutation(popular / popular.sum())
    if found["kind"] == "zipf":
        return rng.multinomial(tokens, np.tile(shares, (nodes, 1))).astype(np.int64)
    several = int(found["k"])
    if several > nodes or nodes * nodes * tokens > _MAX_DRAWN:
        what = f"{several} different experts are more than {nodes} nodes have"
        raise ParameterError(what if several > nodes else "that many tokens take too long to draw; give fewer")
    matrix = np.zeros((nodes, nodes), dtype=np.int64)
    for row in range(nodes):  # the largest K with Gumbel noise are as drawn one after the other, by shares of the rest
        scores = np.log(shares) + rng.gumbel(size=(tokens, nodes))
        matrix[row] = np.bincount(np.argpartition(-scores, several - 1, axis=1)[:, :several].ravel(), minlength=nodes)
    return matrix


def _read(text: str) -> IntArray:
    rows: list[list[int]] = []
    for line, cells in csv_rows(text, comments=True):
        if len(rows) == MAX_NODES:
            raise FileFormatError(f"line {line}: more than {MAX_NODES} nodes")
        wrong = next((one for one in cells if not re.fullmatch(r"\s*[0-9]{1,13}\s*", one, re.ASCII)), None)
        if wrong is not None:
            raise FileFormatError(f"line {line}: {wrong[:30]!r} is not a whole number")
        if rows and len(cells) != len(rows[0]):
            raise FileFormatError(f"line {line}: {len(cells)} numbers, and {len(rows[0])} in the first line")
        rows.append(list(map(int, cells)))
    if not rows:
        raise FileFormatError("it has no numbers; give rows src,dst,amount, or a line for every sender such as 0,3,1")
    return np.array(rows, dtype=np.int64)


def _table(text: str, fabric: Fabric) -> Demand:
    amounts: dict[tuple[int, int], Fraction] = {}
    for row in parse_csv(text, ("src", "dst", "amount"), ()):
        pair = _node(row["src"], fabric), _node(row["dst"], fabric)
        said = row["amount"]
        if not _AMOUNT.fullmatch(said.value):
            raise FileFormatError(f"line {said.line}: amount: expected a number such as 3 or 0.25")
        if pair[0] == pair[1]:
            raise FileFormatError(f"line {said.line}: {row['src'].value} sends to itself; omit the row")
        amounts[pair] = amounts.get(pair, Fraction(0)) + Fraction(said.value)
    total = sum(amounts.values(), Fraction(0))
    if not total:
        raise FileFormatError("there is no traffic; give rows such as 0,5,1")
    common = math.lcm(*(amount.denominator for amount in amounts.values()))
    if total * common > _MAX_TOGETHER:
        raise FileFormatError(f"all amounts together are at most {_MAX_TOGETHER} of their finest part; round them")
    weight = np.zeros((len(fabric.names),) * 2, dtype=np.int64)
    for pair, amount in amounts.items():
        weight[pair] = int(amount * common)
    return Demand(weight, Fraction(1, common))


def _node(cell: LocatedValue, fabric: Fabric) -> int:
    try:
        number = fabric.number(cell.value)
    except ParameterError as error:
        raise FileFormatError(f"line {cell.line}: {error}") from None
    if number in fabric.topology.switches:
        raise FileFormatError(f"line {cell.line}: {cell.value} is a switch, which sends nothing of its own")
    return number


def _place_matrix(fabric: Fabric, matrix: IntArray) -> Demand:
    """Return the matrix of nodes as one of vertices."""
    nodes = len(fabric.compute)
    if matrix.shape != (nodes, nodes):
        raise ParameterError(f"there are {nodes} nodes: the matrix has {nodes} lines of as many numbers")
    if int(matrix.min()) < 0 or int(matrix.max()) > _MAX:
        raise ParameterError(f"numbers of a matrix of traffic are from 0 to {_MAX}")
    demand = np.zeros((len(fabric.names),) * 2, dtype=np.int64)
    demand[np.ix_(fabric.compute, fabric.compute)] = matrix
    np.fill_diagonal(demand, 0)
    if not demand.any():
        raise ParameterError("no data leaves its node; the matrix requires numbers off its diagonal")
    if demand.astype(object).sum() > _MAX_TOGETHER:
        raise ParameterError(f"all traffic together is at most {_MAX_TOGETHER} pieces; take larger ones")
    return Demand(demand, Fraction(1))

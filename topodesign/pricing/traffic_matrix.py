"""How much goes from each node to each: read from a file, or drawn from how a router spreads tokens over experts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from topodesign.base.arguments import as_integer, as_path, as_seed
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import csv_rows
from topodesign.base.text_files import naming, read_text
from topodesign.topology.topology import IntArray

MatrixLike: TypeAlias = "str | Path | Sequence[Sequence[int]] | IntArray"
"""A matrix of whole numbers, the name of its file (.csv), or the text of a distribution such as ``zipf:1.2``."""

MOST_NODES = 2048
_MOST = 2**40  # of what goes from one node to another
_DRAWN = re.compile(r"(?P<kind>zipf|dirichlet):(?P<skew>[0-9]{1,4}(?:\.[0-9]{1,6})?)")


def as_matrix(value: MatrixLike, nodes: int, *, tokens: int | None = None, seed: int | None = None) -> IntArray:
    """Return what goes from each node to each: whole numbers, shape ``(nodes, nodes)``.

    * ``value``: a matrix, its ``.csv`` file (a line for every sender, numbers with commas between), or a distribution,
      of which every node draws the experts of its tokens, one expert on each node: ``zipf:S`` (the experts are popular
      with all nodes, the r-th of a random order by r^-S), or ``dirichlet:A`` (each node has favourites of its own, the
      fewer the smaller A is).
    * ``nodes``: how many there are.
    * ``tokens``, ``seed``: how many each node draws (4096), and how (0); of a distribution alone.

    Examples
    --------
    >>> as_matrix([[0, 3], [1, 0]], 2).tolist()
    [[0, 3], [1, 0]]
    >>> int(as_matrix("zipf:1", 8, tokens=100).sum())
    800
    """
    if not 1 < nodes <= MOST_NODES:
        raise ParameterError(f"matrices of traffic are of 2 to {MOST_NODES} nodes, not {nodes}")
    if isinstance(value, str) and (found := _DRAWN.fullmatch(value.strip())):
        skew = float(found["skew"])
        return _drawn(
            found["kind"],
            skew,
            nodes,
            as_integer("tokens", 4096 if tokens is None else tokens, 1, 10**9),
            as_seed(seed or 0),
        )
    if tokens is not None or seed is not None:
        raise ParameterError("tokens and seed are for distributions such as zipf:1.2; this matrix is given")
    if isinstance(value, str | Path):
        if not str(value).lower().endswith(".csv"):
            raise ParameterError(f"traffic is a .csv file or a distribution such as zipf:1.2, not {str(value)!r:.60}")
        path = as_path(value)
        with naming(path):
            return _checked(_read(read_text(path, (".csv",))), nodes)
    try:
        matrix = np.array(value)
    except ValueError:
        matrix = np.zeros(0)
    if matrix.dtype.kind not in "iu":
        raise ParameterError("a matrix of traffic has whole numbers")
    return _checked(matrix.astype(np.int64), nodes)


def _drawn(kind: str, skew: float, nodes: int, tokens: int, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    if kind == "zipf":
        popular = np.arange(1, nodes + 1) ** -skew
        shares = np.tile(rng.permutation(popular / popular.sum()), (nodes, 1))
    elif not skew:
        raise ParameterError("dirichlet:A needs a number above zero")
    else:
        shares = rng.dirichlet(np.full(nodes, skew), nodes)
    return rng.multinomial(tokens, shares).astype(np.int64)


def _read(text: str) -> IntArray:
    rows: list[list[int]] = []
    for line, cells in csv_rows(text, comments=True):
        if len(rows) == MOST_NODES:
            raise FileFormatError(f"line {line}: more than {MOST_NODES} nodes")
        wrong = next((one for one in cells if not re.fullmatch(r"\s*[0-9]{1,13}\s*", one, re.ASCII)), None)
        if wrong is not None:
            raise FileFormatError(f"line {line}: {wrong[:30]!r} is no whole number")
        if rows and len(cells) != len(rows[0]):
            raise FileFormatError(f"line {line}: {len(cells)} numbers, and {len(rows[0])} in the first line")
        rows.append(list(map(int, cells)))
    if not rows:
        raise FileFormatError("it has no numbers; a line is such as 0,3,1")
    return np.array(rows, dtype=np.int64)


def _checked(matrix: IntArray, nodes: int) -> IntArray:
    if matrix.shape != (nodes, nodes):
        raise ParameterError(f"there are {nodes} nodes: the matrix has {nodes} lines of as many numbers")
    if int(matrix.min()) < 0 or int(matrix.max()) > _MOST:
        raise ParameterError(f"numbers of a matrix of traffic are from 0 to {_MOST}")
    return matrix

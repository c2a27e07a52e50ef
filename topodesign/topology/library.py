"""From a spec to the topology that it names."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from topodesign.base import entry_points
from topodesign.base.errors import FileFormatError, ParameterError, SpecError, TopologyError
from topodesign.base.file_kinds import kind_of
from topodesign.base.spec import Spec, name_alone, parse
from topodesign.base.wording import nearest
from topodesign.topology.everyday import SPOKEN, SPOKEN_FABRICS, expand_everyday
from topodesign.topology.family import Family
from topodesign.topology.groups import GROUPS
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

TopologyLike: TypeAlias = "Topology | Spec | str | Path | nx.Graph | np.ndarray"
"""What a function that needs a topology takes: it, its spec, a file, a graph of networkx or igraph, or a matrix."""


CATALOG_NAMES = ("catalog", "catalog_duplex")
"""Names of the rows of the catalog: ``catalog(200,6,1)`` is the first of the frontier of 200 nodes and degree 6, and
``catalog_duplex(200,6,1)`` that of the frontier of duplex topologies."""


class Generator(Protocol):
    """A family or expansion, called with the arguments of its spec."""

    @property
    def name(self) -> str:
        """The name in a spec."""

    @property
    def signature(self) -> str:
        """The call as a user would write it in a spec."""

    @property
    def takes_spec(self) -> bool:
        """Whether some argument is the spec of a group."""

    def __call__(self, *args: Any) -> Topology:
        """Build the topology."""


def generator(name: str) -> Generator | None:
    """Return the family or expansion of a name, or None.

    Ours come before those of other packages.
    """
    sorts = (entry_points.FAMILIES, entry_points.EXPANSIONS)
    ours: Generator | None = next((sort.own[name] for sort in sorts if name in sort.own), None)
    return ours or next((sort.others[name] for sort in sorts if name in sort.others), None)


def build(spec: Spec | str) -> Topology:
    """Build the topology that a spec names.

    Parameters
    ----------
    spec
        Text such as ``line(power(diamond(),2),2)``, or a parsed spec.

    Returns
    -------
    Topology
        With ``build(str(topology.spec)) == topology``; the same spec gives the same links on every machine.

    Raises
    ------
    SpecError
        If the text is no spec, a name is unknown, or arguments do not fit; it points at the character.

    Examples
    --------
    >>> from topodesign import build
    >>> build("line(diamond())")
    <Topology line(diamond()), 16 nodes, degree 2, simplex>
    """
    text = spec if isinstance(spec, str) else str(spec)
    if name_alone(text):
        raise _bare(text)
    return _build(parse(text), text)


def as_linked_topology(value: object) -> Topology | None:
    """Return the topology of a topology or matrix, else None.

    Matrices of NumPy or scipy.
    """
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(value):
        rows = value.tocoo()  # type: ignore[attr-defined]
        return _of_entries(rows.shape, rows.coords[0], rows.coords[1], rows.data)
    if isinstance(value, np.ndarray):
        return _of_matrix(value)
    return value if isinstance(value, Topology) else None


def _of_matrix(matrix: np.ndarray) -> Topology:
    """Return the topology of a square matrix of link counts."""
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.number):
        raise ParameterError("an array of links is a square matrix of numbers, a row for each node")
    src, dst = np.nonzero(matrix)
    return _of_entries(matrix.shape, src, dst, matrix[src, dst])


def _of_entries(shape: tuple[int, ...], src: np.ndarray, dst: np.ndarray, many: np.ndarray) -> Topology:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ParameterError("an array of links is a square matrix of numbers, a row for each node")
    if not many.any():
        raise ParameterError("an array of links has at least one that is not 0")
    if not np.array_equal(many, many.astype(np.int64)) or (many < 0).any():
        raise ParameterError("an array of links has whole numbers from 0 on: how many go from row to column")
    there = many != 0
    return Topology.from_arrays(shape[0], src[there], dst[there], many[there].astype(np.int64))


def names_fabric(text: str) -> bool:
    """Return whether a text begins with the name of a fabric.

    Of a dragonfly the number of arguments tells: with groups, routers and hosts it is a fabric, and a topology else.
    """
    name = text.partition("(")[0].strip()
    if name in entry_points.FABRICS.own or name in SPOKEN_FABRICS:
        return name not in SPOKEN or text.count(",") != 1
    return not names_topology(name) and name in entry_points.FABRICS


def names_topology(name: str) -> bool:
    """Return whether a name can begin the spec of a topology."""
    return name in SPOKEN or name in CATALOG_NAMES or generator(name) is not None


def _build(spec: Spec, text: str) -> Topology:
    try:
        if spec.name in CATALOG_NAMES:
            return _of_catalog(spec)
        meaning = expand_everyday(spec)
    except ParameterError as error:
        raise SpecError(f"{spec.name}: {error}", text, spec.position) from None
    if meaning is not None:
        try:
            return _build(meaning, str(meaning))
        except SpecError as error:
            raise SpecError(f"{spec.name} is {meaning}, and {error.message}", text, spec.position) from None
    entry = generator(spec.name)
    if entry is None:
        raise SpecError(_unknown(spec.name), text, spec.position)
    args: list[int | Spec | Topology] = []
    for argument in spec.args:
        if isinstance(argument, int) or (entry.takes_spec and argument.name in GROUPS) or isinstance(entry, Family):
            args.append(argument)
        else:
            args.append(_build(argument, text))
    try:
        return entry(*args)
    except (ParameterError, TopologyError) as error:
        raise SpecError(f"{spec.name}: {error}", text, spec.position) from None


def _of_catalog(spec: Spec) -> Topology:
    """Return the topology of a catalog row."""
    numbers = [argument for argument in spec.args if isinstance(argument, int)]
    if len(numbers) != 3 or len(spec.args) != 3:
        raise ParameterError(f"write {spec.name}(N,d,k): the k-th topology of N nodes and degree d, from 1 on")
    nodes, degree, place = numbers
    catalog = entry_points.load("catalog.lookup:Catalog")()
    row = catalog.row(nodes, degree, place, duplex=spec.name == CATALOG_NAMES[1])
    return replace(build(row.spec), alias=f"{spec} of catalog {catalog.version(degree)}")


def _bare(text: str) -> SpecError | FileFormatError:
    """Return what is wrong with a name alone."""
    name = text.strip()
    if names_topology(name):
        return SpecError(f"'{name}' requires brackets: {name}(...), see 'topodesign info families {name}'", text, 0)
    kind = kind_of(Path(name))
    if kind is None:
        return SpecError(_unknown(name), text, 0)
    return FileFormatError(f"{name}: this is {kind.one}, and no spec; a file requires an ending, or a slash before it")


def _unknown(name: str) -> str:
    if name in GROUPS:
        return f"'{name}' is a group, not a topology; write cayley({name}(...),element,...)"
    if name in entry_points.FABRICS or name in SPOKEN_FABRICS:
        return f"'{name}' is a fabric, not a topology that others can be made of"
    known = [*entry_points.FAMILIES, *entry_points.EXPANSIONS, *SPOKEN, *CATALOG_NAMES]
    near = nearest(name, [*known, *entry_points.FABRICS, *SPOKEN_FABRICS])
    words = [repr(one) if one in known else f"{one!r} (a fabric)" for one in near]
    hint = f"did you mean {' or '.join(words)}?" if near else "'topodesign info families' lists all that there are"
    return f"unknown topology '{name}'; {hint}"

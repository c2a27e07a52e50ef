"""Tree schedule files: weighted trees with the fabric they run on, in one ``.npz`` with a JSON header.

The container is that of :mod:`topodesign.plans.rounds_file`. Format version 2 has these members and nothing else:

``header.json``
    JSON object: ``format`` ("topodesign tree schedule"), ``version`` (2), ``collective``, ``rate`` ("p/q"),
    ``reduce_trees``, ``shard`` (list or null), ``concurrent`` (true or false), ``nodes``, ``switches``, ``trees``,
    ``edges``, ``routes``, ``hop_start``, ``hops`` and ``links`` (how many rows), and ``generator`` (object, free form);
    of the fabric ``fabric`` (its name), ``names`` (one for each vertex), ``unit`` ("p/q", bytes per second of one unit
    of capacity), ``spec`` (of the fabric or its topology, text or null), ``multicast`` and ``aggregation`` (lists of
    switches); and ``claim``, an object of what the whole schedule is said to reach: ``k`` and ``inv_x_star`` and
    ``algorithmic_bandwidth`` (each "p/q") and ``height``, as in :class:`TreeFigures`.
``root weight``, ``tree src dst``, ``route_edge route_weight``, ``hop_start``, ``hop`` (each with ``.npy``)
    The columns of :class:`~topodesign.plans.trees.Trees`.
``link_src.npy link_dst.npy link_capacity.npy``
    The links of the topology sorted by (src, dst).

Version 1 did not always say ``concurrent``, and claimed less; such files are refused, since they are quickly made anew.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.base.version import __version__
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.measure import TreeFigures, tree_figures
from topodesign.plans.rounds_file import (
    FRACTION,
    LINK_COLUMNS,
    MAX_ROWS,
    check_members,
    is_format,
    open_archive,
    read_column,
    read_header,
    read_integer,
    read_links,
    write_archive,
)
from topodesign.plans.trees import COLUMN_GROUPS, Trees
from topodesign.topology.topology import IntArray

FORMAT = "topodesign tree schedule"
VERSION = 2
_COUNTS = ("trees", "edges", "routes", "hop_start", "hops")


@dataclass(frozen=True)
class TreeHeader:
    """What a tree schedule file says about its schedule; none of it is checked against the schedule.

    Attributes
    ----------
    spec
        Text said to rebuild the fabric or its topology, or None.
    claim
        What the schedule is said to reach.
    generator
        What made the schedule: program, method, options.
    """

    spec: str | None
    claim: TreeFigures
    generator: Mapping[str, Any]


def save_trees(
    path: str | Path,
    schedule: Trees,
    fabric: Fabric,
    *,
    spec: str | None = None,
    generator: Mapping[str, Any] | None = None,
) -> None:
    """Write a tree schedule file; the path has either the old file or the whole new one at any time.

    Parameters
    ----------
    path
        Where; replaced if it exists.
    schedule, fabric
        What, and names and bandwidths of what it runs on; both with the same topology.
    spec
        Text that rebuilds the fabric; without it the topology's own spec is used, if it has one.
    generator
        Names and values that JSON can hold; ``program`` is added.

    Raises
    ------
    ScheduleError
        If the topologies differ or the schedule is too large for a file.
    TopodesignError
        If the file cannot be written or ``generator`` is not fit for JSON.
    """
    topology = fabric.topology
    if schedule.topology != topology:
        raise ScheduleError("the schedule is for another topology than the fabric has")
    columns = schedule.columns()
    counts = [len(columns[group[0]]) for group in COLUMN_GROUPS]
    if max(counts) > MAX_ROWS:
        raise ScheduleError(f"a schedule file holds columns of at most {MAX_ROWS} rows, not {max(counts)}")
    claim = tree_figures(fabric, schedule)
    named = str(topology.spec) if spec is None and topology.spec is not None else spec
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "collective": schedule.collective.name,
        "rate": str(schedule.rate),
        "claim": {
            "k": str(claim.k),
            "height": claim.height,
            "inv_x_star": str(claim.inverse_rate),
            "algorithmic_bandwidth": str(claim.bandwidth),
        },
        "reduce_trees": schedule.reduce_trees,
        "shard": schedule.shard,
        "concurrent": schedule.concurrent,
        "nodes": topology.nodes,
        "switches": sorted(topology.switches),
        **dict(zip(_COUNTS, counts, strict=True)),
        "links": len(topology.src),
        "fabric": fabric.name,
        "names": fabric.names,
        "unit": str(fabric.unit),
        "spec": named,
        "multicast": sorted(fabric.multicast),
        "aggregation": sorted(fabric.aggregation),
        "generator": {"program": f"topodesign {__version__}", **(generator or {})},
    }
    links = dict(zip(LINK_COLUMNS, (topology.src, topology.dst, topology.capacity), strict=True))
    write_archive(Path(path), fields, columns | links)


def is_tree_file(path: Path) -> bool:
    """Return whether a file says that it is a tree schedule file."""
    return is_format(path, FORMAT)


def load_trees(path: str | Path) -> tuple[Fabric, Trees, TreeHeader]:
    """Read a tree schedule file.

    Returns
    -------
    tuple
        The fabric (without classes of links, and without a spec), the schedule and the header. The form is checked,
        not whether the schedule is right: that is :func:`topodesign.verification.trees.verify_trees`.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, or is not a tree schedule file of this version.
    """
    with open_archive(Path(path)) as archive:
        fields = read_header(archive, FORMAT, (1, VERSION))
        if fields["version"] == 1:
            raise FileFormatError("it was written by an earlier version; make it anew with 'topodesign schedule'")
        return _read_version_2(archive, fields)


def _read_version_2(archive: zipfile.ZipFile, fields: dict[str, Any]) -> tuple[Fabric, Trees, TreeHeader]:
    check_members(archive, [name for group in COLUMN_GROUPS for name in group])
    topology = read_links(archive, fields)
    unit, rate = _fraction(fields, "unit"), _fraction(fields, "rate")
    spec, generator, shard = fields.get("spec"), fields.get("generator"), fields.get("shard")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
    concurrent = fields.get("concurrent")
    if not isinstance(concurrent, bool):
        raise FileFormatError("'concurrent' in header.json must be true or false")
    fabric = Fabric(
        name=_texts([fields.get("fabric")], "fabric")[0],
        names=_texts(fields.get("names"), "names"),
        topology=topology,
        unit=unit,
        classes=("",) * len(topology.src),
        multicast=frozenset(_integers(fields.get("multicast"), "multicast")),
        aggregation=frozenset(_integers(fields.get("aggregation"), "aggregation")),
    )
    columns: dict[str, IntArray] = {}
    for count, group in zip(_COUNTS, COLUMN_GROUPS, strict=True):
        rows = read_integer(fields, count, 0, MAX_ROWS)
        columns |= {name: read_column(archive, name, rows, np.int64) for name in group}
    schedule = Trees(
        collective=_collective(fields, columns["root"]),
        topology=topology,
        rate=rate,
        **columns,
        reduce_trees=read_integer(fields, "reduce_trees", 0, MAX_ROWS),
        shard=None if shard is None else _integers(shard, "shard"),
        concurrent=concurrent,
    )
    return fabric, schedule, TreeHeader(spec, _claim(fields.get("claim")), generator)


def _collective(fields: Mapping[str, Any], root: IntArray) -> Collective:
    """Return the collective of a header; the root is that of the trees."""
    collective = as_collective(fields.get("collective", ""))
    return collective.at(int(root[0])) if collective.rooted and len(root) else collective


def _claim(value: object) -> TreeFigures:
    if not isinstance(value, dict):
        raise FileFormatError("'claim' in header.json must be an object")
    k, inverse, bandwidth = (_fraction(value, key) for key in ("k", "inv_x_star", "algorithmic_bandwidth"))
    return TreeFigures(k, read_integer(value, "height", 0, MAX_ROWS), inverse, bandwidth)


def _fraction(fields: Mapping[str, Any], key: str) -> Fraction:
    value = fields.get(key)
    wrong = FileFormatError(f"'{key}' in header.json must be \"p/q\", above zero")
    if not isinstance(value, str) or not FRACTION.fullmatch(value):
        raise wrong
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise wrong from None
    if not number:
        raise wrong
    return number


def _integers(value: object, key: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(number) is int and 0 <= number < 2**62 for number in value):
        raise FileFormatError(f"'{key}' in header.json must be a list of integers")
    return tuple(value)


def _texts(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise FileFormatError(f"'{key}' in header.json must be text")
    return tuple(value)

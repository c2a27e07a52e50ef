"""Flows in plan files: an object of the header, and columns.

A flow is an object with these fields, and a column is ``NAME.npy``:

``model``, ``units``, ``steps``, ``pieces``, ``sends``
    The timing model (``steps``, ``chunks`` or ``clock``), units of a block, how many steps, and how many of each.
``left_out``
    Names of columns that are as expected, and are not in the file: send i carries piece i (``piece``), ends one after
    its start (``end``), and is of movement 0 (``part``).
``routes``
    Null, or an object of ``routes`` and ``hops``, how many.
``fold``
    Null, or an object of ``generators``, how many, and ``representatives``, a list of nodes.
``circuits``
    Null, or an object of ``ports``, ``delay`` ("p/q", seconds), ``moving``, ``duplex``, ``phases`` and ``circuits``.
``clock``
    Of ``clock`` alone: an object of ``tick`` ("p/q", seconds), ``size`` ("p/q", bytes), ``overlap``, ``bandwidth``
    ("p/q", bytes per second, or null) and ``begin`` (ticks).
``chunks``
    Of ``chunks`` alone: an object of ``rate`` ("p/q", or null), ``concurrent``, ``one_shot``, ``free``, and ``sizes``,
    whether there is a column of them.

Several flows, of collectives at the same time or stages of an allreduce, are a list of such objects; of the second the
columns are called ``1_block`` and so on, of the third ``2_block``. A stage has ``collective`` beside: what it does, as
the header says it of the plan.

Columns: of every piece ``block lo hi``, of every send ``piece src dst start end part``; of routes ``route_send
route_weight hop_start hop``, by the clock with ``hop_from hop_to`` (ticks); of a clock ``latency per_unit`` (ticks of
every link, and of a unit on it); of circuits ``begin`` (instants) and ``phase circuit_src src_port circuit_dst
dst_port``; of a fold ``generators``, permutations of the nodes, one after another.
Chunks have ``weight`` of every piece, and may have ``sizes`` of blocks, by number.
:mod:`topodesign.plans.flow` says what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import FileFormatError
from topodesign.collectives import ALLREDUCE, Collective, from_record
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import (
    MAX_INTEGER,
    MAX_ROWS,
    read_column,
    read_flag,
    read_fraction,
    read_integer,
    read_integers,
)
from topodesign.plans.flow import MAX_PORTS, MAX_TICKS, PIECES, SENDS, Circuits, Clock, Flow, Flows, Routes
from topodesign.plans.old_columns import MAX_STEPS
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology

_FIELDS = ("model", "units", "steps", "pieces", "sends", "left_out", "routes", "circuits", "fold")
_CLOCK = ("tick", "size", "overlap", "bandwidth", "begin")
_TIMES = {"hop_from": "start", "hop_to": "end"}
_ROUTES = {"route_send": "send", "route_weight": "weight", "hop_start": "hop_start", "hop": "hop"}
_CIRCUITS = {
    "begin": "begin",
    "phase": "phase",
    "circuit_src": "src",
    "src_port": "src_port",
    "circuit_dst": "dst",
    "dst_port": "dst_port",
}
_HOW = {
    "routes": ("routes", "hops"),
    "circuits": ("ports", "delay", "moving", "duplex", "phases", "circuits"),
    "fold": ("generators", "representatives"),
    "clock": _CLOCK,
    "chunks": ("rate", "concurrent", "one_shot", "free", "sizes"),
}
_NARROW: Mapping[str, type[np.signedinteger[Any]]] = {
    "src": np.int32,
    "dst": np.int32,
    "block": np.int32,
    "piece": np.int32,
    "part": np.int8,
}


def write_flow(flow: Flow) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a flow's header and its columns by name."""
    expected = _get_defaults(len(flow), flow.start)
    left_out = [name for name, column in expected.items() if np.array_equal(getattr(flow, name), column)]
    columns: dict[str, Any] = {name: getattr(flow, name) for name in (*PIECES, *SENDS) if name not in left_out}
    routes, circuits = flow.routes, flow.circuits
    header: dict[str, Any] = {
        "model": flow.model,
        "units": flow.units,
        "steps": flow.steps,
        "pieces": len(flow.block),
        "sends": len(flow),
        "left_out": left_out,
        "routes": None,
        "circuits": None,
        "fold": None,
    }
    if routes is not None:
        header["routes"] = {"routes": len(routes.send), "hops": len(routes.hop)}
        names = _ROUTES if routes.start is None else _ROUTES | _TIMES
        columns |= {name: getattr(routes, own) for name, own in names.items()}
    if flow.weight is not None:
        rate = None if flow.rate is None else str(flow.rate)
        shares = rate, flow.concurrent, flow.one_shot, flow.free, flow.sizes is not None
        header["chunks"] = dict(zip(_HOW["chunks"], shares, strict=True))
        columns |= {"weight": flow.weight} | ({} if flow.sizes is None else {"sizes": flow.sizes})
    if flow.clock is not None:
        clock = flow.clock
        rate = None if clock.bandwidth is None else str(clock.bandwidth)
        header["clock"] = dict(
            zip(_CLOCK, (str(clock.tick), str(clock.size), clock.overlap, rate, clock.begin), strict=True)
        )
        columns |= {"latency": clock.latency, "per_unit": clock.per_unit}
    if circuits is not None:
        how = (
            circuits.ports,
            str(circuits.delay),
            circuits.moving,
            circuits.duplex,
            len(circuits.begin),
            len(circuits.src),
        )
        header["circuits"] = dict(zip(_HOW["circuits"], how, strict=True))
        columns |= {name: getattr(circuits, own) for name, own in _CIRCUITS.items()}
    if flow.fold is not None:
        header["fold"] = {"generators": len(flow.fold.generators), "representatives": list(flow.fold.representatives)}
        columns["generators"] = flow.fold.generators.ravel()
    return header, columns


def write_flows(moved: Flow | Flows) -> tuple[dict[str, Any] | list[dict[str, Any]], dict[str, NDArray[Any]]]:
    """Return the header of one or several flows, and all columns."""
    if isinstance(moved, Flow):
        return write_flow(moved)
    headers, columns = list[dict[str, Any]](), dict[str, NDArray[Any]]()
    for number, flow in enumerate(moved.each):
        header, own = write_flow(flow)
        headers.append(header if moved.model == "clock" else header | {"collective": flow.collective.record()})
        columns |= {_name_column(name, number): column for name, column in own.items()}
    return headers, columns


def read_flows(archive: ZipFile, header: Any, place: Topology | Fabric, collective: Collective) -> Flow | Flows:
    """Return the flows of a file from the members of :func:`column_names`."""
    if not isinstance(header, list):
        return read_flow(archive, header, place, collective)
    if not collective.several:  # stages say what each does
        if not all("collective" in one for one in header) or not collective.like(ALLREDUCE):
            raise FileFormatError("'flow' in header.json must have the 'collective' of each stage of an allreduce")
        does = [from_record(one["collective"]) for one in header]
        header = [{name: value for name, value in one.items() if name != "collective"} for one in header]
    elif len(header) != len(collective.several):
        raise FileFormatError("'flow' in header.json must have an object for each collective")
    else:
        does = list(collective.several)
    pairs = enumerate(zip(header, does, strict=True))
    return Flows(tuple(read_flow(archive, one, place, own, number) for number, (one, own) in pairs))


def _name_column(name: str, number: int) -> str:
    """Return what a column of one of several flows is called."""
    return f"{number}_{name}" if number else name


def column_names(header: object) -> list[str]:
    """Return the column names that a file's header implies."""
    headers, found = header if isinstance(header, list) else [header], list[str]()
    if not headers or not all(isinstance(one, dict) for one in headers):
        raise FileFormatError("'flow' in header.json must be an object, or a list of objects")
    for number, one in enumerate(headers):
        left_out = one.get("left_out")
        if not isinstance(left_out, list) or not all(name in ("piece", "end", "part") for name in left_out):
            raise FileFormatError("'left_out' in header.json must be a list of some of piece, end and part")
        names = [name for name in (*PIECES, *SENDS) if name not in left_out]
        for name, more in (("routes", _ROUTES), ("circuits", _CIRCUITS)):
            names += more if one.get(name) is not None else ()
        if isinstance(chunks := one.get("chunks"), dict):
            names += ["weight", "sizes"] if chunks.get("sizes") is True else ["weight"]
        if one.get("clock") is not None:
            names += ("latency", "per_unit", *(_TIMES if one.get("routes") is not None else ()))
        names += ["generators"] if one.get("fold") is not None else []
        found += [_name_column(name, number) for name in names]
    return found


def read_flow(
    archive: ZipFile, header: Mapping[str, Any], place: Topology | Fabric, collective: Collective, number: int = 0
) -> Flow:
    """Return a flow of a file, with its form checked."""
    model = header.get("model")
    if model not in ("steps", "chunks", "clock") or (model != "steps" and header.get(model) is None):
        raise FileFormatError("'model' in header.json must be steps, or chunks or clock with an object of that name")
    check_fields(header, _FIELDS if model == "steps" else (*_FIELDS, model), "'flow' in header.json")

    def column(name: str, rows: int, kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
        """Return a column of this flow."""
        return read_column(archive, _name_column(name, number), rows, kind)

    pieces, sends = (read_integer(header, name, 0, MAX_ROWS) for name in ("pieces", "sends"))
    rows = dict.fromkeys(PIECES, pieces) | dict.fromkeys(SENDS, sends)
    columns: dict[str, Any] = {
        name: column(name, count, _NARROW.get(name, np.int64))
        for name, count in rows.items()
        if name not in header["left_out"]
    }
    columns = _get_defaults(sends, columns["start"]) | columns
    more: dict[str, Any] = {}
    if header.get("routes") is not None:
        asked = _object(header, "routes")
        routes, hops = (read_integer(asked, name, 0, MAX_ROWS) for name in _HOW["routes"])
        lengths = {"hop_start": routes + 1, "hop": hops} | dict.fromkeys(_TIMES, max(0, hops - routes))
        names = _ROUTES | _TIMES if model == "clock" else _ROUTES
        ways: dict[str, Any] = {own: column(name, lengths.get(name, routes), np.int64) for name, own in names.items()}
        more["routes"] = Routes(**ways)
    if header.get("circuits") is not None:
        asked = _object(header, "circuits")
        phases, count = (read_integer(asked, name, 0, MAX_ROWS) for name in ("phases", "circuits"))
        read: dict[str, Any] = {
            own: column(name, phases if name == "begin" else count, np.int64) for name, own in _CIRCUITS.items()
        }
        delay = read_fraction(asked, "delay", positive=False)
        flags = read_flag(asked, "moving"), read_flag(asked, "duplex")
        more["circuits"] = Circuits(read_integer(asked, "ports", 1, MAX_PORTS), delay, *flags, **read)
    if model == "chunks":
        asked, nodes = _object(header, "chunks"), place.topology.nodes if isinstance(place, Fabric) else place.nodes
        more |= {name: read_flag(asked, name) for name in ("concurrent", "one_shot", "free")}
        more["rate"] = None if asked.get("rate") is None else read_fraction(asked, "rate")
        more["weight"] = column("weight", pieces, np.int64)
        if read_flag(asked, "sizes"):
            more["sizes"] = column("sizes", collective.block_count(nodes), np.int64)
    if model == "clock":
        asked, links = _object(header, "clock"), len((place.topology if isinstance(place, Fabric) else place).src)
        rate = None if asked.get("bandwidth") is None else read_fraction(asked, "bandwidth")
        more["clock"] = Clock(
            read_fraction(asked, "tick"),
            read_fraction(asked, "size"),
            read_flag(asked, "overlap"),
            column("latency", links, np.int64),
            column("per_unit", links, np.int64),
            rate,
            read_integer(asked, "begin", 0, MAX_TICKS - 1),
        )
    if header.get("fold") is not None:
        asked, nodes = _object(header, "fold"), place.topology.nodes if isinstance(place, Fabric) else place.nodes
        count = read_integer(asked, "generators", 0, MAX_ROWS // nodes)
        generators = column("generators", count * nodes, np.int32).reshape(count, nodes)
        chosen = read_integers(asked.get("representatives"), "representatives")
        more["fold"] = Symmetry(nodes, chosen, partial(tuple, generators))
    units, steps = read_integer(header, "units", 1, MAX_INTEGER), read_integer(header, "steps", 0, MAX_STEPS)
    return Flow(collective, place, model, units, **columns, steps=steps, **more)


def _get_defaults(sends: int, start: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns that are omitted if they have these values."""
    return {"piece": np.arange(sends, dtype=np.int32), "end": start + 1, "part": np.zeros(sends, dtype=np.int8)}


def _object(header: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = header[name]
    if not isinstance(value, dict):
        raise FileFormatError(f"'{name}' in header.json must be an object or null")
    check_fields(value, _HOW[name], f"'{name}' in header.json")
    return value


def check_fields(record: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise FileFormatError for unexpected fields of a header object."""
    unknown = sorted(record.keys() - set(known))
    if unknown:
        raise FileFormatError(f"{where} has the unknown field '{unknown[0][:50]}'")

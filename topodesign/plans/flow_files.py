"""Flows in plan files: an object of the header, and columns, as ``docs/files.md`` lists them.

Names of columns are left out if they are as expected: send i carries piece i (``piece``), ends one after its start
(``end``), and is of movement 0 (``part``). Of several flows the columns of the second are called ``1_block`` and so on.
:mod:`topodesign.plans.flow` says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import FileFormatError
from topodesign.collectives import ALLREDUCE, Collective, from_record
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_INTEGER, MAX_ROWS, MAX_STEPS, Archive, Header
from topodesign.plans.flow import (
    FORMS,
    MAX_PORTS,
    MAX_TICKS,
    PIECES,
    SENDS,
    Circuits,
    Clock,
    Flow,
    Flows,
    Model,
    Routes,
)
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology

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
_NARROW: Mapping[str, type[np.signedinteger[Any]]] = {
    "src": np.int32,
    "dst": np.int32,
    "block": np.int32,
    "piece": np.int32,
    "part": np.int8,
    "generators": np.int32,
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
        header["chunks"] = {
            "rate": None if flow.rate is None else str(flow.rate),
            "concurrent": flow.concurrent,
            "one_shot": flow.one_shot,
            "free": flow.free,
            "sizes": flow.sizes is not None,
        }
        columns |= {"weight": flow.weight} | ({} if flow.sizes is None else {"sizes": flow.sizes})
    if flow.clock is not None:
        clock = flow.clock
        header["clock"] = {
            "tick": str(clock.tick),
            "size": str(clock.size),
            "overlap": clock.overlap,
            "bandwidth": None if clock.bandwidth is None else str(clock.bandwidth),
            "begin": clock.begin,
        }
        columns |= {"latency": clock.latency, "per_unit": clock.per_unit}
    if circuits is not None:
        header["circuits"] = {
            "ports": circuits.ports,
            "delay": str(circuits.delay),
            "moving": circuits.moving,
            "duplex": circuits.duplex,
            "phases": len(circuits.begin),
            "circuits": len(circuits.src),
        }
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


def read_flows(file: Archive, place: Topology | Fabric, collective: Collective) -> Flow | Flows:
    """Return what moves in a file: a flow, streams or stages."""
    moved = file.header.get("flow")
    file.header.finish()
    if not isinstance(moved, list):
        return _read_flow(file, Header(moved, "'flow' in header.json"), place, collective)
    headers = [Header(one, "'flow' in header.json") for one in moved]
    does = list(collective.several or ())
    if not does and headers and collective.like(ALLREDUCE):  # stages say what each does
        does = [from_record(one.get("collective")) for one in headers]
    if not headers or len(headers) != len(does):
        raise FileFormatError("'flow' in header.json must have an object for each collective, or stage of an allreduce")
    pairs = enumerate(zip(headers, does, strict=True))
    return Flows(tuple(_read_flow(file, one, place, own, number) for number, (one, own) in pairs))


def _name_column(name: str, number: int) -> str:
    """Return what a column of one of several flows is called."""
    return f"{number}_{name}" if number else name


def _read_flow(
    file: Archive, header: Header, place: Topology | Fabric, collective: Collective, number: int = 0
) -> Flow:
    """Return a flow of a file, with its form checked."""
    topology = place.topology if isinstance(place, Fabric) else place
    left_out, model = header.get("left_out"), header.get("model")
    if not isinstance(left_out, list) or not all(name in ("piece", "end", "part") for name in left_out):
        raise FileFormatError("'left_out' in header.json must be a list of some of piece, end and part")
    if not isinstance(model, str) or model not in FORMS:
        raise FileFormatError(f"'model' in header.json must be one of {', '.join(FORMS)}")

    def column(name: str, rows: int) -> Any:
        """Return a column of this flow."""
        return file.column(_name_column(name, number), rows, _NARROW.get(name, np.int64))

    pieces, sends = (header.integer(name, 0, MAX_ROWS) for name in ("pieces", "sends"))
    rows = dict.fromkeys(PIECES, pieces) | dict.fromkeys(SENDS, sends)
    columns: dict[str, Any] = {name: column(name, count) for name, count in rows.items() if name not in left_out}
    columns = _get_defaults(sends, columns["start"]) | columns
    more: dict[str, Any] = {}
    if (asked := header.part("routes")) is not None:
        routes, hops = (asked.integer(name, 0, MAX_ROWS) for name in ("routes", "hops"))
        lengths = {"hop_start": routes + 1, "hop": hops} | dict.fromkeys(_TIMES, max(0, hops - routes))
        names = _ROUTES | _TIMES if model == "clock" else _ROUTES
        more["routes"] = Routes(**{own: column(name, lengths.get(name, routes)) for name, own in names.items()})
        asked.finish()
    if (asked := header.part("circuits")) is not None:
        phases, count = (asked.integer(name, 0, MAX_ROWS) for name in ("phases", "circuits"))
        more["circuits"] = Circuits(
            asked.integer("ports", 1, MAX_PORTS),
            asked.fraction("delay", positive=False),
            asked.flag("moving"),
            asked.flag("duplex"),
            **{own: column(name, phases if name == "begin" else count) for name, own in _CIRCUITS.items()},
        )
        asked.finish()
    if (asked := header.part("fold")) is not None:
        count = asked.integer("generators", 0, MAX_ROWS // topology.nodes)
        generators = column("generators", count * topology.nodes).reshape(count, topology.nodes)
        more["fold"] = Symmetry(topology.nodes, asked.integers("representatives"), partial(tuple, generators))
        asked.finish()
    if model == "chunks":
        asked = Header(header.get("chunks"), "'chunks' in header.json")
        more |= {name: asked.flag(name) for name in ("concurrent", "one_shot", "free")}
        more |= {"rate": asked.fraction_or_none("rate"), "weight": column("weight", pieces)}
        if asked.flag("sizes"):
            more["sizes"] = column("sizes", collective.block_count(topology.nodes))
        asked.finish()
    if model == "clock":
        asked = Header(header.get("clock"), "'clock' in header.json")
        more["clock"] = Clock(
            asked.fraction("tick"),
            asked.fraction("size"),
            asked.flag("overlap"),
            column("latency", len(topology.src)),
            column("per_unit", len(topology.src)),
            asked.fraction_or_none("bandwidth"),
            asked.integer("begin", 0, MAX_TICKS - 1),
        )
        asked.finish()
    units, steps = header.integer("units", 1, MAX_INTEGER), header.integer("steps", 0, MAX_STEPS)
    header.finish()
    return Flow(collective, place, cast("Model", model), units, **columns, steps=steps, **more)


def _get_defaults(sends: int, start: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns that are omitted if they have these values."""
    return {"piece": np.arange(sends, dtype=np.int32), "end": start + 1, "part": np.zeros(sends, dtype=np.int8)}

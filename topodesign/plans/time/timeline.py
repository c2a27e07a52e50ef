"""Send times as table rows, or as a trace for browsers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, get_args

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.base.tables import write_csv
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.files import as_plan
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import Simulation

TimelineFormat = Literal["csv", "json"]
TIMELINE_FORMATS: tuple[TimelineFormat, ...] = get_args(TimelineFormat)
_COLUMNS = ("src", "dst", "start_s", "end_s")
_DATA = ("block", "lo", "hi", "part")


def timeline(what: Plan | Simulation | str | Path, file_format: TimelineFormat = "json") -> str:
    """Return when each timed send starts and ends, as text.

    Parameters
    ----------
    what
        A plan of timed sends, or its file; or what :func:`~topodesign.plans.time.simulate.simulate` says of one: then
        the times are those of the simulation, with its delays.
    file_format
        ``json``: a trace of events that ``chrome://tracing`` and Perfetto show, links below their tails, times in
        microseconds; ``csv``: a row for every send, times in seconds.

    Raises
    ------
    ParameterError
        If what moves has no times of its own.

    Examples
    --------
    >>> from topodesign import schedule, timeline
    >>> plan = schedule("uniring(1,3)", "allgather", method="tacos")
    >>> print(timeline(plan, "csv").splitlines()[1])
    0,1,0.0,3.7962026666666664e-05,0,0,1,0
    """
    as_choice("format", file_format, TIMELINE_FORMATS)
    plan = what.plan if isinstance(what, Simulation) else as_plan(what)
    run = what.run if isinstance(what, Simulation) else None
    if plan.model != "clock":
        raise ParameterError(f"{plan.kind} have no times; a timeline is of timed sends (--algorithm tacos)")
    columns = {name: column.tolist() for name, column in plan.movement.table().items()}
    start, end, tick = columns["start"], columns["end"], plan.flows[0].timing.tick
    if run is not None and run.sends is not None:
        start, end, tick = run.sends
    names = plan.place.names if isinstance(plan.place, Fabric) else tuple(map(str, range(plan.topology.nodes)))
    ends = list(zip(columns["src"], columns["dst"], strict=True))
    further = [name for name in (*_DATA, "stream") if name in columns]
    data = zip(*(columns[name] for name in further), strict=True)
    rows = sorted(zip(start, end, ends, data, strict=True))
    if file_format == "csv":
        table = [[names[u], names[v], float(a * tick), float(b * tick), *rest] for a, b, (u, v), rest in rows]
        return write_csv([(*_COLUMNS, *further), *table])
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": node, "args": {"name": f"from {names[node]}"}}
        for node in sorted(set(columns["src"]))
    ]
    links = sorted(set(ends))
    events += [
        {"ph": "M", "name": "thread_name", "pid": u, "tid": v, "args": {"name": f"to {names[v]}"}} for u, v in links
    ]
    for begin, finish, (u, v), (block, low, high, *rest) in rows:
        args = {"block": block, "units": [low, high], **dict(zip(further[3:], rest, strict=True))}
        span = {"ts": float(begin * tick * 10**6), "dur": float((finish - begin) * tick * 10**6)}
        events.append({"ph": "X", "name": f"block {block}", "pid": u, "tid": v, **span, "args": args})
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"})

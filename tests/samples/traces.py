"""Traces of ranks by the package's own compiler, and pieces of them changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.runtime.chakra.traces import Node, Trace, parse_trace
from topodesign.schedulers.scheduling import schedule


@cache
def compiled(spec: str, collective: str, method: str = "auto", **options: Any) -> Compiled:
    root = 2 if collective in {"broadcast", "reduce", "gather", "scatter"} else None
    plan = schedule(spec, collective, method=method, root=root)
    return compile_plan(plan, "chakra", **options)


def read(files: Mapping[str, bytes]) -> list[Trace]:
    ranks = sum(name.startswith("collective.") for name in files)
    return [parse_trace(files[f"collective.{rank}.et"]) for rank in range(ranks)]


def with_node(traces: list[Trace], rank: int, at: int, node: Node | None) -> list[Trace]:
    """The traces with another node in place of one, or without it."""
    nodes = traces[rank].nodes
    kept = (*nodes[:at], *(() if node is None else (node,)), *nodes[at + 1 :])
    return [replace(trace, nodes=kept) if number == rank else trace for number, trace in enumerate(traces)]


def saying(node: Node, **attributes: Any) -> Node:
    """The node with other attributes; None removes one."""
    changed = {**node.attributes, **attributes}
    return replace(node, attributes={name: value for name, value in changed.items() if value is not None})

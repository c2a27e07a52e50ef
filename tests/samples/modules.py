"""Modules for JAX, as a user has them: written, imported, and called inside ``shard_map``."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from topodesign.collectives import COLLECTIVES
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.schedulers.scheduling import schedule

ROOT = 2


@cache
def compiled(spec: str, collective: str, method: str = "auto") -> Compiled:
    root = ROOT if COLLECTIVES[collective].rooted else None
    return compile_plan(schedule(spec, collective, method=method, root=root), "jax")


def imported(text: str) -> dict[str, Any]:
    """The names of a module."""
    pytest.importorskip("jax", reason="JAX is an extra")
    names: dict[str, Any] = {"__name__": "allreduce"}
    exec(compile(text, "module", "exec"), names)  # noqa: S102  what we have compiled
    return names


def function(made: Compiled) -> Callable[..., Any]:
    found: Callable[..., Any] = imported(made.text)[made.program.collective.name.replace("-", "_")]
    return found


def along(call: Callable[..., Any], axes: Any = "x", **options: Any) -> Callable[[Any], Any]:
    """A function of x alone."""
    return lambda x: call(x, axes, **options)


def mapped(body: Callable[[Any], Any], ranks: int, **options: Any) -> Callable[..., Any]:
    """What every device does with its row of an array, on devices of the CPU."""
    jax: Any = pytest.importorskip("jax", reason="JAX is an extra")
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")[:ranks]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    run = jax.shard_map(lambda x: body(x[0])[None], mesh=mesh, in_specs=spec, out_specs=spec, **options)
    found: Callable[..., Any] = jax.jit(run)
    return found


def wanted(collective: str, x: Any, root: int = ROOT) -> Any:
    """What a collective is to return, of the rows of all ranks; zeros where only a root has something."""
    total = x.sum(axis=0, dtype=x.dtype)
    ranks = len(x)
    alone = np.zeros((ranks, *(1,) * x.ndim), dtype=x.dtype)
    alone[root] = 1
    done: dict[str, Callable[[], Any]] = {
        "allgather": lambda: np.stack([x] * ranks),
        "reduce-scatter": lambda: total,
        "allreduce": lambda: np.stack([total] * ranks),
        "broadcast": lambda: np.stack([x[root]] * ranks),
        "reduce": lambda: alone[:, 0] * total,
        "scatter": lambda: x[root],
        "gather": lambda: alone * x,
        "all-to-all": lambda: x.swapaxes(0, 1),
    }
    return done[collective]()


def blocks(collective: str, ranks: int) -> tuple[int, ...]:
    """The first axes of x: the blocks of all ranks, where it has these."""
    return (ranks,) if collective in {"reduce-scatter", "scatter", "all-to-all"} else ()

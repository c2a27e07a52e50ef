"""A program: runs the plans that its arguments name in one group of processes, and prints what came of it.

On every rank it looks at all batches of messages: pairs that no link of the plan joins are counted.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist

from topodesign import Plan, as_fabric, reconfigure, run_plan, schedule
from topodesign.execution.levels import neighbours_of
from topodesign.execution.torch import links as batches

pairs: set[tuple[int, int]] = set()


def logged(batch: Any, ops: list[Any]) -> Any:
    """Note who sends to whom, and go on."""
    own = dist.get_rank()
    pairs.update((own, one.peer) if one.op is dist.isend else (one.peer, own) for one in ops)
    return batch(ops)


def among(ranks: int, *works: Callable[[], None]) -> None:
    """Do things on as many ranks as torchrun does, but as children that need not import PyTorch each anew."""
    with ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in works]
        for one in free:
            one.bind(("127.0.0.1", 0))
        ports = [str(one.getsockname()[1]) for one in free]
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(ranks)}
    children = []
    for rank in range(ranks):
        if child := os.fork():
            children.append(child)
            continue
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank)}
        status = 1
        try:
            for work, port in zip(works, ports, strict=True):
                os.environ["MASTER_PORT"] = port
                work()
            status = 0
        except Exception:  # noqa: BLE001  whatever it is, the parent says it
            traceback.print_exc()
        finally:
            os._exit(status)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses):
        sys.exit(1)


def changing() -> Plan:
    """A plan of four whose circuits change."""
    return reconfigure(4, 1, "allreduce", delay="0s", alpha="1us", size="64MiB").plan


def run_plans(path: str) -> None:
    """Run plans given as a file in JSON: lists of a place, a collective and options of ``schedule``."""
    dist.init_process_group("gloo")
    batches.post = partial(logged, batches.post)
    for place, collective, options in json.loads(Path(path).read_text()):
        pairs.clear()
        result = run_plan(
            partial(schedule, place, collective, **options),
            size=[100, 3 * 2**14],
            iterations=2,
            warmup=0,
            transport="torch",
        )
        links = neighbours_of(as_fabric(place).topology)
        found: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(found, (len(pairs), sorted(pairs - links)))
        if dist.get_rank() == 0:
            stray = [pair for _, some in found for pair in some]
            record = {**result.record(), "stray": stray, "pairs": sum(count for count, _ in found)}
            print(json.dumps(record), flush=True)
    if dist.get_world_size() == 4:
        log = Path(path).with_name("log")
        change = shlex.join([sys.executable, "-c", f"import sys; open({str(log)!r}, 'a').write(sys.argv[-1] + ' ')"])
        run_plan(changing(), size="4KiB", iterations=2, warmup=0, transport="torch", between=change)
    dist.destroy_process_group()


if __name__ == "__main__":
    among(int(sys.argv[1]), partial(run_plans, sys.argv[2]))

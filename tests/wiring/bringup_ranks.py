"""A program for every host: runs plans from files among all of them, and prints on rank 0 what came of them.

The library's own collectives, which go by hosts between, are excluded: what the cables carry is what the plans say.
"""

from __future__ import annotations

import json
import sys

from topodesign import run_plan


def main(transport: str, size: int, iterations: int, paths: list[str]) -> None:
    """Run plans one after the other."""
    if transport == "torch":
        import torch.distributed as dist

        from topodesign.execution.torch.world import TorchWorld as World

        dist.init_process_group("gloo")
    else:
        from topodesign.execution.mpi import MpiWorld as World  # type: ignore[assignment]
    World.calls = lambda _: {}  # type: ignore[assignment, method-assign]
    for path in paths:
        result = run_plan(path, size=size, iterations=iterations, warmup=0, transport=transport)  # type: ignore[arg-type]
        if not result.rank:
            print(json.dumps(result.record()), flush=True)
    if transport == "torch":
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])

"""Logs of runs, composed of lines in the forms that the runtimes' sources give them."""

from __future__ import annotations

NOISE = """\
# nThread 1 nGpus 1 minBytes 1024 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#  Rank  0 Group  0 Pid   4711 on       host device  0 [0x07] NVIDIA A100
host:4711:4711 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.4<0>
host:4711:4711 [0] NCCL INFO Channel 00/02 :    0   1   2   3
host:4711:4720 [0] NCCL INFO Connected all rings
"""


def info(message: str, pid: int = 4711) -> str:
    """A line of NCCL and its kin."""
    return f"host:{pid}:{pid + 3} [0] NCCL INFO {message}\n"


def warn(message: str, where: str = "misc/msccl/msccl_parser.cc:486") -> str:
    """A warning, which comes after an empty line."""
    return f"\nhost:4711:4714 [0] {where} NCCL WARN {message}\n"


def trace(message: str) -> str:
    """What a build with tracing says."""
    return f"host:4711:4714 [0] 812.334000 enqueue.cc:483 NCCL TRACE {message}\n"


def plus(message: str, level: str = "INFO", subsystem: str = "NCCL", pid: int = 99) -> str:
    """A line of MSCCL++."""
    return f"2026-11-22 10:00:00 MSCCLPP {pid} {level} {subsystem} nccl.cc:625 {message}\n"


def call(
    name: str = "AllReduce",
    count: int = 2**20,
    *,
    send: int = 0x7F0000000000,
    recv: int = 0x7F0000000000,
    datatype: int = 7,
    op: int = 0,
    ranks: int = 12,
) -> str:
    """Return the line of a log about a call."""
    return (
        f"{name}: opCount 1f sendbuff {send:#x} recvbuff {recv:#x} count {count} datatype {datatype} op {op} root 0 "
        f"comm 0x55d0c0 [nranks={ranks}] stream 0x55d0d0"
    )


MSCCL = (
    NOISE
    + info("MSCCL_XML_FILES set by environment to /a/ar.xml")
    + info("MSCCL: Parsing algorithm /a/ar.xml")
    + info("Parsed MSCCL Algorithm /a/ar.xml successfully.")
    + info("Connected 1 MSCCL algorithms")
)
ALGO = info("NCCL_ALGO set by environment to MSCCL,RING,TREE")
EXECUTOR = (
    NOISE
    + info("MSCCL: No external scheduler found, using internal implementation")
    + info("Using MSCCL Algo files from /opt/algos")
    + info("MSCCL: Initialization finished")
)
EXECUTOR_RAN = info("MSCCL: Setup Kernel finished, smem 0 needsFence 0")
RCCL = (
    NOISE
    + info("Using MSCCL files from /opt/rocm/share/rccl/msccl-algorithms")
    + info("MSCCL: Initialization finished, localSize 512")
)
PLUS = NOISE + plus("Initializing NCCL communicator for rank 0, world_size=12")
PLUS_CALL = plus("rank 0 allreduce sendbuff 0x7f00 recvbuff 0x7f00 count 262144, dtype 7 comm is 0x5500")

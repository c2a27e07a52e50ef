"""What joins ranks before any program runs, and what runtimes say where the wiring has no way between two of them.

NCCL and what descends from it join ranks in a ring and in two binary trees of their own, whatever program is loaded,
and take a NIC by its place in the host, not by its cable. Behind switches that does not matter. Where hosts are wired
to one another directly, two ranks of the ring or of a tree may share no cable, and then the start fails.
"""

from __future__ import annotations

from topodesign.runtime.signs import MSCCL, MSCCLPP, NCCL, RCCL, Sign, sign_of

MLX = "ml-explore/mlx 846d176"
MESH = "autoscriptlabs/nccl-mesh-plugin 679a394"

Pair = tuple[int, int]


def ring_pairs(ranks: int) -> list[Pair]:
    """Return what NCCL's ring joins: each rank with the next, and the last with the first.

    Examples
    --------
    >>> ring_pairs(4)
    [(0, 1), (1, 2), (2, 3), (3, 0)]
    """
    return [(rank, (rank + 1) % ranks) for rank in range(ranks)]


def tree_pairs(ranks: int) -> list[Pair]:
    """Return what NCCL's two binary trees join, of ranks in hosts of their own.

    The parent of a rank has its lowest bit moved one place up, or, where there is no such rank, gone. In the second
    tree ranks are mirrored, or with an odd number of them the next ones.

    Notes
    -----
    NVIDIA/nccl 5067397, src/graph/trees.cc:31-106.

    Examples
    --------
    >>> tree_pairs(4)
    [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    """
    first = [(rank, _parent(rank, ranks)) for rank in range(1, ranks)]
    if ranks % 2:
        second = [((one + 1) % ranks, (other + 1) % ranks) for one, other in first]
    else:
        second = [(ranks - 1 - one, ranks - 1 - other) for one, other in first]
    return _sorted([*first, *second])


def pat_pairs(ranks: int) -> list[Pair]:
    """Return what NCCL's parallel aggregated trees join, both ways, of ranks in hosts of their own.

    Examples
    --------
    >>> pat_pairs(4)
    [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (2, 0), (3, 1)]
    """
    powers = [1 << at for at in range((ranks - 1).bit_length())]
    return [(rank, (rank + power) % ranks) for power in powers for rank in range(ranks)]


def _parent(rank: int, ranks: int) -> int:
    bit = rank & -rank
    above = rank ^ bit | bit << 1
    return above if above < ranks else rank ^ bit


def _sorted(pairs: list[Pair]) -> list[Pair]:
    return sorted({(min(pair), max(pair)) for pair in pairs})


RELAY = "let a net plugin relay between ranks that share no cable, or join all hosts by a switch"
CABLES = (
    "give the two ends of every cable addresses in a subnet that no other cable has, set "
    "NCCL_IB_SUBNET_AWARE_ROUTING=1 (from NCCL 2.30.7) and NCCL_IB_SUBNET_PREFIX_LEN to its length, and leave "
    "NCCL_IB_MERGE_NICS alone"
)
RING = f"number the ranks along a ring of cables; where the wiring has none, {RELAY}"
LAZY = "turn cuMem on at every rank (NCCL_CUMEM_ENABLE=1, from NCCL 2.22), so that nothing is joined before it is used"
TREES = f"{LAZY}, and set NCCL_ALGO=Ring; msccl and RCCL join trees always: there {RELAY}"
TREES_JOIN = "the rings are joined and the trees are not: trees join ranks that share no cable"

_PORT = r"(?P<port>\S{1,60}), curr state \w+, next state \w+, local GID index -?\d+, local GID"
_ELSE = "see what the other ranks say: the first warning of all of them names the cause"

CONNECTIONS: tuple[Sign, ...] = (
    sign_of("rings", r"Connected all rings", "", "the rings are joined", f"{NCCL} src/transport/generic.cc:40"),
    sign_of("trees", r"Connected all trees", "", "the trees are joined", f"{NCCL} src/transport/generic.cc:61"),
    sign_of("joined", r"Trees (?P<trees>\[0\] .{1,2000})", "", "which ranks trees join", f"{NCCL} src/init.cc:1497"),
    sign_of(
        "connection",
        rf"Call to ibv_modify_qp failed with .{{1,60}}?on dev {_PORT} fe80:\S*, remote GID (?P<remote>\S{{1,60}})",
        "",
        "port {port} speaks from a link-local address, which reaches nothing but its own cable (to {remote})",
        f"{NCCL} src/misc/ibvwrap.cc:376",
        f"give the port an IPv4 address and leave NCCL_IB_GID_INDEX at -1; {CABLES}",
    ),
    sign_of(
        "connection",
        rf"Call to ibv_modify_qp failed with (error )?(110 )?Connection timed out.{{0,20}}?on dev {_PORT} "
        r"(?P<local>\S{1,60}), remote GID (?P<remote>\S{1,60})",
        "",
        "port {port} ({local}) has no way to {remote}: no cable joins the two, or what is between does not forward",
        f"{NCCL} src/misc/ibvwrap.cc:366, 376",
        f"{CABLES}; NCCL_CROSS_NIC=0, which NCCL hints at, is for rails of switches",
    ),
    sign_of(
        "connection",
        r"Call to ibv_modify_qp failed with (error )?(110 )?Connection timed out",
        "",
        "two ports that no cable joins were to be connected, or what is between does not forward",
        f"{MSCCL} src/misc/ibvwrap.cc:174; {RCCL} src/misc/ibvwrap.cc:71; {NCCL} src/misc/ibvwrap.cc:376",
        f"{CABLES}; on rails of switches set NCCL_CROSS_NIC=0; NCCL_DEBUG=INFO and a new NCCL say which ports",
    ),
    sign_of(
        "connection",
        r"Call to ibv_modify_qp failed with (error )?(101 )?Network is unreachable",
        "",
        "a port has no route to the address of the other one: they are in different subnets",
        f"{MSCCL} src/misc/ibvwrap.cc:174; {RCCL} src/misc/ibvwrap.cc:71; {NCCL} src/misc/ibvwrap.cc:376",
        f"{CABLES}; behind switches put all ports of a rail into one subnet, or route between them",
    ),
    sign_of(
        "connection",
        r"Call to ibv_modify_qp failed with (error )?(22 )?Invalid argument",
        "",
        "a port has no such address as NCCL_IB_GID_INDEX says, or not one of that kind",
        f"{NCCL} src/misc/ibvwrap.cc:344",
        "leave NCCL_IB_GID_INDEX at -1: tables of addresses differ from host to host, and after a restart",
    ),
    sign_of(
        "connection",
        r"ibv_modify_qp failed \(errno (?P<number>\d+)\)",
        "mscclpp",
        "the NIC of a rank has no way to that of another one (errno {number})",
        f"{MSCCLPP} src/core/ib.cc:307, src/core/executor/executor.cc:292",
        "MSCCL++ gives each rank one NIC for all other hosts, by its number in its host: name those that reach one "
        "another in MSCCLPP_HCA_DEVICES; where each cable needs a NIC of its own, take another runtime",
    ),
    sign_of(
        "connection",
        r"ncclTransportTreeConnect",
        "",
        TREES_JOIN,
        f"{NCCL} src/transport/generic.cc:47, src/init.cc:1568",
        TREES,
    ),
    sign_of(
        "connection",
        r"ncclTransportRingConnect",
        "",
        "the ring joins ranks that share no cable",
        f"{NCCL} src/transport/generic.cc:17, src/init.cc:1565",
        RING,
    ),
    sign_of(
        "connection",
        r"connect: No local NIC found on same subnet as any peer address",
        "",
        "the mesh plugin found no port in a subnet of the other rank: they share no cable, or an address lacks",
        f"{MESH} src/mesh_plugin.c:2655",
        "give both ends of every cable addresses of one subnet; for ranks that share no cable NCCL_MESH_ENABLE_RELAY=1",
    ),
    sign_of(
        "connection",
        r"operation=Connect, res=\d+|execute operation Connect from rank \d+, retcode \d+",
        "",
        "a connection between two ranks was not made",
        f"{NCCL} src/proxy.cc:1861, 1905",
        _ELSE,
    ),
    sign_of(
        "connection",
        r"Net : No interface found in the same subnet as remote address (?P<remote>\S{1,60})",
        "",
        "no port of this host is in the subnet of {remote}, where ranks were to meet",
        f"{MSCCL} src/misc/socket.cc:191",
        "set NCCL_SOCKET_IFNAME, or NCCL_COMM_ID, to a network that all hosts share, such as that of their management",
    ),
    sign_of(
        "connection",
        r"ncclOsSocketPollConnect to (?P<remote>\S{1,80}) failed with error (?P<why>.{1,60})",
        "",
        "{remote}, where ranks were to meet, cannot be reached: {why}",
        f"{NCCL} src/os/linux.cc:328",
        "set NCCL_SOCKET_IFNAME to a network that all hosts share, such as that of their management",
    ),
    sign_of(
        "connection",
        r"\[jaccl\] Changing queue pair to RTR failed with errno 22",
        "jaccl",
        "a Thunderbolt port has no IPv4 address, or is part of the Thunderbolt Bridge",
        f"{MLX} mlx/distributed/jaccl/lib/jaccl/rdma.cpp:266",
        "take the ports out of the Thunderbolt Bridge and give each an IPv4 address in a subnet of its cable",
    ),
    sign_of(
        "connection",
        r"\[jaccl\] No IPv4-mapped GID for this device",
        "jaccl",
        "a Thunderbolt port has no IPv4 address",
        f"{MLX} mlx/distributed/jaccl/lib/jaccl/rdma.cpp:208",
        "give each port an IPv4 address in a subnet of its cable",
    ),
    sign_of(
        "connection",
        r"\[jaccl\] Changing queue pair to RTR failed with errno (?P<number>\d+)",
        "jaccl",
        "the port that a rank was told for another one does not reach it (errno {number})",
        f"{MLX} mlx/distributed/jaccl/lib/jaccl/rdma.cpp:266",
        "cell i, j of the file of MLX_IBV_DEVICES names the port of rank i at the cable to rank j, and cell j, i the "
        "other end of that cable; after a crash restart the host",
    ),
    sign_of(
        "connection",
        r"\[jaccl\] In ring mode (?P<way>send|recv) is only supported to direct neighbors",
        "jaccl",
        "JACCL's ring joins each rank with the one before and the one after, and nothing else",
        f"{MLX} mlx/distributed/jaccl/lib/jaccl/ring.cpp:187, 199",
        "number the ranks along the ring of cables, and let data go through the ranks between",
    ),
    sign_of(
        "connection",
        r"\[jaccl\] The (devices do not form|configuration should define) a valid (mesh|ring)",
        "jaccl",
        "the file of MLX_IBV_DEVICES is neither a mesh nor a ring in the order of the ranks",
        f"{MLX} mlx/distributed/jaccl/lib/jaccl/jaccl.cpp:185, 199, 298",
        "name a port for every pair of at most 8 ranks, or number the ranks along a ring of cables",
    ),
    sign_of(
        "failed",
        r"unhandled system error|ncclSystemError",
        "",
        "the start failed",
        f"{NCCL} src/init.cc:3422",
        _ELSE,
    ),
)
"""All lines that tell of ranks that are joined, or cannot be."""

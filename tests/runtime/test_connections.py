"""Ranks that cannot be connected: which pairs NCCL joins, and what logs of real issues say and are told to do."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import logs
from tests.samples.logs import info, warn
from topodesign.runtime.connections import ring_pairs, tree_pairs
from topodesign.runtime.doctor import Diagnosis, diagnose

# -- whom NCCL joins ------------------------------------------------------------------------------------------------

ILLUSTRATED = {8: [0, 4, 12], 4: [2, 6], 12: [10, 13], 2: [1, 3], 6: [5, 7], 10: [9, 11]}
"""The first tree of 14 ranks as the comment above ncclGetBtree draws it."""


def test_the_first_tree_is_that_of_nccls_own_drawing() -> None:
    drawn = {(min(a, b), max(a, b)) for a, others in ILLUSTRATED.items() for b in others}
    mirrored = {(13 - b, 13 - a) for a, b in drawn}
    assert set(tree_pairs(14)) == drawn | mirrored


def test_trees_of_logs_are_among_the_pairs() -> None:
    """``Trees [0] 2/-1/-1->0->-1`` on four ranks (MiaAI-Lab/DeepSeek-v4.1-Flash-DGX-Sparks#3)."""
    assert (0, 2) in tree_pairs(4)
    assert set(tree_pairs(3)) == {(0, 1), (0, 2), (1, 2)}


@given(st.integers(2, 300))
def test_pairs_are_a_ring_and_two_trees(ranks: int) -> None:
    ring, trees = nx.Graph(ring_pairs(ranks)), nx.Graph(tree_pairs(ranks))
    assert sorted(ring) == sorted(trees) == list(range(ranks))
    assert nx.is_connected(ring)
    assert nx.is_connected(trees)
    assert ring.number_of_edges() == (ranks if ranks > 2 else 1)
    assert ranks - 1 <= trees.number_of_edges() <= 2 * (ranks - 1)
    assert max(degree for _, degree in trees.degree) <= 6


@given(st.integers(4, 300))
def test_a_ring_of_four_and_more_has_no_cable_for_some_pair_of_a_tree(ranks: int) -> None:
    assert set(tree_pairs(ranks)) - {(min(pair), max(pair)) for pair in ring_pairs(ranks)}


# -- logs of real issues --------------------------------------------------------------------------------------------

MODIFY = "Call to ibv_modify_qp failed with"
PORTS = "on dev rocep1s0f1:1, curr state INIT, next state RTR, local GID index 3, local GID"
RING_UP = info("Trees [0] 2/-1/-1->0->-1 [1] -1/-1/-1->0->1") + info("Connected all rings, use ring PXN 0 GDR 0")

ISSUES: dict[str, tuple[str, str, str]] = {
    "eugr/spark-vllm-docker#252": (
        "(RayWorker pid=71, ip=192.168.86.3) "
        + warn(
            f"{MODIFY} 110 Connection timed out, {PORTS} ::ffff:192.168.10.1, remote GID ::ffff:192.168.31.2",
            "misc/ibvwrap.cc:376",
        ).lstrip()
        + info("HINT: To confirm, you can set NCCL_CROSS_NIC=0 to disable cross-rail communication."),
        "port rocep1s0f1:1 (::ffff:192.168.10.1) has no way to ::ffff:192.168.31.2",
        "NCCL_IB_SUBNET_AWARE_ROUTING=1",
    ),
    "NVIDIA/nccl#2013": (
        (
            f"[2026-03-13 22:26:02] host-01.example.com:XXXXXX [5] ibvwrap.c:262 NCCL WARN {MODIFY} 110 Connection "
            "timed out, on dev mlx_x:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.1, "
            "remote GID ::ffff:10.0.1.2\n"
        ),
        "port mlx_x:1 (::ffff:10.0.0.1) has no way to ::ffff:10.0.1.2",
        "NCCL_CROSS_NIC=0",
    ),
    "NVIDIA/nccl-tests#227": (
        warn(f"{MODIFY} error Connection timed out", "ibvwrap.c:160"),
        "two ports that no cable joins",
        "NCCL_CROSS_NIC=0",
    ),
    "NVIDIA/nccl#749": (
        warn(f"{MODIFY} error Connection timed out", "ibvwrap.c:160")
        + info("transport/net.cc:651 -> 2")
        + warn("[Proxy Service 4] Failed to execute operation Connect from rank 4, retcode 2", "proxy.cc:1119"),
        "a connection between two ranks was not made",
        "first warning",
    ),
    "MiaAI-Lab/DeepSeek-v4.1-Flash-DGX-Sparks#3": (
        RING_UP
        + "RuntimeError: NCCL error: unhandled system error\n    at ncclTransportTreeConnect -> ncclCommInitRank\n",
        "trees join ranks that share no cable, such as 0 and 2",
        "NCCL_CUMEM_ENABLE=1",
    ),
    "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#244": (
        RING_UP + warn(f"{MODIFY} 110 Connection timed out, {PORTS} ::ffff:1.0.0.1, remote GID ::ffff:1.0.3.2"),
        "the rings are joined and the trees are not",
        "NCCL_ALGO=Ring",
    ),
    "NVIDIA/nccl-tests#185": (
        info("NCCL_IB_GID_INDEX set by environment to 3.")
        + warn(f"{MODIFY} error Network is unreachable", "misc/ibvwrap.cc:187"),
        "no route to the address of the other one",
        "subnet",
    ),
    "microsoft/msccl#62": (
        info("MSCCL_XML_FILES set by environment to test-reduce-8-1.xml")
        + "\nubuntu2004-113:210748:210793 [0] misc/ibvwrap.cc:187 NCCL WARN "
        + f"{MODIFY} error Network is unreachable\nubuntu2004-113:210748:210793 [0] NCCL INFO proxy.cc:1310 -> 2\n",
        "they are in different subnets",
        "route between them",
    ),
    "NVIDIA/nccl#769": (
        warn(
            f"{MODIFY} 110 Connection timed out, on dev mlx5_bond_0:1, curr state INIT, next state RTR, local GID "
            "index 1, local GID fe80::ac0:ebff:feda:1cfb, remote GID fe80::ac0:ebff:feda:2cfb"
        ),
        "link-local address",
        "NCCL_IB_GID_INDEX at -1",
    ),
    "tonyd2wild/GLM-5.3-Flash-NVFP4-1M-KV-4x-DGX-Spark#6": (
        warn(f"{MODIFY} 22 Invalid argument, {PORTS} N/A, remote GID ::ffff:10.0.0.2"),
        "no such address as NCCL_IB_GID_INDEX says",
        "NCCL_IB_GID_INDEX at -1",
    ),
    "MiaAI-Lab/Qwen3.8-Flash-Next-Dual-DGX-Sparks#3": (
        warn("[Service thread] Error encountered progressing operation=Connect, res=3, closing connection", "proxy.cc"),
        "a connection between two ranks was not made",
        "first warning",
    ),
    "NVIDIA/nccl#331": (
        warn("Net : No interface found in the same subnet as remote address 192.168.0.91<27030>", "include/socket.h"),
        "no port of this host is in the subnet of 192.168.0.91<27030>",
        "NCCL_SOCKET_IFNAME",
    ),
    "autoscriptlabs/nccl-mesh-plugin": (
        info("Loaded net plugin Mesh (v9)")
        + "MESH ERROR: connect: No local NIC found on same subnet as any peer address\n",
        "share no cable, or an address lacks",
        "NCCL_MESH_ENABLE_RELAY=1",
    ),
    "microsoft/mscclpp#431": (
        (
            'C++ exception with description "ibv_modify_qp failed (errno 19) (Ib failure: No such device)" thrown in '
            "the test body.\n"
        ),
        "the NIC of a rank has no way",
        "one NIC for all other hosts",
    ),
    "exo-explore/exo#1390": (
        (
            "[ 05:21:08.2359AM | WARNING ] Runner 66b6189d crashed with critical exception [jaccl] Changing queue pair "
            "to RTR failed with errno 22\nTraceback (most recent call last):\n"
        ),
        "Thunderbolt Bridge",
        "IPv4 address",
    ),
    "ml-explore/mlx#4191": (
        "RuntimeError: [jaccl] No IPv4-mapped GID for this device. Thunderbolt RDMA ports only publish one once the\n",
        "a Thunderbolt port has no IPv4 address",
        "IPv4 address",
    ),
    "ml-explore/mlx#3755": (
        "RuntimeError: [jaccl] Changing queue pair to RTR failed with errno 60\n",
        "does not reach it (errno 60)",
        "MLX_IBV_DEVICES",
    ),
    "mlx, ring.cpp:187": (
        "[jaccl] In ring mode send is only supported to direct neighbors but tried to send to 2 from 0\n",
        "the one before and the one after",
        "number the ranks along the ring of cables",
    ),
}
"""By issue: the log, the cause, and the remedy."""


def of(text: str) -> Diagnosis:
    return diagnose(text.splitlines())


@pytest.mark.parametrize("issue", ISSUES)
def test_what_issues_say_has_a_cause_and_a_remedy(issue: str) -> None:
    text, cause, remedy = ISSUES[issue]
    found = of(logs.NOISE.replace("host:4711:4720 [0] NCCL INFO Connected all rings\n", "") + text)
    assert found.verdict == "not connected"
    assert not found.ok
    (symptom, *_) = [one for one in found.symptoms if cause in one.means]
    assert remedy in symptom.remedy
    assert cause in str(found)
    assert "MSCCL_XML_FILES (" not in str(found)  # which is not what is in the way
    assert found.heading().startswith("some ranks could not be connected")


def test_what_fails_before_the_rings_is_not_the_trees() -> None:
    timed_out = warn(f"{MODIFY} 110 Connection timed out, {PORTS} ::ffff:1.0.0.1, remote GID ::ffff:1.0.3.2")
    assert all("NCCL_ALGO=Ring" not in one.remedy for one in of(timed_out).symptoms)
    both = RING_UP + info("Connected all trees") + timed_out
    assert all("NCCL_ALGO=Ring" not in one.remedy for one in of(both).symptoms)
    other = RING_UP.replace("host:4711", "host:12") + timed_out
    assert all("NCCL_ALGO=Ring" not in one.remedy for one in of(other).symptoms)


def test_a_start_that_went_well_says_nothing() -> None:
    well = RING_UP + info("Connected all trees") + logs.RCCL
    assert of(well).symptoms == ()
    assert of(well).verdict == "loaded"


def test_each_remedy_is_said_once() -> None:
    lines = "".join(
        warn(f"{MODIFY} 110 Connection timed out, {PORTS} ::ffff:1.0.0.{at}, remote GID ::ffff:1.0.9.2")
        for at in range(5)
    )
    found = of(lines)
    assert len(found.symptoms) == 5
    assert str(found).count("NCCL_IB_SUBNET_AWARE_ROUTING") == 1

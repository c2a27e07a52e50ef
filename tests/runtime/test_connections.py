"""Ranks that cannot be connected: which pairs NCCL joins, and what logs of real issues say, with the remedies."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import logs
from tests.samples.logs import info, warn
from topodesign.runtime.connections import ring_pairs, tree_pairs
from topodesign.runtime.diagnosis import Diagnosis
from topodesign.runtime.doctor import diagnose

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
    "ml-explore/mlx#4209": (
        "[jaccl] Creating the queue pair failed with errno 16. Thunderbolt RDMA devices\n",
        "no more queue pairs",
        "end what else uses the port",
    ),
    "ml-explore/mlx#3207": (
        "RuntimeError: [jaccl] Couldn't allocate protection domain\n",
        "is down, or called otherwise now",
        "names change with a restart",
    ),
    "NVIDIA/nccl#1664": (
        warn(
            "NET/IBP:Got completion from peer 7.6.13.83<36315> with status=12 opcode=32698 len=32696 vendor err 129 "
            "(Send)"
        ),
        "was never answered (peer 7.6.13.83<36315>)",
        "link_test.py",
    ),
    "NVIDIA/nccl#1814": (
        warn(
            "NET/IB : Got completion from peer 29.87.88.182<55921> with status=12 opcode=1 len=0 vendor err 129 (Send) "
            "localGid ::ffff:29.87.4.221 remoteGids::ffff:29.87.88.182"
        ),
        "a cable, its port or the way went dead",
        "exchanged",
    ),
    "NVIDIA/nccl, p2p.cc:688": (
        warn(
            "NET/IB: Got completion from peer 192.168.101.2<40112> with status=IBV_WC_RETRY_EXC_ERR(12) "
            "opcode=IBV_WC_SEND(0) vendor_err=129 localGid fe80::4ebb:47ff:fe2e:5fa6 "
            "remoteGidsfe80::32c5:99ff:febe:6b46 hca roceP2p1s0f0"
        ),
        "from a link-local address was never answered",
        "IPv4 address",
    ),
    "sgl-project/sglang#3820": (
        warn(
            "socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in "
            "progress)"
        ),
        "Connect to 10.0.0.4<56849> returned 113(No route to host",
        "routes through their neighbours",
    ),
    "hiyouga/LlamaFactory#8045": (
        info("socketPollConnect: connect returned No route to host, retrying (34/34) after sleep for 3400 msec"),
        "connect returned No route to host",
        "Docker",
    ),
    "NVIDIA/nccl#1837": (
        info("NCCL_SOCKET_IFNAME set by environment to eth2")
        + "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)\n",
        "names no interface of this host",
        "every host has",
    ),
    "marin-community/marin#6940": (
        warn("Bootstrap : no socket interface found", "bootstrap.cc:126"),
        "names no interface of this host",
        "set it for each host",
    ),
    "vllm-project/vllm#7074": (
        (
            "(RayWorkerWrapper pid=1978, ip=10.41.0.8) [rank9]:[W ProcessGroupGloo.cpp:721] Warning: Unable to resolve "
            "hostname to a (local) address. Using the loopback address as fallback. Manually set the network interface "
            "to bind to with GLOO_SOCKET_IFNAME. (function operator())\n(RayWorkerWrapper pid=1890, ip=10.41.0.8) "
            "[rank8]:[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with "
            "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error\n"
        ),
        "the loopback address",
        "GLOO_SOCKET_IFNAME",
    ),
    "sgl-project/sglang#3226": (
        (
            "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] "
            "no error\n"
        ),
        "gloo joins every rank with every other",
        "routes through their neighbours",
    ),
    "open-mpi/ompi#2168": (
        (
            "[ivy08][[463,1],0][btl_tcp_endpoint.c:803:mca_btl_tcp_endpoint_complete_connect] connect() to "
            "10.102.1.194 failed: No route to host (113)\n"
        ),
        "that this one cannot reach: 10.102.1.194",
        "btl_tcp_if_include td0",
    ),
    "open-mpi/ompi#4963": (
        "  PID:        13325\n  Message:    connect() to 10.10.10.2:1024 failed\n",
        "cannot reach: 10.10.10.2:1024",
        "btl_tcp_if_include td0",
    ),
    "open-mpi/ompi#12232": (
        "Open MPI detected an inbound MPI TCP connection request from a peer\nthat appears to be part\n",
        "not that of the host",
        "source",
    ),
    "uccl-project/uccl#641": (
        "Remote LID: 0x0, QPN: 72, PSN: 0\nFailed to modify QP to RTR: Connection timed out\nerrno: 110\n",
        "two ports that no cable joins",
        "join them by a switch",
    ),
    "sgl-project/sglang#6548": (
        (
            "E0523 06:18:19.069025  2716 rdma_endpoint.cpp:408] [Handshake] Failed to modify QP to RTR, check mtu, "
            "gid, peer lid, peer qp num: Connection timed out [110]\n"
        ),
        "two ports that no cable joins",
        "the cable to each rank",
    ),
    "tenstorrent/tt-metal#33573": (
        "Physical Discovery found 180 missing port/cable connections:\n  - PhysicalPortEndpoint{...} <-> ...\n",
        "cables are not where the descriptor has them (180 missing)",
        "seat them",
    ),
    "tenstorrent/tt-metal#33462": (
        "Port Connections found in FSD but missing in GSD (128 connections): ...\n",
        "cables are not where the descriptor has them (FSD but missing in GSD)",
        "exchanged",
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
    assert ": some ranks could not be connected" in found.heading()


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

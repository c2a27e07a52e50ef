"""Generators of networks of switches between hosts; see :mod:`topodesign.fabrics.presets`."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.arguments import require_at_least
from topodesign.fabrics.drawing import drawn, duplex, members, rails
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.topology import check_buildable


def fat_tree3(  # noqa: PLR0917  arguments of a spec have no names
    pods: int, leaves: int, hosts: int, spines: int, cores: int, over: int = 1, under: int = 1
) -> Fabric:
    """Three-level fat tree: pods of leaf and spine switches, and for every spine of a pod ``cores`` core switches.

    Hosts have 50 GB/s (400 Gb/s). Leaves do not block; what a pod has to its hosts, together, is ``over / under`` times
    what it has to the cores. Spine i of every pod is linked to cores ``core.i.0``, ``core.i.1``, ...

    References
    ----------
    Al-Fares, Loukissas, Vahdat, A Scalable, Commodity Data Center Network Architecture (2008).
    """
    sizes = {"pods": pods, "leaves": leaves, "hosts": hosts, "spines": spines, "cores": cores}
    for what, value in (sizes | {"over": over, "under": under}).items():
        require_at_least(what, value, 1)
    check_buildable(
        pods * (leaves * (hosts + 1) + spines) + spines * cores, 2 * pods * (leaves * (hosts + spines) + spines * cores)
    )
    nodes, switches, links = [], [], list[FabricLink]()
    for pod in range(pods):
        inner = [f"pod{pod}/spine{spine}" for spine in range(spines)]
        for leaf in range(leaves):
            switch = f"pod{pod}/leaf{leaf}"
            switches.append(switch)
            for host in range(hosts):
                nodes.append(f"pod{pod}/host{leaf * hosts + host}")
                links += duplex(nodes[-1], switch, 50, "host")
            for spine in inner:
                links += duplex(switch, spine, Fraction(50 * hosts, spines), "spine")
        for number, spine in enumerate(inner):
            for core in range(cores):
                rate = Fraction(50 * hosts * leaves * under, over * spines * cores)
                links += duplex(spine, f"core.{number}.{core}", rate, "core")
        switches += inner
    switches += [f"core.{spine}.{core}" for spine in range(spines) for core in range(cores)]
    ratio = "" if (over, under) == (1, 1) else f",{over}" if under == 1 else f",{over},{under}"
    return drawn(f"fat_tree3({pods},{leaves},{hosts},{spines},{cores}{ratio})", nodes, switches, links)


def rail_spine(boxes: int, gpus: int, spines: int, over: int = 1, under: int = 1) -> Fabric:
    """Rails with a spine: as :func:`topodesign.fabrics.presets.rail_optimised`, and every rail linked to every spine.

    What a rail has to the boxes, together, is ``over / under`` times what it has to the spines.

    References
    ----------
    NVIDIA DGX SuperPOD Reference Architecture (DGX H100).
    """
    sizes = {"gpus": gpus, "spines": spines, "over": over, "under": under}
    require_at_least("boxes", boxes, 2)
    for what, value in sizes.items():
        require_at_least(what, value, 1)
    check_buildable(boxes * (gpus + 1) + gpus + spines, 2 * gpus * (2 * boxes + spines))
    nodes, inner, outer = members(boxes, gpus, "gpu"), [f"box{box}/nvswitch" for box in range(boxes)], rails(gpus)
    links: list[FabricLink] = []
    for number, gpu in enumerate(nodes):
        links += duplex(gpu, inner[number // gpus], 450, "NVLink")
        links += duplex(gpu, outer[number % gpus], 50, "InfiniBand")
    for rail in outer:
        for spine in range(spines):
            links += duplex(rail, f"spine{spine}", Fraction(50 * boxes * under, over * spines), "spine")
    ratio = "" if (over, under) == (1, 1) else f",{over}" if under == 1 else f",{over},{under}"
    switches = [*inner, *outer, *(f"spine{spine}" for spine in range(spines))]
    return drawn(f"rail_spine({boxes},{gpus},{spines}{ratio})", nodes, switches, links)


def dragonfly_plus(groups: int, leaves: int, hosts: int, spines: int) -> Fabric:
    """Dragonfly+: groups of leaf switches with hosts, each linked to every spine of its group; all links 25 GB/s.

    Spine i of every group has one global link to spine i of each other group.

    References
    ----------
    Shpiner et al., Dragonfly+: Low Cost Topology for Scaling Datacenters (2017).
    """
    for what, value in {"groups": groups, "leaves": leaves, "hosts": hosts, "spines": spines}.items():
        require_at_least(what, value, 1)
    check_buildable(
        groups * (leaves * (hosts + 1) + spines), groups * (2 * leaves * (hosts + spines) + spines * groups)
    )
    nodes, switches, links = [], [], list[FabricLink]()
    for group in range(groups):
        inner = [f"group{group}/spine{spine}" for spine in range(spines)]
        for leaf in range(leaves):
            switches.append(f"group{group}/leaf{leaf}")
            for host in range(hosts):
                nodes.append(f"group{group}/host{leaf * hosts + host}")
                links += duplex(nodes[-1], switches[-1], 25, "host")
            for spine in inner:
                links += duplex(f"group{group}/leaf{leaf}", spine, 25, "local")
        for other in range(group):
            for number, spine in enumerate(inner):
                links += duplex(f"group{other}/spine{number}", spine, 25, "global")
        switches += inner
    return drawn(f"dragonfly_plus({groups},{leaves},{hosts},{spines})", nodes, switches, links)

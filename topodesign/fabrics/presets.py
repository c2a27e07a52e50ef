"""Generators of real fabrics, named by specs such as ``dgx_a100(2)``.

Bandwidths are those of data sheets, per direction. Names are paths, such as ``box0/gpu3``, whose first part says what
belongs together. Links of a sort carry its name, so that an answer can say "the InfiniBand links of box0".
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from topodesign.base import entry_points
from topodesign.base.arguments import as_text, require_at_least
from topodesign.base.errors import ParameterError, SpecError, TopologyError
from topodesign.base.spec import Spec, name_alone, parse
from topodesign.base.wording import nearest, suggest
from topodesign.fabrics import pods
from topodesign.fabrics.boxes import BoxSpec, get_box, join
from topodesign.fabrics.drawing import GB, check_boxes, duplex, make_fabric, members, mesh, nvswitch_boxes, rails
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.topology.everyday import SPOKEN_FABRICS
from topodesign.topology.family import call_signature, inspect_call
from topodesign.topology.library import build
from topodesign.topology.topology import Topology, check_buildable

# GCDs of an MI250 box and the Infinity Fabric links between them (ForestColl, figure 1 and section 7.2).
_MI250 = (
    "0-1:4 0-4:2 0-8:1 1-5:1 1-9:1 1-10:1 2-3:4 2-6:1 2-9:1 2-10:1 3-7:2 3-11:1 4-5:4 4-6:1 5-6:1 5-7:1 6-7:4 8-9:4 "
    "8-12:2 9-13:1 10-11:4 10-14:1 11-15:2 12-13:4 12-14:1 13-14:1 13-15:1 14-15:4"
)

# GPUs of a DGX-1 and the NVLinks between them (six a GPU).
_DGX1 = "0-1:1 0-2:1 0-3:2 0-4:2 1-2:2 1-3:1 1-5:2 2-3:2 2-6:1 3-7:1 4-5:1 4-6:1 4-7:2 5-6:2 5-7:1 6-7:2"


def build_fabric(text: str) -> Fabric:
    """Build the fabric that a spec names.

    Parameters
    ----------
    text
        Spec of a preset, such as ``"dgx_a100(2)"`` or ``"boxes(dgx_h100,torus(4,4))"``.

    Raises
    ------
    SpecError
        If the text is no spec, the name is unknown, or arguments do not fit; it points at the character.

    Examples
    --------
    >>> from topodesign import build_fabric
    >>> print(build_fabric("mi250(2)").names[:3])
    ('box0/gcd0', 'box0/gcd1', 'box0/gcd2')
    """
    name = name_alone(as_text("a spec", text))
    spec = Spec(name) if name else parse(text)
    generator: Callable[..., Fabric] | None = entry_points.FABRICS.get(SPOKEN_FABRICS.get(spec.name, spec.name))
    if generator is None:
        known = nearest(spec.name, [*entry_points.FABRICS, *SPOKEN_FABRICS]) or entry_points.FABRICS
        raise SpecError(f"unknown fabric '{spec.name}'; {suggest(spec.name, known)}", text, spec.position)
    if name:
        raise SpecError(f"'{name}' requires brackets: {call_signature(generator)}", text, 0)
    if generator is boxes:
        try:
            return _parse_boxes(spec, text).fabric
        except (ParameterError, TopologyError) as error:
            raise SpecError(f"boxes: {error}", text, spec.position) from None
    if not all(isinstance(argument, int) for argument in spec.args):
        raise SpecError(f"{call_signature(generator)} requires integers", text, spec.position)
    try:
        inspect_call(generator, spec.args)
        fabric = generator(*spec.args)
        fabric.check_balance()
    except (ParameterError, TopologyError) as error:
        raise SpecError(f"{spec.name}: {error}", text, spec.position) from None
    return fabric


def as_boxed(value: object) -> BoxSpec | None:
    """Return what a spec of boxes says; None of anything else."""
    if not (isinstance(value, str) and value.strip().startswith("boxes(")):
        return None
    return _parse_boxes(parse(value), value)


def boxes(box: Spec, graph: Topology, split: int = 1, shift: int = 0, *swaps: int) -> Fabric:
    """Boxes cabled directly: a preset per node, a cable per link of a topology.

    The box is written without the number of boxes, as ``boxes(dgx_h100,complete(4))``. A NIC may be split into several
    ports; ``shift`` and ``swaps`` say which NIC has which cable, see :mod:`topodesign.fabrics.boxes`.

    References
    ----------
    Efficient Direct-Connect Topologies (the topologies); ForestColl, figure 1 (the boxes).
    """
    return join(get_box(box), graph, split, shift, swaps)


def dgx_a100(boxes: int) -> Fabric:
    """DGX A100: 8 GPUs on an NVSwitch at 300 GB/s, and one 200 Gb/s NIC each.

    Even NICs are on one InfiniBand switch, ``rail0``, and odd ones on another, ``rail1``.

    References
    ----------
    NVIDIA DGX A100 System Architecture; ForestColl, figure 1 and section 7.3.
    """
    return nvswitch_boxes(f"dgx_a100({boxes})", boxes, 8, nvlink=300, nic=25, outer=rails(2))


def dgx_a100_rails(boxes: int) -> Fabric:
    """DGX A100 with eight rails, NVLink only.

    NIC i of every box is on rail i, and sits at GPU i.

    GPUs have 300 GB/s to the NVSwitch of their box and, with more than one box, 25 GB/s to their rail. What is between
    a GPU and its NIC is omitted; :func:`dgx_a100_pcie` and :func:`dgx_a100_links` have it.

    References
    ----------
    Algorithmic Techniques for Optimal Collective Communication, section 6.1 (tables 6.3 and 6.6).
    """
    return nvswitch_boxes(f"dgx_a100_rails({boxes})", boxes, 8, nvlink=300, nic=25, outer=rails(8))


def dgx_a100_pcie(boxes: int) -> Fabric:
    """DGX A100 with eight rails, without NVLink.

    GPUs, NICs and host memory of a box on four PCIe switches.

    GPUs 2i and 2i+1 have 32 GB/s each to the PCIe switch i of their box, which has 32 GB/s to the host's memory, and,
    with more than one box, 25 GB/s to each of the rails 2i and 2i+1. Memory passes data on and can send one copy of it
    to several.

    References
    ----------
    Algorithmic Techniques for Optimal Collective Communication, section 6.1 (tables 6.4 and 6.7).
    """
    return _pcie_boxes(f"dgx_a100_pcie({boxes})", boxes, nvlink=0)


def dgx_a100_links(boxes: int) -> Fabric:
    """DGX A100 with eight rails, NVLink and PCIe.

    See :func:`dgx_a100_rails` and :func:`dgx_a100_pcie`.

    References
    ----------
    Algorithmic Techniques for Optimal Collective Communication, section 6.1 (tables 6.5 and 6.8).
    """
    return _pcie_boxes(f"dgx_a100_links({boxes})", boxes, nvlink=300)


def dgx_h100(boxes: int) -> Fabric:
    """DGX H100: 8 GPUs on an NVSwitch with NVLS at 450 GB/s.

    It multicasts and reduces; one 400 Gb/s NIC a GPU.

    NIC i of every box is on the InfiniBand switch of rail i, of which nothing but forwarding is assumed.

    References
    ----------
    NVIDIA DGX H100 User Guide; H100 Tensor Core GPU Architecture Overview.
    """
    return nvswitch_boxes(f"dgx_h100({boxes})", boxes, 8, nvlink=450, nic=50, outer=rails(8), nvls=True)


def dgx_h200(boxes: int) -> Fabric:
    """DGX H200: as :func:`dgx_h100`; only the GPUs' memory differs.

    References
    ----------
    NVIDIA DGX H100/H200 User Guide.
    """
    return nvswitch_boxes(f"dgx_h200({boxes})", boxes, 8, nvlink=450, nic=50, outer=rails(8), nvls=True)


def dgx_b200(boxes: int) -> Fabric:
    """DGX B200: 8 GPUs on an NVSwitch with NVLS at 900 GB/s.

    It multicasts and reduces; one 400 Gb/s NIC a GPU.

    NIC i of every box is on the switch of rail i, of which nothing but forwarding is assumed.

    References
    ----------
    NVIDIA DGX B200 data sheet (1.8 TB/s a GPU, both directions together; eight ConnectX-7 at 400 Gb/s).
    """
    return nvswitch_boxes(f"dgx_b200({boxes})", boxes, 8, nvlink=900, nic=50, outer=rails(8), nvls=True)


def dgx_b300(boxes: int) -> Fabric:
    """DGX B300: as :func:`dgx_b200`, with an 800 Gb/s NIC a GPU.

    References
    ----------
    NVIDIA DGX B300 data sheet (1.8 TB/s a GPU, both directions together; eight ConnectX-8 at 800 Gb/s).
    """
    return nvswitch_boxes(f"dgx_b300({boxes})", boxes, 8, nvlink=900, nic=100, outer=rails(8), nvls=True)


def dgx1_v100(boxes: int) -> Fabric:
    """DGX-1 V100: 8 GPUs in a hybrid cube mesh, six 25 GB/s NVLinks each.

    With more than one box, GPUs 2i and 2i+1 share a PCIe switch (16 GB/s to each) with a 100 Gb/s NIC, and all NICs are
    on one InfiniBand switch. The way over the CPUs is omitted.

    References
    ----------
    NVIDIA DGX-1 With Tesla V100 System Architecture.
    """
    check_boxes(boxes, 8)
    links = [link for box in range(boxes) for link in mesh(f"box{box}/gpu", _DGX1, 25, "NVLink")]
    switches: list[str] = []
    if boxes > 1:
        for box in range(boxes):
            for pair in range(4):
                pcie = f"box{box}/pcie{pair}"
                switches.append(pcie)
                links += duplex(f"box{box}/gpu{2 * pair}", pcie, 16, "PCIe")
                links += duplex(f"box{box}/gpu{2 * pair + 1}", pcie, 16, "PCIe")
                links += duplex(pcie, "infiniband", Fraction(25, 2), "InfiniBand")
        switches.append("infiniband")
    return make_fabric(f"dgx1_v100({boxes})", members(boxes, 8, "gpu"), switches, links)


def mi250(boxes: int) -> Fabric:
    """MI250 boxes: 16 GCDs with 50 GB/s Infinity Fabric links.

    Singly or up to four together.

    With more than one box each GCD has 16 GB/s to one InfiniBand switch.

    References
    ----------
    ForestColl, figures 1 and 9 and section 7.2.
    """
    check_boxes(boxes, 16)
    links = [link for box in range(boxes) for link in mesh(f"box{box}/gcd", _MI250, 50, "Infinity Fabric")]
    gcds = members(boxes, 16, "gcd")
    if boxes > 1:
        for gcd in gcds:
            links += duplex(gcd, "infiniband", 16, "InfiniBand")
    return make_fabric(f"mi250({boxes})", gcds, ["infiniband"] if boxes > 1 else [], links)


def mi300x(boxes: int) -> Fabric:
    """MI300X boxes: 8 fully connected GPUs with 64 GB/s links.

    One 400 Gb/s NIC a GPU.

    NIC i of every box is on the switch of rail i.

    References
    ----------
    AMD Instinct MI300X Platform data sheet (128 GB/s a link, both directions together).
    """
    return pods.infinity_boxes(f"mi300x({boxes})", boxes)


def tpu_torus(*sides: int) -> Fabric:
    """TPU torus: 50 GB/s links both ways along every dimension.

    As in a TPU v4 or v5p slice.

    A side of 2 is a single link. Chip ``chip1.0.2`` is at 1, 0, 2.

    References
    ----------
    Jouppi et al., TPU v4: An Optically Reconfigurable Supercomputer (2023), section 2.
    """
    graph = entry_points.FAMILIES["torus"](*sides)
    names = []
    for node in range(graph.nodes):
        place, rest = [], node
        for side in sides:
            rest, coordinate = divmod(rest, side)
            place.append(coordinate)
        names.append("chip" + ".".join(map(str, place)))
    links = [FabricLink(names[u], names[v], Fraction(50 * GB * c), "ICI") for u, v, c in graph.links()]
    return make_fabric(f"tpu_torus({','.join(map(str, sides))})", names, [], links)


def rail_optimised(boxes: int, gpus: int) -> Fabric:
    """Boxes of GPUs on an NVSwitch at 450 GB/s, on rail switches.

    NIC i (400 Gb/s) of every box is on rail switch i.

    There is no spine: traffic between rails goes through the boxes.

    References
    ----------
    Wang et al., Rail-only: A Low-Cost High-Performance Network for Training LLMs (2023).
    """
    require_at_least("gpus", gpus, 1)
    check_buildable(gpus, 0)
    return nvswitch_boxes(f"rail_optimised({boxes},{gpus})", boxes, gpus, nvlink=450, nic=50, outer=rails(gpus))


def fat_tree(leaves: int, hosts: int, spines: int, over: int = 1, under: int = 1) -> Fabric:
    """Two-level fat tree of hosts at 50 GB/s.

    Every leaf switch has ``hosts`` hosts (400 Gb/s) and a link to every spine.

    What a leaf has to its hosts, together, is ``over / under`` times what it has to the spines: with 1 it does not
    block, 3 and 2 mean 3:2 oversubscribed.

    References
    ----------
    Leiserson, Fat-Trees (1985); Al-Fares, Loukissas, Vahdat (2008).
    """
    for what, value in (("leaves", leaves), ("hosts", hosts), ("spines", spines), ("over", over), ("under", under)):
        require_at_least(what, value, 1)
    check_buildable(leaves * (hosts + 1) + spines, 2 * leaves * (hosts + spines))
    uplink = Fraction(50 * hosts * under, over * spines)
    nodes, switches, links = [], [f"leaf{leaf}" for leaf in range(leaves)], []
    for leaf in switches:
        for host in range(hosts):
            nodes.append(f"{leaf}/host{host}")
            links += duplex(nodes[-1], leaf, 50, "host")
        for spine in range(spines):
            links += duplex(leaf, f"spine{spine}", uplink, "spine")
    switches += [f"spine{spine}" for spine in range(spines)]
    ratio = "" if (over, under) == (1, 1) else f",{over}" if under == 1 else f",{over},{under}"
    return make_fabric(f"fat_tree({leaves},{hosts},{spines}{ratio})", nodes, switches, links)


def dragonfly(groups: int, routers: int, hosts: int) -> Fabric:
    """Dragonfly of fully connected groups of routers; all links 25 GB/s.

    Every router has ``hosts`` hosts; links of 200 Gb/s.

    Every two groups have one global link. That of group i to the group d further on (modulo ``groups``) is at router
    (d - 1) mod ``routers``, so that routers have as equal a number as can be.

    References
    ----------
    Kim, Dally, Scott, Abts, Technology-Driven, Highly-Scalable Dragonfly Topology (2008).
    """
    for what, value in (("groups", groups), ("routers", routers), ("hosts", hosts)):
        require_at_least(what, value, 1)
    check_buildable(groups * routers * (hosts + 1), groups * (groups + routers * (routers + 2 * hosts)))
    nodes, switches, links = [], [], []
    for group in range(groups):
        for router in range(routers):
            switches.append(f"group{group}/router{router}")
            for host in range(hosts):
                nodes.append(f"group{group}/host{router * hosts + host}")
                links += duplex(nodes[-1], switches[-1], 25, "host")
            for other in range(router):
                links += duplex(f"group{group}/router{other}", switches[-1], 25, "local")
        for other in range(group):
            ends = (group, (other - group) % groups), (other, (group - other) % groups)
            a, b = (f"group{g}/router{(step - 1) % routers}" for g, step in ends)
            links += duplex(a, b, 25, "global")
    return make_fabric(f"dragonfly({groups},{routers},{hosts})", nodes, switches, links)


FABRICS: dict[str, Callable[..., Fabric]] = {
    generator.__name__: generator
    for generator in (
        dgx_a100,
        dgx_a100_rails,
        dgx_a100_pcie,
        dgx_a100_links,
        dgx_h100,
        dgx_h200,
        dgx_b200,
        dgx_b300,
        dgx1_v100,
        mi250,
        pods.gb200_nvl72,
        pods.gb300_nvl72,
        mi300x,
        pods.mi325x,
        pods.mi350x,
        pods.mi355x,
        pods.gaudi3,
        pods.trn2,
        pods.trn2_ultra,
        pods.pcie_box,
        pods.pcie_pair,
        tpu_torus,
        pods.tpu_v4,
        pods.tpu_v5p,
        pods.tpu_v7,
        pods.tpu_v5e,
        pods.tpu_v6e,
        pods.ualink_pod,
        pods.sue_pod,
        rail_optimised,
        pods.rail_spine,
        fat_tree,
        pods.fat_tree3,
        dragonfly,
        pods.dragonfly_plus,
        boxes,
    )
}
"""Every generator by its name in a spec."""


def _parse_boxes(spec: Spec, text: str) -> BoxSpec:
    """Parse a spec of boxes; errors point at the argument at fault."""
    call = call_signature(boxes)
    if len(spec.args) < 2 or not all(isinstance(one, Spec) == (at < 2) for at, one in enumerate(spec.args)):
        raise SpecError(f"write {call}: a preset without the number of boxes, a topology, and integers", text, 0)
    box, graph, *numbers = spec.args
    if isinstance(box, int) or isinstance(graph, int) or not all(isinstance(one, int) for one in numbers):
        raise SpecError(f"write {call}", text, 0)
    try:
        found = get_box(box)
    except (ParameterError, TopologyError) as error:
        raise SpecError(str(error), text, box.position) from None
    place = graph.position
    try:
        built = build(graph)
    except SpecError as error:
        raise SpecError(error.message, text, place + error.position) from None
    split, shift, *swaps = [one for one in numbers if isinstance(one, int)] + [1, 0][len(numbers) :]
    return BoxSpec(found, built, split, shift, tuple(swaps))


def _pcie_boxes(name: str, boxes: int, *, nvlink: int) -> Fabric:
    """Return boxes of 8 GPUs with four PCIe switches and host memory each."""
    check_boxes(boxes, 8)
    outer = rails(8) if boxes > 1 else ()
    links: list[FabricLink] = []
    switches: list[str] = []
    memory = [f"box{box}/memory" for box in range(boxes)]
    for box in range(boxes):
        switches += [f"box{box}/nvswitch"] if nvlink else []
        for gpu in range(8):
            links += duplex(f"box{box}/gpu{gpu}", f"box{box}/nvswitch", nvlink, "NVLink") if nvlink else []
            links += duplex(f"box{box}/gpu{gpu}", f"box{box}/pcie{gpu // 2}", 32, "PCIe")
        for pcie in range(4):
            switches.append(f"box{box}/pcie{pcie}")
            links += duplex(switches[-1], memory[box], 32, "memory")
            for rail in outer[2 * pcie : 2 * pcie + 2]:
                links += duplex(switches[-1], rail, 25, "InfiniBand")
    return make_fabric(name, members(boxes, 8, "gpu"), [*switches, *memory, *outer], links, memory=memory)

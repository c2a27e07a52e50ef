"""What tools of machines would print of machines that are made here; formats as their documentation shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


def nvidia_matrix(
    gpus: int, cards: Sequence[str], cell: Callable[[str, str], str], numa: Mapping[str, int] | None = None
) -> str:
    """The text of ``nvidia-smi topo -m``; ``cell`` takes names such as GPU0 and NIC1."""
    devices = [f"GPU{one}" for one in range(gpus)] + [f"NIC{one}" for one in range(len(cards))]
    lines = ["\t".join(["", *devices, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for a in devices:
        cells = [" X " if a == b else cell(a, b) for b in devices]
        tail = ["0-55", str(numa.get(a, 0)), "N/A"] if numa is not None and a.startswith("GPU") else []
        lines.append("\t".join([a, *cells, *tail]))
    legend = [f"  NIC{number}: {name}" for number, name in enumerate(cards)]
    return "\n".join([*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", *legend, ""])


def dgx_matrix(links: str = "NV18") -> str:
    """Eight GPUs on a switch, pairs of them on PCIe switches with a card each, two processors."""

    def cell(a: str, b: str) -> str:
        if a[:3] == b[:3] == "GPU":
            return links
        one, other = int(a[3:]), int(b[3:])
        return (
            "PIX" if one == other else "PXB" if one // 2 == other // 2 else "NODE" if one // 4 == other // 4 else "SYS"
        )

    numa = {f"GPU{one}": one // 4 for one in range(8)}
    return nvidia_matrix(8, [f"mlx5_{one}" for one in range(8)], cell, numa)


def rocm_text(gpus: int, joined: Callable[[int, int], bool], numa: Sequence[int]) -> str:
    """The text of ``rocm-smi --showtopo``, in which joined pairs have a link and the others PCIe."""

    def table(title: str, cell: Callable[[int, int], str]) -> list[str]:
        head = "       " + "".join(f"GPU{one:<10}" for one in range(gpus))
        rows = [
            f"GPU{a}   " + "".join(f"{'0' if a == b else cell(a, b):<13}" for b in range(gpus)) for a in range(gpus)
        ]
        return [f"{' ' + title + ' ':=^80}", head, *rows, ""]

    lines = [f"{' ROCm System Management Interface ':=^80}"]
    lines += table("Weight between two GPUs", lambda a, b: "15" if joined(a, b) else "72")
    lines += table("Hops between two GPUs", lambda a, b: "1" if joined(a, b) else "3")
    lines += table("Link Type between two GPUs", lambda a, b: "XGMI" if joined(a, b) else "PCIE")
    lines += [f"{' Numa Nodes ':=^80}"]
    for gpu, place in enumerate(numa):
        lines += [
            f"GPU[{gpu}]\t\t: (Topology) Numa Node: {place}",
            f"GPU[{gpu}]\t\t: (Topology) Numa Affinity: {place}",
        ]
    return "\n".join([*lines, f"{' End of ROCm SMI Log ':=^80}", ""])


def nccl_text(sm: int, switched: bool) -> str:
    """A file of NCCL: two processors, two PCIe switches on each, with a GPU and a card each."""
    lines = ['<system version="1">']
    targets = [f"0000:{10 + one}:00.0" for one in range(4)]
    for cpu in range(2):
        lines.append(f'  <cpu numaid="{cpu}" affinity="00000000,ffffffff" arch="x86_64" vendor="GenuineIntel">')
        for at in range(2):
            gpu = 2 * cpu + at
            lines.append(
                f'    <pci busid="0000:0{gpu}:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">'
            )
            lines.append(
                f'      <pci busid="{targets[gpu]}" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">'
            )
            lines.append(f'        <gpu dev="{gpu}" sm="{sm}" rank="{gpu}" gdr="1">')
            if switched:
                lines += [
                    f'<nvlink target="0000:f{one}:00.0" count="{4 + one % 2}" tclass="0x068000"/>' for one in range(4)
                ]
            else:
                lines += [
                    f'<nvlink target="{targets[other]}" count="{1 + (gpu + other) % 2}" tclass="0x030200"/>'
                    for other in range(4)
                    if other != gpu
                ]
            lines += ["        </gpu>", "      </pci>"]
            lines.append(f'      <pci busid="0000:2{gpu}:00.0" class="0x020700" link_speed="32.0 GT/s" link_width="8">')
            lines.append(f'        <nic><net name="mlx5_{gpu}" dev="{gpu}" speed="400000" port="1"/></nic>')
            lines += ["      </pci>", "    </pci>"]
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>", ""])


def lstopo_text(gpus: int = 4) -> str:
    """XML of hwloc 2: a package with a PCIe switch for two accelerators and a card each, and what joins them."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
        '<topology version="2.0">',
        (
            '  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3"'
            ' nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">'
        ),
        (
            '    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"'
            ' complete_nodeset="0x1" gp_index="2" local_memory="1073741824"/>'
        ),
        (
            '    <object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1"'
            ' complete_nodeset="0x1" gp_index="3">'
        ),
        (
            '      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1"'
            ' complete_nodeset="0x1" gp_index="4"/>'
        ),
        (
            '      <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1"'
            ' complete_nodeset="0x1" gp_index="5"/>'
        ),
        '      <object type="Bridge" gp_index="6" bridge_type="0-1" depth="0" bridge_pci="0000:[00-40]">',
    ]
    for pair in range(gpus // 2):
        base = 100 * (pair + 1)
        bus = 16 * (pair + 1)
        lines.append(
            f'        <object type="Bridge" gp_index="{base}" bridge_type="1-1" depth="1"'
            f' bridge_pci="0000:[{bus:02x}-{bus + 8:02x}]" pci_busid="0000:00:0{pair + 1}.0"'
            ' pci_type="0604 [1000:c010] [1000:100b] b0" pci_link_speed="31.507692">'
        )
        for at in range(2):
            mark = base + 10 * at
            lines += [
                (
                    f'          <object type="PCIDev" gp_index="{mark + 1}" pci_busid="0000:{bus + at:02x}:00.0"'
                    ' pci_type="0302 [10de:20b0] [10de:134f] a1" pci_link_speed="31.507692">'
                ),
                f'            <object type="OSDev" gp_index="{mark + 2}" name="nvml{2 * pair + at}" osdev_type="1"/>',
                "          </object>",
            ]
        lines += [
            (
                f'          <object type="PCIDev" gp_index="{base + 30}" pci_busid="0000:{bus + 3:02x}:00.0"'
                ' pci_type="0207 [15b3:101b] [15b3:0007] 00" pci_link_speed="31.507692">'
            ),
            f'            <object type="OSDev" gp_index="{base + 31}" name="ib{pair}" osdev_type="2"/>',
            f'            <object type="OSDev" gp_index="{base + 32}" name="mlx5_{pair}" osdev_type="3"/>',
            "          </object>",
            "        </object>",
        ]
    lines += ["      </object>", "    </object>", "  </object>"]
    marks = [100 * (gpu // 2 + 1) + 10 * (gpu % 2) + 2 for gpu in range(gpus)]
    values = ["1555000" if a == b else "50000" for a in range(gpus) for b in range(gpus)]
    names = " ".join(f"OSDev:{mark}" for mark in marks)
    lines += [
        f'  <distances2hetero nbobjs="{gpus}" kind="9" name="NVLinkBandwidth">',
        f'    <indexes length="{len(names)}">{names}</indexes>',
        f'    <u64values length="{len(" ".join(values))}">{" ".join(values)}</u64values>',
        "  </distances2hetero>",
        "</topology>",
        "",
    ]
    return "\n".join(lines)

"""Machines as tools describe them, with the rate of an allgather worked out by hand: data over time of the fullest cut.

Of N accelerators a cut that K shards have to cross at R GB/s lets an allgather run at R / (K / N) GB/s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.fabrics.machines.texts import dgx_matrix, lstopo_text, nvidia_matrix, rocm_text
from topodesign.fabrics.machines.outputs import fabric_of_machine
from topodesign.optima.optimum import optimum

GB = 10**9


def bus(gpu: int) -> str:
    return f"0000:{gpu + 16:02x}:00.0"


def gpu(
    number: int,
    links: Mapping[str, int] | None = None,
    *,
    sm: int = 80,
    classes: str = "0x030200",
    speed: str = "16.0 GT/s PCIe",
    width: int = 16,
    at: str = "",
    rank: int | None = None,
) -> str:
    """A GPU behind its PCIe, with NVLinks to what has a bus number."""
    lines = "".join(f'<nvlink target="{to}" count="{many}" tclass="{classes}"/>' for to, many in (links or {}).items())
    return (
        f'<pci busid="{at or bus(number)}" class="0x030200" link_speed="{speed}" link_width="{width}">'
        f'<gpu dev="{number}" sm="{sm}" rank="{number if rank is None else rank}">{lines}</gpu></pci>'
    )


def card(number: int, ports: int = 1, mbits: int = 100_000, speed: str = "16.0 GT/s PCIe", width: int = 16) -> str:
    nets = "".join(f'<net name="mlx5_{number + port}" dev="{port}" speed="{mbits}"/>' for port in range(ports))
    head = f'<pci busid="0000:a{number}:00.0" class="0x020700" link_speed="{speed}" link_width="{width}">'
    return f"{head}<nic>{nets}</nic></pci>"


def system(*cpus: str, hosts: tuple[str, ...] = ()) -> str:
    def of(place: int) -> str:
        return f' host_hash="{hosts[place]}"' if hosts else ""

    return "<system>" + "".join(f'<cpu numaid="{n}"{of(n)}>{one}</cpu>' for n, one in enumerate(cpus)) + "</system>"


def mesh(count: int, links: int, sm: int = 80) -> str:
    """GPUs on one processor, each with so many NVLinks to each other."""
    return "".join(gpu(a, {bus(b): links for b in range(count) if b != a}, sm=sm) for a in range(count))


def on_switch(count: int, links: int, sm: int) -> str:
    return "".join(gpu(a, {"ffff:ff:ff.f": links}, sm=sm, classes="0x068000") for a in range(count))


def power(a: int, other: int, cpu_links: int = 3) -> str:
    both = gpu(a, {bus(other): 3}, sm=70, speed="8 GT/s", width=2)
    to_cpu = f'<nvlink target="0004:00:00.0" count="{cpu_links}" tclass="0x068001"/></gpu>'
    return both.replace("</gpu>", to_cpu)


def amd(gpus: int, weight: Callable[[int, int], int], rate: str = "N/A", first: int = 0) -> str:
    """``amd-smi topology``: tables whose devices are bus numbers."""
    names = [f"0000:{16 + first + one:02x}:00.0" for one in range(gpus)]

    def table(title: str, cell: Callable[[int, int], object]) -> str:
        rows = [" ".join([names[a], *(str(cell(a, b)) for b in range(gpus))]) for a in range(gpus)]
        return "\n".join([f"{title} TABLE:", "  ".join(["", *names]), *rows, "", ""])

    return (
        table("ACCESS", lambda *_: "ENABLED")
        + table("WEIGHT", lambda a, b: 0 if a == b else weight(a, b))
        + table("LINK TYPE", lambda a, b: "SELF" if a == b else "XGMI")
        + table("NUMA BW", lambda a, b: "N/A" if a == b else rate)
    )


def rocm(gpus: int, weight: Callable[[int, int], int], first: int = 0) -> str:
    """``rocm-smi --showtopo`` of XGMI alone, whose GPUs begin at any number."""
    names = [f"GPU{first + one}" for one in range(gpus)]

    def table(title: str, cell: Callable[[int, int], object]) -> str:
        rows = [" ".join([names[a], *(str(cell(a, b)) for b in range(gpus))]) for a in range(gpus)]
        return "\n".join([f"==== {title} ====", "  ".join(["", *names]), *rows, "", ""])

    return table("Weight between two GPUs", lambda a, b: 0 if a == b else weight(a, b)) + table(
        "Link Type between two GPUs", lambda a, b: 0 if a == b else "XGMI"
    )


def cells(direct: Mapping[frozenset[int], str], other: str) -> Callable[[str, str], str]:
    return lambda a, b: direct.get(frozenset((int(a[3:]), int(b[3:]))), other) if a[:3] == b[:3] == "GPU" else "SYS"


RING = {frozenset((one, (one + 1) % 4)): "NV2" for one in range(4)}

SHAPES: dict[str, tuple[str, str, dict[str, Any], Fraction | int]] = {
    # NCCL, NVLink between GPUs: one GPU receives 3 of 4 shards over 3 peers with 4 links of 25: 300 / (3/4)
    "sm80, four, 4 links a pair": ("nccl-topo", system(mesh(4, 4)), {}, 400),
    # 1 of 2 shards over 12 links of 25
    "sm80, a pair, 12 links": ("nccl-topo", system(mesh(2, 12)), {}, 600),
    # 1 of 2 over 4 of 14.0625
    "sm86, a pair, 4 links": ("nccl-topo", system(mesh(2, 4, 86)), {}, Fraction(225, 2)),
    # 1 of 2 over 4 of 20 (P100)
    "sm60, a pair, 4 links": ("nccl-topo", system(mesh(2, 4, 60)), {}, 160),
    # 3 of 4 over 6 links of 25 each: two to each peer
    "sm70, four, 2 links a pair": ("nccl-topo", system(mesh(4, 2, 70)), {}, 200),
    # a generation that is not known: 25 GB/s are assumed, and said
    "sm99, a pair, 2 links": ("nccl-topo", system(mesh(2, 2, 99)), {}, 100),
    # switches: 7 of 8 shards over 18 links of 25
    "sm90, eight on a switch": ("nccl-topo", system(on_switch(8, 18, 90)), {}, Fraction(450 * 8, 7)),
    # over 18 links of 50
    "sm100, eight on a switch": ("nccl-topo", system(on_switch(8, 18, 100)), {}, Fraction(900 * 8, 7)),
    # over 12 links of 25
    "sm80, eight on a switch": ("nccl-topo", system(on_switch(8, 12, 80)), {}, Fraction(300 * 8, 7)),
    # two lines to one peer add up: 2 + 2 links of 25, 1 of 2 shards
    "two lines to one peer": (
        "nccl-topo",
        system(
            "".join(
                gpu(a, {bus(1 - a): 2}).replace(
                    "</gpu>", f'<nvlink target="{bus(1 - a)}" count="2" tclass="0x030200"/></gpu>'
                )
                for a in range(2)
            )
        ),
        {},
        200,
    ),
    # hexadecimal in any case, and with a longer domain: 4 links of 25
    "bus numbers in capitals": (
        "nccl-topo",
        system(gpu(0, {"00000000:1B:00.0": 4}, at="0000:1a:00.0") + gpu(1, {"0000:1A:00.0": 4}, at="0000:1b:00.0")),
        {},
        200,
    ),
    # POWER: pairs by 3 links, 3 links to the processor; 2 of 4 shards over 67.2 between processors
    "POWER, two processors": (
        "nccl-topo",
        system(power(0, 1) + power(1, 0), power(2, 3) + power(3, 2)),
        {},
        Fraction(672, 5),
    ),
    # processors at 200: now 3 of 4 shards into a GPU by 75 from its peer and 75 + 2 from its processor: 152 / (3/4);
    # the cut of a socket would be 200 / (2/4) = 400, and the peers' own cut: 2 GPUs take 2 of 4 over 154: 308
    "POWER, fast between processors": (
        "nccl-topo",
        system(power(0, 1) + power(1, 0), power(2, 3) + power(3, 2)),
        {"sockets": "200GB/s"},
        Fraction(152 * 4, 3),
    ),
    # one processor, GPUs joined by it alone: 1 of 2 shards over 3 links of 25
    "POWER, by the processor": (
        "nccl-topo",
        system("".join(gpu(a, {"0004:00:00.0": 3}, sm=70, classes="0x068001") for a in range(2))),
        {"with_pcie": False},
        150,
    ),
    # PCIe alone, each GPU on its own root port, 16 GT/s x 16 / 8 = 32: 1 of 2
    "PCIe 4, a pair": ("nccl-topo", system(gpu(0) + gpu(1)), {}, 64),
    # 8 GT/s x 16 / 8 = 16
    "PCIe 3, a pair": ("nccl-topo", system("".join(gpu(a, speed="8.0 GT/s PCIe") for a in range(2))), {}, 32),
    # 2.5 GT/s x 4 / 8 = 1.25
    "PCIe 1, four lanes": (
        "nccl-topo",
        system("".join(gpu(a, speed="2.5 GT/s PCIe", width=4) for a in range(2))),
        {},
        Fraction(5, 2),
    ),
    # 32 GT/s x 16 / 8 = 64
    "PCIe 5, a pair": ("nccl-topo", system("".join(gpu(a, speed="32.0 GT/s PCIe") for a in range(2))), {}, 128),
    # one on each processor, at 20 between them: 1 of 2
    "two sockets, slow between": ("nccl-topo", system(gpu(0), gpu(1)), {"sockets": "20GB/s"}, 40),
    # clouds' files: no <gpu>; 3 of 4 shards into a GPU over 32
    "a cloud's file": (
        "nccl-topo",
        system(
            "".join(f'<pci busid="{bus(a)}" class="0x030200" link_speed="16 GT/s" link_width="16"/>' for a in range(4))
        ),
        {},
        Fraction(128, 3),
    ),
    # a domain of two hosts with the same bus and device numbers: 7 of 8 shards over 900
    "two hosts on one switch": (
        "nccl-topo",
        system(
            *(
                "".join(gpu(n, {"ff:ff": 18}, sm=100, classes="0x068000", rank=4 * h + n) for n in range(4))
                for h in (0, 1)
            ),
            hosts=("0xa0", "0xa1"),
        ),
        {},
        Fraction(7200, 7),
    ),
    # boxes of two: 2 of 4 shards out of a box by two cards of 12.5
    "two boxes, two cards": ("nccl-topo", system(mesh(2, 12) + card(0) + card(1)), {"boxes": 2}, 50),
    # two ports of one card on PCIe 8 GT/s x 8 / 8 = 8: 2 of 4
    "two ports on a narrow card": (
        "nccl-topo",
        system(mesh(2, 12) + card(0, 2, speed="8.0 GT/s PCIe", width=8)),
        {"boxes": 2},
        16,
    ),
    # the same with PCIe in the fabric, where the card is a vertex of its own
    "the same with PCIe": (
        "nccl-topo",
        system(mesh(2, 12) + card(0, 2, speed="8.0 GT/s PCIe", width=8)),
        {"boxes": 2, "with_pcie": True},
        16,
    ),
    # one port of 12.5 behind 2.5 GT/s x 8 / 8 = 2.5: 2 of 4
    "a port behind PCIe 1": (
        "nccl-topo",
        system(mesh(2, 12) + card(0, 1, speed="2.5 GT/s PCIe", width=8)),
        {"boxes": 2},
        5,
    ),
    # nvidia-smi: eight GPUs with NV18 to all are on a switch: 18 links of 25 (assumed), 7 of 8
    "nvidia-smi, NV18": ("nvidia-smi-topo", dgx_matrix(), {}, Fraction(450 * 8, 7)),
    # NV18 of a B200 is 50 a link, as --link says
    "nvidia-smi, NV18 of 50": ("nvidia-smi-topo", dgx_matrix(), {"link": "50GB/s"}, Fraction(900 * 8, 7)),
    # a ring of four with NV2: into one GPU 2 x 50 for 3 of 4; into two that are next 2 x 50 for 2 of 4: less
    "nvidia-smi, a ring": (
        "nvidia-smi-topo",
        nvidia_matrix(4, [], cells(RING, "SYS")),
        {"with_pcie": False},
        Fraction(400, 3),
    ),
    # rocm-smi: XGMI of weight 15 between all four, 64 a link: 3 of 4 over 192
    "rocm-smi, four": ("rocm-smi-topo", rocm_text(4, lambda *_: True, [0] * 4), {"link": "64GB/s"}, 256),
    # CPX: weights 13 and 41 are a hop, too
    "rocm-smi, CPX": ("rocm-smi-topo", rocm(4, lambda a, b: 13 if a // 2 == b // 2 else 41), {"link": "64GB/s"}, 256),
    # two dies a chip: 13 within, 15 on a ring of chips, else over others: 0-1 2-3 and 1-2 3-0: a ring
    "rocm-smi, two dies a chip": (
        "rocm-smi-topo",
        rocm(4, lambda a, b: 13 if a // 2 == b // 2 else 15 if {a, b} in ({1, 2}, {3, 0}) else 30),
        {"link": "50GB/s"},
        Fraction(400, 3),
    ),
    # a table that begins at GPU8
    "rocm-smi from GPU8": ("rocm-smi-topo", rocm(2, lambda *_: 15, first=8), {"link": "64GB/s"}, 128),
    # amd-smi says 50000 MB/s a pair: 1 of 2
    "amd-smi, a pair": ("rocm-smi-topo", amd(2, lambda *_: 15, "50000-50000"), {}, 100),
    # eight MI300X: 7 peers of 64 for 7 of 8
    "amd-smi, eight": ("rocm-smi-topo", amd(8, lambda *_: 15), {"link": "64GB/s"}, 512),
    # hwloc says 50 GB/s from each GPU to each: 3 of 4 over 150
    "lstopo, four": ("lstopo", lstopo_text(), {}, 200),
}


@pytest.mark.parametrize("name", SHAPES)
def test_rates_worked_out_by_hand(name: str, tmp_path: Path) -> None:
    tool, text, options, rate = SHAPES[name]
    path = tmp_path / "it.txt"
    path.write_text(text)
    fabric, _ = fabric_of_machine(path, tool=tool, **options)  # type: ignore[arg-type]
    assert optimum(fabric).bandwidth == rate * GB


def test_what_is_taken_for_granted_is_said_with_its_source(tmp_path: Path) -> None:
    def said(text: str, tool: Any, **options: Any) -> str:
        path = tmp_path / "it.txt"
        path.write_text(text)
        return " ".join(fabric_of_machine(path, tool=tool, **options).assumed)

    assert "by data sheets of V100" in said(dgx_matrix(), "nvidia-smi-topo")
    assert "is assumed (three UPI links" in said(system(gpu(0), gpu(1)), "nccl-topo")
    types = rocm(4, lambda *_: 15).partition("==== Link")
    assert "every pair of type XGMI" in said("".join(types[1:]), "rocm-smi-topo", link="64GB/s")
    far = rocm(4, lambda a, b: 15 if a // 2 == b // 2 or a % 2 == b % 2 else 30)
    assert "2 pairs with XGMI of weight 30" in said(far, "rocm-smi-topo", link="64GB/s")
    assert "NUMA BW TABLE" in said(amd(2, lambda *_: 15, "50000-64000"), "rocm-smi-topo")
    vendor = '<pci busid="{}" class="0x030200" link_speed="16 GT/s" link_width="16"/>'
    assert "no <gpu> is in the file" in said(system(vendor.format(bus(0)) + vendor.format(bus(1))), "nccl-topo")
    narrow = system(mesh(2, 12) + card(0, 2, speed="8.0 GT/s PCIe", width=8))
    assert "as its PCIe does, shared by 2 ports" in said(narrow, "nccl-topo", boxes=2)

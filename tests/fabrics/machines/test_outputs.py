"""From a tool's output to a fabric."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fabrics.machines.texts import dgx_matrix, lstopo_text, nccl_text, rocm_text
from topodesign import build_fabric, fabric_of_machine, optimum
from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.fabrics.machines import hwloc, rocm_smi
from topodesign.fabrics.machines.matrices import rows_of, table_at, tree_of
from topodesign.fabrics.machines.rocm_smi import read
from topodesign.fabrics.machines.xml import number_of, parse_xml
from topodesign.fabrics.options import MachineTool

TEXTS: dict[MachineTool, str] = {
    "nvidia-smi-topo": dgx_matrix(),
    "nccl-topo": nccl_text(90, switched=True),
    "rocm-smi-topo": rocm_text(8, lambda *_: True, [0] * 8),
    "lstopo": lstopo_text(),
}


@pytest.mark.parametrize("tool", TEXTS)
def test_every_tool_makes_a_fabric(tool: MachineTool, tmp_path: Path) -> None:
    path = tmp_path / "box 1.txt"
    path.write_text(TEXTS[tool])
    made = fabric_of_machine(path, tool=tool, link="64GB/s")
    assert made.fabric.name == "box_1"
    assert optimum(made.fabric).record()


@pytest.mark.parametrize("tool", TEXTS)
def test_no_tool_takes_another_ones_output(tool: MachineTool, tmp_path: Path) -> None:
    path = tmp_path / "topo"
    for other, text in TEXTS.items():
        if other != tool and {other, tool} != {"nvidia-smi-topo", "rocm-smi-topo"}:
            path.write_text(text)
            with pytest.raises(FileFormatError, match="topo"):
                fabric_of_machine(path, tool=tool)


def test_a_box_of_eight_is_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "dgx.txt"
    path.write_text(dgx_matrix())
    made = fabric_of_machine(path, tool="nvidia-smi-topo", boxes=2, nic="400Gbps", link="25GB/s")
    assert not made.assumed
    assert optimum(made.fabric).record()["collectives"] == optimum(build_fabric("dgx_h100(2)")).record()["collectives"]


def test_chosen_cards(tmp_path: Path) -> None:
    path = tmp_path / "dgx.txt"
    path.write_text(dgx_matrix())
    made = fabric_of_machine(path, tool="nvidia-smi-topo", boxes=2, nic="400Gbps", nics="mlx5_[01], mlx5_4")
    assert [name for name in made.fabric.names if name.startswith("rail")] == ["rail0", "rail1", "rail2"]
    with pytest.raises(ParameterError, match=r"no network card is called 'mlx4_0'; did you mean"):
        fabric_of_machine(path, tool="nvidia-smi-topo", nics="mlx4_0")


def test_what_is_to_be_said(tmp_path: Path) -> None:
    path = tmp_path / "dgx.txt"
    path.write_text(dgx_matrix())
    with pytest.raises(ParameterError, match="tool is to be one of nvidia-smi-topo"):
        fabric_of_machine(path)
    with pytest.raises(UnitError, match="above zero"):
        fabric_of_machine(path, tool="nvidia-smi-topo", link=0)
    with pytest.raises(FileFormatError, match="nowhere"):
        fabric_of_machine(tmp_path / "nowhere", tool="lstopo")


# -- XML of tools


def test_roots_and_numbers() -> None:
    root = parse_xml('<a n="3"><!-- x --></a>', "a", "a tool")
    assert (number_of(root, "n"), number_of(root, "m", 7), len(root)) == (3, 7, 0)
    for name in ("m", "n"):
        root.set("n", "three")
        with pytest.raises(FileFormatError, match="whole number"):
            number_of(root, name)


@pytest.mark.parametrize("text", ["", "<b/>", "<a>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "\0"])
def test_what_is_no_such_document(text: str) -> None:
    with pytest.raises(FileFormatError):
        parse_xml(text, "a", "a tool")


# -- Numbers of thousands of digits in dumps of machines are refused in one line


HUGE = "9" * 5000
HWLOC = (
    '<topology version="2.0"><object type="Machine"></object><distances2 type="OSDev" nbobjs="1" kind="1" '
    f'name="NVLinkBandwidth" indexing="gp"><indexes>1</indexes><u64values>{HUGE}</u64values></distances2></topology>'
)


def test_weights_of_rocm_smi() -> None:
    links = "GPU0 GPU1\nGPU0 0 XGMI\nGPU1 XGMI 0\n"
    weights = f"GPU0 GPU1\nGPU0 0 {HUGE}\nGPU1 {HUGE} 0\n"
    bar = "=" * 12
    text = f"{bar} Weight between two GPUs {bar}\n{weights}\n{bar} Link Type between two GPUs {bar}\n{links}\n"
    with pytest.raises(FileFormatError, match="is not a number"):
        rocm_smi.read(text)


def test_bandwidths_of_hwloc() -> None:
    with pytest.raises(FileFormatError) as refused:
        hwloc.read(HWLOC)
    assert str(refused.value) == "NVLinkBandwidth is to have 1 objects and 1x1 numbers"


# -- What ``rocm-smi --showtopo`` prints


HALVES = rocm_text(8, lambda a, b: a // 4 == b // 4, [0, 0, 0, 0, 1, 1, 1, 1])


def test_two_halves() -> None:
    machine = read(HALVES)
    assert set(machine.direct) == {(f"gpu{a}", f"gpu{b}") for b in range(8) for a in range(b) if a // 4 == b // 4}
    assert not machine.joined
    assert [machine.way_up(f"gpu{one}")[-1] for one in range(8)] == ["cpu0"] * 4 + ["cpu1"] * 4


def test_a_longer_way_over_other_gpus_is_no_link() -> None:
    machine = read(HALVES.replace("PCIE", "XGMI"))  # weight 72
    assert machine.direct == read(HALVES).direct


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("GPU0 GPU1", "no table of the link types"),
        (HALVES.replace("XGMI", "IF"), "which rocm-smi does not print"),
        (HALVES.replace("15 ", "x  "), "is not a number"),
    ],
)
def test_bad_texts(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(text)


# -- Tables of pairs: a tree is found again from how far its leaves are from each other


PLACES = st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=2, max_size=9)


@given(PLACES)
def test_a_tree_is_found_again(places: list[tuple[int, ...]]) -> None:
    """Devices have addresses of four digits; the first that differs says how far two are."""
    names = [f"d{one}" for one in range(len(places))]

    def far(a: int, b: int) -> int:
        return next((4 - digit for digit in range(4) if places[a][digit] != places[b][digit]), 0)

    near = {
        (names[a], names[b]): far(a, b)
        for a in range(len(names))
        for b in range(len(names))
        if a != b and far(a, b) < 4
    }
    above = tree_of(names, near, 3)

    def way(name: str) -> list[str]:
        found = [name]
        while found[-1] in above:
            found.append(above[found[-1]][0])
        return found

    for a, name in enumerate(names):
        assert way(name)[-1].startswith("cpu")
        for b, other in enumerate(names[:a]):
            meet = next((one for one in way(name) if one in way(other)), None)
            kinds = {0: "pcie", 1: "bridge", 2: "host", 3: "cpu"}
            assert (meet is None) == (far(a, b) == 4)
            assert meet is None or meet.startswith(kinds[far(a, b)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A0 A1\nA0 x", "2 cells are expected, not 1"),
        ("A0 b A1\nA0 x y z", "side by side"),
        ("A0 A0\nA0 x y", "different names"),
        ("A0 A1\nA0 x y\nA0 x y", "A0 is there twice"),
        ("A0 A1\nA0 x y", "A1 has a column and no row"),
        ("b\n", "columns of devices"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        table_at(rows_of(text), 0, lambda word: word.startswith("A"))


def test_headings_of_terminals_are_read() -> None:
    rows = rows_of("\x1b[4mA0\tA1\x1b[0m\nA0 x y\nA1 y x\n")
    assert table_at(rows, 0, lambda word: word.startswith("A"))["A0", "A1"] == "y"

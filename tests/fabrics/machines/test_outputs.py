"""From a tool's output to a fabric."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fabrics.machines.texts import dgx_matrix, lstopo_text, nccl_text, rocm_text
from topodesign import build_fabric, fabric_of_machine, optimum
from topodesign.base.errors import FileFormatError, ParameterError, UnitError
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

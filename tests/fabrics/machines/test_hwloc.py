"""XML that ``lstopo`` writes; ``lstopo`` itself reads the sample where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from tests.fabrics.machines.texts import lstopo_text
from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.hwloc import read

LSTOPO = shutil.which("lstopo-no-graphics")


def test_links_and_tree() -> None:
    machine = read(lstopo_text())
    assert machine.direct == {(f"gpu{a}", f"gpu{b}"): (1, Fraction(50)) for b in range(4) for a in range(b)}
    assert [machine.way_up(f"gpu{one}")[1:] for one in range(4)] == [["pcie0", "cpu0"]] * 2 + [["pcie1", "cpu0"]] * 2
    assert list(machine.nics) == ["mlx5_0", "mlx5_1"]
    assert machine.above["mlx5_1"][0] == "pcie1"


def test_ports_of_switches_add_up() -> None:
    text = lstopo_text()
    for mark in ("210", "212"):  # the last GPU becomes a switch of two
        text = text.replace(f'gp_index="{mark}"', f'gp_index="{mark}" subtype="NVSwitch"')
    machine = read(
        text.replace("0302 [10de:20b0] [10de:134f] a1", "0680 [10de:22a3] [10de:1796] a1", 4).replace(
            "0680 [10de:22a3]", "0302 [10de:20b0]", 3
        )
    )
    assert machine.gpus == ("gpu0", "gpu1", "gpu2")
    assert machine.switched == {f"gpu{one}": (1, Fraction(50)) for one in range(3)}


def test_the_console_of_a_server_is_no_accelerator() -> None:
    text = lstopo_text().replace("0302 [10de:20b0]", "0300 [1a03:2000]", 1)
    assert len(read(text).gpus) == 3


@pytest.mark.skipif(LSTOPO is None, reason="hwloc is not installed")
def test_lstopo_reads_the_sample(tmp_path: Path) -> None:
    path = tmp_path / "sample.xml"
    path.write_text(lstopo_text())
    assert LSTOPO is not None
    done = subprocess.run([LSTOPO, "-i", path, "--of", "xml"], capture_output=True, text=True, check=True)
    assert read(done.stdout).direct == read(lstopo_text()).direct
    assert read(done.stdout).above == read(lstopo_text()).above


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('nbobjs="4"', 'nbobjs="5"', "is to have 5 objects"),
        ("<topology", "<!ENTITY a 'b'><topology", "entities"),
        ("</topology>", "", "not XML"),
        ("0302", "0604", "no accelerator"),
    ],
)
def test_bad_files(old: str, new: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(lstopo_text().replace(old, new))

"""Numbers of thousands of digits in dumps of machines are refused in one line."""

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines import hwloc, rocm_smi

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
    with pytest.raises(FileFormatError, match="is no number"):
        rocm_smi.read(text)


def test_bandwidths_of_hwloc() -> None:
    with pytest.raises(FileFormatError) as refused:
        hwloc.read(HWLOC)
    assert str(refused.value) == "NVLinkBandwidth is to have 1 objects and 1x1 numbers"

"""The training step: the recurrence against a loop, its laws, the sample workloads and errors in files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.cost import Cost
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.plans.time.workload import Layer, backpropagation, load_workload

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "configs"
ALPHA, BANDWIDTH = Fraction(1, 10**5), Fraction(10**11)
COST = Cost(5, Fraction(4, 3))

layer_lists = st.lists(
    st.builds(
        Layer,
        st.sampled_from("abc"),
        st.integers(1, 10**8).map(Fraction),
        st.fractions(0, 1, max_denominator=10**6),
    ),
    min_size=1,
    max_size=12,
)


@given(layer_lists)
def test_recurrence_and_laws(layers: list[Layer]) -> None:
    step = backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH)
    finish = Fraction(0)
    for layer in sorted(layers, key=lambda layer: layer.ready):
        finish = max(finish, layer.ready) + 2 * (ALPHA * 5 + Fraction(4, 3) * 8 * layer.size / BANDWIDTH)
    assert step.finish == finish
    assert step.compute == max(layer.ready for layer in layers)
    assert step.allreduce == sum(COST.allreduce(ALPHA, layer.size, BANDWIDTH) for layer in layers)
    assert 0 < step.exposed <= step.allreduce
    assert step.finish <= step.compute + step.allreduce
    assert str(step).startswith("training step ")
    slower = backpropagation(layers, replace(COST, steps=6), alpha=ALPHA, bandwidth=BANDWIDTH)
    assert slower.finish > step.finish


@given(layer_lists, st.integers(1, 2 * 10**8))
def test_buckets(layers: list[Layer], bucket: int) -> None:
    step = backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH, bucket=Fraction(bucket))
    fused = [times.layer for times in step.layers]
    assert sum(layer.size for layer in fused) == sum(layer.size for layer in layers)
    assert all(layer.size >= bucket for layer in fused[:-1])
    assert step.compute == max(layer.ready for layer in layers)
    single = backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH)
    assert step.allreduce == single.allreduce - 2 * ALPHA * 5 * (len(layers) - len(fused))
    everything = backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH, bucket=Fraction(10**12))
    assert len(everything.layers) == 1


def test_bucket_names() -> None:
    layers = [Layer(name, Fraction(10), Fraction(i)) for i, name in enumerate("abcd")]
    step = backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH, bucket=Fraction(30))
    assert [times.layer.name for times in step.layers] == ["a to c", "d"]


def test_bad_numbers() -> None:
    layer = Layer("a", Fraction(1), Fraction(0))
    for alpha, bandwidth, bucket in ((-1, 1, None), (0, 0, None), (0, 1, Fraction(0))):
        with pytest.raises(ParameterError, match="above zero"):
            backpropagation([layer], COST, alpha=Fraction(alpha), bandwidth=Fraction(bandwidth), bucket=bucket)
    with pytest.raises(ParameterError, match="at least one layer"):
        backpropagation([], COST, alpha=ALPHA, bandwidth=BANDWIDTH)


@pytest.mark.parametrize(
    ("name", "parameters", "gmacs"),
    # published totals: parameters, and billions of multiply-adds for one image or token
    [("resnet50", 25557032, (4.08, 4.12)), ("vgg16", 138357544, (15.4, 15.5)), ("gpt2", 124439808, (0.12, 0.15))],
)
def test_sample_workloads(name: str, parameters: int, gmacs: tuple[float, float]) -> None:
    path = CONFIGS / f"workload_{name}.csv"
    layers = load_workload(path)
    assert sum(layer.size for layer in layers) == 4 * parameters
    ready = [layer.ready for layer in layers]
    assert ready == sorted(ready)
    # forward and backward together take 6 operations for each multiply-add
    per_sample = float(ready[-1] * 60 * 10**12 / 6) / (8192 if name == "gpt2" else 64) / 1e9
    assert gmacs[0] < per_sample < gmacs[1]
    assert str(backpropagation(layers, COST, alpha=ALPHA, bandwidth=BANDWIDTH))


def test_sample_workloads_are_what_the_script_writes(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "make_workloads.py"
    subprocess.run([sys.executable, str(script), "--to", str(tmp_path)], check=True, capture_output=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(made) == 3
    assert made == {path.name: path.read_bytes() for path in CONFIGS.glob("workload_*.csv")}


def test_a_file_in_another_order(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text(
        '\ufeff# a comment\n\nready, note, size, layer\r\n12.5ms,x,1MiB,"conv, first"\n  # more\n0s,y,3B,b\n'
    )
    assert load_workload(path) == (
        Layer("conv, first", Fraction(2**20), Fraction(1, 80)),
        Layer("b", Fraction(3), Fraction(0)),
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "this is an empty file"),
        ("layer,size,ready\n", "has no layers"),
        ("# only\n", "has no layers"),
        ("layer,size\na,1B\n", "line 1: the first line names no column 'ready'"),
        ("layer,size,ready,size\n", "line 1: the first line names twice the column 'size'"),
        ("layer,size,ready\na,1B\n", "line 2: 2 cells, but the first line names 3 columns"),
        ("layer,size,ready\n\n#\na,12,1ms\n", "line 4, column 'size': size '12' has no unit"),
        ("layer,size,ready\na,0B,1ms\n", "line 2, column 'size': .*above zero"),
        ("layer,size,ready\na,1B,5\n", "line 2, column 'ready': time '5' has no unit"),
        ("layer,size,ready\na,1B,-5s\n", "line 2, column 'ready': .*negative"),
        ("layer,size,ready\n,1B,5s\n", "line 2, column 'layer': the name is missing"),
        ('layer,size,ready\n"a,1B,5s\n', "line 2: "),
        ('layer,size,ready\n"a"b,1B,5s\n', "line 2: "),
    ],
)
def test_bad_files(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=match) as caught:
        load_workload(path)
    assert "cannot read" not in str(caught.value)
    assert "w.csv" in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    with pytest.raises(FileFormatError, match=r"w\.csv: No such file"):
        load_workload(path)
    with pytest.raises(FileFormatError, match="this is a directory, not a list of layers"):
        load_workload(tmp_path)
    with pytest.raises(FileFormatError, match="not a file"):
        load_workload("a\0b")
    path.write_bytes(b"layer,size,ready\n\xff\xfe,1B,1s\n")
    with pytest.raises(FileFormatError, match="UTF-8"):
        load_workload(path)
    path.write_bytes(b"layer,size,ready\na\0b,1B,1s\n")
    try:
        load_workload(path)
    except FileFormatError as error:
        assert "line 2" in str(error)  # noqa: PT017  older readers refuse a null character

"""Pictures: complete files of every format, readable by their own readers, the same each time, and not blank."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree
from matplotlib import image

from topodesign import known_topologies, optimum, pareto, plot, schedule
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.report.figures import Picture
from topodesign.report.plots import PLOTS


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    found, known = pareto(30, 4), known_topologies(range(20, 60), 4)
    plan = schedule("circulant(12,2,3)")
    of: dict[str, Any] = {
        "frontier": found, "times": found, "sizes": known, "winners": known, "structure": "kautz(2,3)",
        "distances": "genkautz(2,9)", "loads": "genkautz(2,9)", "timeline": plan, "use": plan,
        "cut": optimum("dgx_a100(2)"),
    }  # fmt: skip
    assert of.keys() == PLOTS.keys()
    return {kind: plot(value, kind) for kind, value in of.items()}


@pytest.mark.parametrize("kind", PLOTS)
def test_every_plot_is_a_picture(pictures: dict[str, Picture], kind: str, tmp_path: Path) -> None:
    picture = pictures[kind]
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    picture.save(svg)
    picture.save(png)
    assert etree.parse(svg).getroot().tag.endswith("svg")
    pixels = image.imread(BytesIO(png.read_bytes()))
    assert pixels.shape[0] > 300
    assert 0.005 < np.mean(pixels[..., :3].min(axis=2) < 0.9) < 0.9  # neither blank nor black
    first = svg.read_bytes()
    picture.save(svg)
    assert svg.read_bytes() == first
    assert picture.svg().startswith("<svg")
    axes = picture.figure().axes[0]
    assert axes.get_title(loc="left").replace("\n", " ") == picture.shown.title


@pytest.mark.parametrize("kind", ["times", "winners", "cut"])
def test_series_differ_without_colour(pictures: dict[str, Picture], kind: str) -> None:
    axes = pictures[kind].figure().axes[0]
    looks: list[tuple[Any, ...]] = [
        (line.get_marker(), line.get_linestyle(), line.get_color())
        for line in axes.lines
        if str(line.get_label())[:1] != "_"
    ]
    assert len(set(looks)) == len(looks)
    if kind != "cut":  # the sides of a cut differ in lightness, as colours of neighbouring series do
        assert len({look[:2] for look in looks}) == len(looks)


def test_other_endings_are_refused(pictures: dict[str, Picture], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="svg"):
        pictures["loads"].save(tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        "frontier -n 30 -d 4", "times -n 30 -d 4 --alpha 5us", "sizes -n 20..40 -d 4", "winners -n 20..40 -d 4",
        "structure torus(4,3)", "structure mi250(1)", "distances torus(4,3)", "loads torus(4,3)",
        "timeline circulant(12,2,3) --size 4MiB", "use circulant(12,2,3) --collective allgather", "cut dgx_a100(2)",
    ],
)  # fmt: skip
def test_commands_write_and_print(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.svg"
    assert run(["plot", *words.split(), "-o", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {path}: ")
    assert path.read_bytes().startswith(b"<?xml")
    assert run(["plot", *words.split(), "--csv"]) == 0
    assert capsys.readouterr().out.count("\n") > 1
    assert run(["plot", *words.split()]) == 2
    assert "-o FILE.svg" in capsys.readouterr().err

"""Pictures: complete files of every format, readable by their own readers, the same each time, and not blank."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import etree
from rich.console import Console

import topodesign
from tests.conftest import few
from topodesign import (
    Catalog,
    all_to_all,
    compare,
    compile_plan,
    design,
    evaluate,
    failure_impact,
    list_schedules,
    optimum,
    pareto,
    plain_inventory,
    plan_wiring,
    plot,
    price_groups,
    schedule,
    simulate,
    survey,
    verify,
)
from topodesign.base.compiled import machine_code
from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.base.records import Result
from topodesign.cli.main import run
from topodesign.report import first_use
from topodesign.report.figures import Picture
from topodesign.report.plots import PLOTS
from topodesign.report.table import print_result


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    found, known = pareto(30, 4), survey(range(20, 60), 4)
    plan, step = schedule("circulant(12,2,3)"), {"collectives": [{"collective": "allreduce", "size": "64MiB"}]}
    decided = design(nodes=8, degree=3, bandwidth="100Gbps", workload=step, rivals=["torus"])
    of: dict[str, Any] = {
        "frontier": found, "times": found, "sizes": known, "winners": known, "structure": "kautz(2,3)",
        "distances": "genkautz(2,9)", "timeline": plan, "use": plan,
        **dict.fromkeys(("tradeoff", "ahead"), decided),
        "orbits": "circulant(12,2,3)", "boxes": "dgx_a100(2)",
        "cut": optimum("dgx_a100(2)"),
    }  # fmt: skip
    assert of.keys() == PLOTS.keys()
    return {kind: plot(value, kind) for kind, value in of.items()}


@pytest.mark.dear("cut", "frontier", "timeline", "use", "winners")
@pytest.mark.parametrize("kind", PLOTS)
def test_every_plot_is_a_picture(pictures: dict[str, Picture], kind: str, tmp_path: Path) -> None:
    from matplotlib import image  # late, as what is drawn itself

    picture = pictures[kind]
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    picture.save(png)
    pixels = image.imread(BytesIO(png.read_bytes()))
    assert pixels.shape[0] > 300
    assert 0.005 < np.mean(pixels[..., :3].min(axis=2) < 0.9) < 0.9  # neither blank nor black
    if kind in few([*PLOTS]):
        picture.save(svg)
        assert etree.parse(svg).getroot().tag.endswith("svg")
        again = picture.svg()  # drawn anew
        assert again.startswith("<svg")
        assert svg.read_text().endswith(again)
    figure = picture.figure()
    title = figure.get_suptitle() or figure.axes[0].get_title(loc="left")
    assert title.replace("\n", " ") == picture.shown.title


SHOWN: dict[str, Callable[[], Any]] = {
    "Pareto": lambda: pareto(12, 4),
    "Entry": lambda: pareto(12, 4).best,
    "RunnersUp": lambda: pareto(12, 4, runners_up=1).runners_up,
    "Survey": lambda: survey(range(12, 14), 4),
    "Comparison": lambda: compare(["best", "ring"], nodes=12, degree=4),
    "Evaluation": lambda: evaluate("kautz(2,2)"),
    "AllToAll": lambda: all_to_all("kautz(2,2)"),
    "Optimum": lambda: optimum("dgx_a100(1)", "all-to-all"),
    "GroupPrice": lambda: price_groups("torus(4,4)", "allgather", "4x4:0"),
    "ScheduleList": lambda: list_schedules("torus(3,3)", "broadcast", method="pipeline", root=0),
    "Plan": lambda: schedule("torus(3,3)"),
    "Report": lambda: verify(schedule("torus(3,3)")),
    "Simulation": lambda: simulate(schedule("torus(3,3)")),
    "Compiled": lambda: compile_plan(schedule("torus(3,3)")),
    "WiringPlan": lambda: plan_wiring("circulant(6,1,2)", plain_inventory(6, 4)),
    "Bill": lambda: plan_wiring("circulant(6,1,2)", plain_inventory(6, 4)).bill(),
    "FailureReport": lambda: failure_impact(plan_wiring("circulant(6,1,2)", plain_inventory(6, 4)), kinds="host"),
}
TABLES = {"RunnersUp", "Bill", "FailureReport"}
"""Those that are rows about several things, or none that there is a picture of."""


@pytest.mark.parametrize("kind", SHOWN)
def test_results_show_themselves_in_a_notebook_and_draw_what_they_are_about(kind: str) -> None:
    result = SHOWN[kind]()
    assert type(result).__name__ == kind
    assert etree.fromstring(f"<p>{result._repr_html_()}</p>".replace("<br>", "<br/>")) is not None
    if kind in TABLES:
        with pytest.raises(ParameterError, match=f"no plot of {kind}"):
            result.plot()
    else:
        assert isinstance(result.plot(), Picture)


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
        pictures["use"].save(tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    few([
        "pareto -n 30 -d 4 --plot-kind frontier", "pareto -n 20..40 -d 4 --plot-kind sizes",
        "pareto -n 20..40 -d 4 --plot-kind construction", "evaluate mi250(1) --plot-kind structure",
        "evaluate torus(4,3) --plot-kind structure", "evaluate torus(4,3) --plot-kind distances",
        "simulate circulant(12,2,3) --collective allgather --plot-kind utilization",
        "simulate circulant(12,2,3) --size 4MiB --plot-kind timeline",
        "pareto -n 30 -d 4 --alpha 5us --plot-kind times", "evaluate dgx_a100(2) --plot-kind bottleneck",
    ]),
)  # fmt: skip
def test_commands_write_and_print(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.svg"
    assert run([*words.split(), "-o", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {path}: ")
    assert path.read_bytes().startswith(b"<?xml")
    assert run([*words.split(), "--csv"]) == 0
    assert capsys.readouterr().out.count("\n") > 1
    assert run(words.split()) == 2
    assert "-o FILE.svg" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "pareto --plot-kind times -n 200 -d 6 -o a.html",
        "evaluate --plot-kind page torus(3,3) -o a.svg",
        "info families torus --output a.gif",
    ],
)
def test_endings_are_refused_before_the_work(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pareto", "report_page", "families"):
        monkeypatch.setattr(f"topodesign.{name}", lambda *_, **__: pytest.fail("it worked"), raising=False)
    assert run(words.split()) == 2


def test_an_axis_whose_ticks_have_units_is_labelled_by_the_quantity(pictures: dict[str, Picture]) -> None:
    (axes,) = pictures["times"].figure().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("data of the allreduce", "time")
    assert axes.yaxis.get_major_formatter()(0.001, 0) == "1ms"
    assert axes.xaxis.get_major_formatter()(2**20, 0) == "1MiB"


# -- tables on the terminal: every cell of a result stands in them, on any width --------------------------------------


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [pareto(24, 4, sizes=["1MiB", "100MiB"]), *map(evaluate, ("genkautz(2,9)", "dicirculant(8,1,3)"))]


def printed(result: Result, width: int, *, terminal: bool) -> str:
    stream = io.StringIO()
    print_result(result, Console(file=stream, width=width, color_system=None, force_terminal=terminal))
    return stream.getvalue()


def test_every_cell_is_there(results: list[Result]) -> None:
    for result in results:
        text, table = printed(result, 20, terminal=False), result.table()  # a pipe has no width of its own
        assert table.heading in " ".join(text.split("\n"))
        for row in table.rows:
            assert all(cell.strip() in text for cell in row[:-1])


@pytest.mark.parametrize("width", [70, 100, 200])
def test_a_narrow_terminal_leaves_out_spare_columns_and_cuts_no_figure(results: list[Result], width: int) -> None:
    for result in results:
        text, table = "".join(printed(result, width, terminal=True).split()), result.table()
        for row in table.rows:
            for title, cell in zip(table.columns, row, strict=True):
                assert title in table.spare or title in table.words or "".join(cell.split()) in text
            assert all("".join(part.split()) in text for part in row[-1].split(": "))


@pytest.fixture(scope="module")
def wide() -> list[Result]:
    catalog = Catalog()
    return [
        pareto(200, 6, sizes=["1MiB", "100MiB", "1GiB"]),
        survey(range(100, 106), 4),
        catalog.coverage([2, 3]),
        catalog.quality([2, 3], 3, 400),
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_table_breaks_numbers_or_specs_or_is_too_wide(wide: list[Result], width: int) -> None:
    for result in wide:
        text, table = printed(result, width, terminal=True), result.table()
        for row in table.rows:
            for title, cell in zip(table.columns, row, strict=True):
                if " " not in cell.strip() and len(cell) < width - 5:
                    assert title in table.spare or cell.strip() in text
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_are_left_out_are_said_to_be(wide: list[Result], width: int) -> None:
    for result in wide:
        table, text = result.table(), printed(result, width, terminal=True)
        said = " ".join(text.split()).partition("hidden: ")[2]
        shown = {word.strip() for line in text.splitlines() for word in line.split("  ")}
        missing = [title for title in table.columns[:-1] if title not in shown]
        assert bool(said) == bool(missing)
        assert all(title in said for title in missing)
        if missing:  # the width that it names has room for all columns
            told = int(said.partition("COLUMNS=")[2].partition(" ")[0])
            assert "hidden" not in printed(result, told, terminal=True)
            assert "hidden" in printed(result, told - 1, terminal=True)


def test_a_pipe_is_as_wide_as_is_told(monkeypatch: pytest.MonkeyPatch, wide: list[Result]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = printed(wide[0], 20, terminal=False)
    assert 60 < max(map(len, text.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "many")
    assert max(map(len, printed(wide[0], 20, terminal=False).splitlines())) > 80


# -- what is compiled at once is what the commands of a first use call, and is found again ----------------------------


COMMANDS = (
    "schedule genkautz(4,200) -o large.npz",
    "verify large.npz",
    "pareto -n 1999 -d 4 --catalog none",
    "evaluate genkautz(4,2000)",
    "evaluate randomregular(300,4,0)",
    "compile genkautz(4,50) -o large.xml",
    "schedule mi250(2) -o boxes.npz",
    "schedule torus(6,6) --collective all-to-all --algorithm tacos -o timed.npz",
)


@pytest.mark.dear
def test_of_one_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_use, "_USES", {"_plan_timed": first_use._USES["_plan_timed"]})
    shares: list[float] = []
    warmed = topodesign.compile_kernels(workers=1, progress=shares.append)
    assert "topodesign.schedulers.time_expanded.forward_kernels.forward" in (*warmed.compiled, *warmed.found)
    assert all(Path(folder).is_dir() for folder in warmed.folders)
    assert shares == [0, 1]
    again = topodesign.compile_kernels(workers=1)
    assert not again.compiled
    assert set(again.found) == {*warmed.compiled, *warmed.found}
    assert str(len(again.found)) in again.heading()


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="number of workers"):
        topodesign.compile_kernels(workers=0)
    monkeypatch.setattr(first_use, "_use", _kept_nowhere)
    with pytest.raises(TopodesignError, match="NUMBA_CACHE_DIR"):
        topodesign.compile_kernels(workers=1)


def _kept_nowhere(_name: str) -> dict[str, tuple[bool, str | None]]:
    return {"kernel": (True, None)}


def test_machine_code_says_where_it_is() -> None:
    topodesign.verify(topodesign.schedule("biring(2,5)"))
    assert all(folder is None or Path(folder).is_dir() for _, folder in machine_code().values())


@pytest.mark.thorough
def test_commands_compile_nothing_afterwards(tmp_path: Path) -> None:
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "code")}

    def run(command: str) -> None:
        subprocess.run([sys.executable, "-m", "topodesign", *command.split()], env=env, cwd=tmp_path, check=True)

    run("kernels")
    kept = set(tmp_path.glob("code/*/*"))
    for command in COMMANDS:
        run(command)
        assert set(tmp_path.glob("code/*/*")) == kept, command

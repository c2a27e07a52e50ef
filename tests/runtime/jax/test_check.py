"""The checker of modules for JAX: what is wrong is found, in the data, in the code and in what JAX makes of both."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import few
from tests.floors import reached
from tests.samples.modules import compiled
from topodesign.base.errors import MissingLibraryError
from topodesign.collectives import COLLECTIVES
from topodesign.runtime.check import check_file
from topodesign.runtime.jax import stablehlo
from topodesign.runtime.jax.check import ModuleReport, check_module, check_module_file, sample
from topodesign.runtime.jax.code import REFERENCES, code_of, name_of
from topodesign.runtime.jax.module import ModuleError, parse_module
from topodesign.runtime.jax.stablehlo import lower_module, run_lowered

SAMPLES = [("genkautz(3,10)", "allreduce"), ("torus(2,3)", "all-to-all"), ("biring(2,4)", "gather")]


def without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)


@pytest.mark.dear("genkautz(3,10)-allreduce")
@pytest.mark.parametrize("case", SAMPLES, ids="-".join)
def test_right_ones_are_right_with_and_without_jax(case: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = compiled(*case).text.encode()
    without_jax(monkeypatch)
    report = check_module(text)
    assert report.ok
    assert report.jax is None
    assert "pip install" in report.warnings[0]
    monkeypatch.undo()
    jax = pytest.importorskip("jax", reason="JAX is an extra")
    assert check_module(text).jax == jax.__version__


@pytest.mark.floor(found=20, harmless=0)
def test_one_number_changed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the data alone; a row that nobody needs may be another one."""
    without_jax(monkeypatch)
    rng = np.random.default_rng(0)
    for case in few(SAMPLES, 2):
        text = compiled(*case).text
        begin = text.index("PHASES = ")
        numbers = [one for one in re.finditer(r"(?<=[(\s])\d+(?=[,)])", text) if one.start() > begin]
        for one in rng.choice(np.array(numbers, dtype=object), len(few(range(40), 2)), replace=False):
            changed = text[: one.start()] + str(int(one[0]) + rng.choice((-1, 1, 7))) + text[one.end() :]
            reached("harmless" if check_module(changed.encode()).ok else "found")


def test_a_row_that_is_taken_wrongly_is_a_wrong_result() -> None:
    text = compiled("uniring(1,4)", "allgather").text
    assert '"take": [[(1, 2)]]' in text
    report = check_module(text.replace('"take": [[(1, 2)]]', '"take": [[(0, 1)]]').encode())
    assert report.verdict == "wrong result"
    assert "pieces of the allgather are wrong" in str(report)


MARK = "    x = jnp.asarray(x)\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(MARK, f"{MARK}    open('/tmp/evil', 'w')\n"), "unknown code is not executed"),
        (lambda text: text + "\nimport os\n", "unknown code is not executed"),
        (lambda text: text.replace("RANKS = 6", "RANKS = print(6)"), "is not NAME = number"),
        (lambda text: text.replace("RANKS = 6", "RANKS = 3"), "rows are a list of runs for all, or for each of 3"),
        (lambda text: text.replace("PIECES = ", "PIECES = -"), "PIECES at least 1"),
        (lambda text: text.replace("PHASES = (", "PHASES = [").replace("\n)\n", "\n]\n"), "has 2 phases"),
        (lambda text: text.replace('"adds": True', '"adds": False'), "adds where it must store"),
        (lambda text: text.replace("ROOT = None", "ROOT = 1"), "ROOT 1 does not fit"),
        (lambda text: text.replace("def allreduce", "def sum_up"), "its first function is not one of"),
        (lambda text: text[: len(text) // 2], "not a Python module"),
        (lambda text: text.replace('"pairs": [(', '"pairs": [(0, 1), (', 1), "twice in a permutation"),
        (lambda text: text.replace('"put": [[(', '"put": [[(0, 1), (', 1), "received"),
        (lambda text: text.replace('"put": [[(', '"put": [[(99, 999), (', 1), "within the"),
    ],
)
def test_what_is_not_ours_is_illegal(change: Callable[[str], str], said: str) -> None:
    text = compiled("torus(2,3)", "allreduce").text
    assert change(text) != text
    report = check_module(change(text).encode())
    assert report.verdict == "illegal"
    assert said in str(report)
    with pytest.raises(ModuleError, match=re.escape(said)):
        parse_module(change(text).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rows[a:b] + piece if adds else piece", "piece"),
        ("lax.ppermute(part, axis_name, move", "lax.ppermute(part * 2, axis_name, move"),
        ("[:, :size]", "[:, -size:]"),
        ("lax.axis_index(axis_name)\n    for", "0 * lax.axis_index(axis_name)\n    for"),
    ],
)
def test_a_mistake_in_the_code_is_found_in_its_stablehlo(old: str, new: str) -> None:
    """The data are right, so that only what JAX makes of the code can tell."""
    pytest.importorskip("jax", reason="JAX is an extra")
    module = parse_module(compiled("genkautz(3,10)", "reduce-scatter").text.encode())
    given, wanted = sample(module, 2 * module.units - 1, np.uint32)
    for text, right in ((module.text, True), (module.text.replace(old, new, 1), False)):
        assert right or text != module.text
        found, pairs = run_lowered(lower_module(text, module)[1], list(given))
        assert len(pairs) == sum(len(step) for phase in module.phases for step in phase.steps)
        assert np.array_equal(np.stack(found).reshape(wanted.shape), wanted) is right


@pytest.mark.dear
def test_more_ranks_than_text_shows_and_other_platforms() -> None:
    """Text of MLIR abbreviates from 100 numbers on; for TPUs the same permutations come out."""
    pytest.importorskip("jax", reason="JAX is an extra")
    made = compiled("torus(8,8)", "allgather")
    report = made.checked().report
    assert isinstance(report, ModuleReport)
    assert report.jax is not None
    module = parse_module(made.text.encode())
    given, _ = sample(module, 2 * module.units - 1, np.uint32)
    pairs = [run_lowered(lower_module(made.text, module, platform)[1], list(given))[1] for platform in ("cpu", "tpu")]
    assert pairs[0] == pairs[1]


def test_unknown_instructions_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax", reason="JAX is an extra")
    monkeypatch.delitem(stablehlo._ACTS, "slice")
    report = check_module(compiled("biring(2,4)", "allreduce").text.encode())
    assert report.ok
    assert report.jax is None
    assert "stablehlo.slice is not one of the instructions" in report.warnings[0]


def test_files_are_told_by_their_first_sign(tmp_path: Path) -> None:
    path = tmp_path / "any.name"
    path.write_text(compiled("biring(2,4)", "allreduce").text)
    assert check_file(path) == check_module_file(path)


def test_code_of_all_collectives() -> None:
    for collective in COLLECTIVES.values():
        code = code_of(collective)
        assert f"def {name_of(collective)}(" in code
        assert REFERENCES[collective.name] in code
        assert "NAME" not in code
        assert "REFERENCE" not in code


def test_without_jax_nothing_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    without_jax(monkeypatch)
    made = compiled("biring(2,4)", "allreduce")
    with pytest.raises(MissingLibraryError, match="pip install"):
        lower_module(made.text, parse_module(made.text.encode()))

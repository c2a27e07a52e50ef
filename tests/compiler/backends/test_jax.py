"""Modules for JAX: on devices they do what JAX's own collectives do, have their derivatives, and send as plans do."""

from __future__ import annotations

import ast
import itertools
import runpy
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import few
from tests.floors import reached
from tests.samples.modules import along, blocks, compiled, function, imported, mapped, wanted
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.collectives import COLLECTIVES
from topodesign.compiler.backends.jax import Jax
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends import permutations
from topodesign.compiler.frontends.permutations import permutations_of
from topodesign.compiler.ir import Permutations
from topodesign.compiler.several import compile_groups
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rank_rounds, list_rounds
from topodesign.plans.verify.plans import verify
from topodesign.runtime.jax.check import check_module, check_module_file
from topodesign.runtime.jax.code import REFERENCES
from topodesign.runtime.jax.module import ModuleError, parse_module
from topodesign.schedulers.circuits.reconfigure import reconfigure
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build

pytestmark = pytest.mark.skipif(find_spec("jax") is None, reason="JAX is an extra: pip install 'topodesign[jax]'")

SIXTEEN = ("circulant(16,3,4)", "genkautz(3,16)", "torus(4,4)", "hypercube(4)", "debruijn(2,4)", "uniring(2,16)")
METHODS = ("auto", "forest", "tacos", "peel", "ring", "halving-doubling", "direct")


def run_exactly(spec: str, collective: str, method: str, rng: np.random.Generator) -> None:
    """Random integers: each is where it belongs, or the sum of all."""
    made = compiled(spec, collective, method)
    shape = (16, *blocks(collective, 16), int(rng.integers(1, 40)))
    x = rng.integers(-(2**31), 2**31, shape, dtype=np.int32)
    call = function(made)
    found = mapped(along(call), 16)(x)
    assert np.array_equal(found, wanted(collective, x))
    assert made.checked().report.jax is not None  # type: ignore[union-attr]
    reached("exact")


@pytest.mark.dear
@pytest.mark.floor(exact=4)
def test_plans_run_exactly_on_16_devices() -> None:
    rng = np.random.default_rng(1)
    for number, collective in few([*enumerate(COLLECTIVES)], 4):
        run_exactly(SIXTEEN[number % len(SIXTEEN)], collective, "auto", rng)
    for spec, method in few(
        [("genkautz(3,16)", "forest"), ("torus(4,4)", "tacos"), ("hypercube(4)", "halving-doubling")]
    ):
        run_exactly(spec, "allreduce" if method != "tacos" else "allgather", method, rng)
    run_exactly("genkautz(3,16)", "all-to-all", "peel", rng)


@pytest.mark.thorough
@pytest.mark.floor(exact=100)
def test_many_plans_run_exactly_on_16_devices() -> None:
    """A hundred of those that there are, drawn: half a processor second each, most of it XLA's compiler."""
    rng = np.random.default_rng(2)
    done = 0
    for spec, method, collective in rng.permutation(list(product(SIXTEEN, METHODS, COLLECTIVES))).tolist():
        try:
            compiled(spec, collective, method)
        except TopodesignError:
            continue  # what a method can do is held elsewhere
        run_exactly(spec, collective, method, rng)
        done += 1
        if done == 100:
            break


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_step_has_as_many_permutations_as_its_degree_over_links_of_the_plan(collective: str) -> None:
    specs, at = ["circulant(12,2,3)", "biring(2,5)", "genkautz(4,18)"], [*COLLECTIVES].index(collective) % 3
    for spec in few([*specs[at:], *specs[:at]]):  # a quick run takes turns
        made = compiled(spec, collective)
        assert isinstance(made.program, Permutations)
        links = {*zip(made.plan.topology.src.tolist(), made.plan.topology.dst.tolist(), strict=True)}
        for phase in made.program.phases:
            for step in phase.steps:
                pairs = [pair for one in step for pair in one.pairs]
                assert links.issuperset(pairs)
                assert len(set(pairs)) == len(pairs)
                ends = [[sum(pair[side] == node for pair in pairs) for node in range(18)] for side in (0, 1)]
                assert len(step) == max(map(max, ends))
        report = made.checked().report
        assert report.permutations == report.least == len(made.program.exchanges)  # type: ignore[union-attr]


@pytest.mark.dear("allreduce", "gather", "reduce")
@pytest.mark.parametrize("collective", few([*COLLECTIVES], 2))
def test_the_derivative_is_that_of_jax(collective: str) -> None:
    """Of an allgather that is a reduce-scatter, of a broadcast a reduce, and so on."""
    jax: Any = pytest.importorskip("jax")
    names = imported(compiled("genkautz(2,6)", collective).text)
    call, own = names[collective.replace("-", "_")], names["reference"]
    rng = np.random.default_rng(3)
    x = rng.integers(-9, 9, (6, *blocks(collective, 6), 7)).astype(np.float32)
    (ours, back), (theirs, their_back) = (jax.vjp(mapped(along(body), 6, check_vma=False), x) for body in (call, own))
    weights = rng.integers(-9, 9, ours.shape).astype(np.float32)
    (slope,), (their_slope,) = back(weights), their_back(weights)
    assert np.array_equal(ours, theirs)
    assert np.array_equal(slope, their_slope)
    duals = {"allgather": "reduce-scatter", "reduce-scatter": "allgather", "all-to-all": "all-to-all"}
    if collective in duals:
        assert np.array_equal(slope, wanted(duals[collective], weights))


def test_the_derivative_sends_over_the_links_turned_round() -> None:
    jax: Any = pytest.importorskip("jax")
    made = compiled("genkautz(3,10)", "allgather")
    call = function(made)
    run = mapped(along(call), 10)
    x = np.zeros((10, 3), dtype=np.float32)
    text = str(jax.make_jaxpr(lambda x, w: jax.vjp(run, x)[1](w))(x, np.zeros((10, 10, 3), dtype=np.float32)))
    assert isinstance(made.program, Permutations)
    for one in made.program.exchanges:
        turned = tuple((v, u) for u, v in one.pairs)
        assert str(turned).replace(" ", "") in text.replace(" ", "").replace("\n", "")


@pytest.mark.dear("shape0-bfloat16", "shape5-int8")
@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        pytest.param(shape, kind, marks=[pytest.mark.thorough] if (one + 2 * other) % 5 else [])
        for one, shape in enumerate([(), (1,), (5, 3), (0,), (129,)])
        for other, kind in enumerate(["bfloat16", "float32", "int8"])
    ],
)
def test_any_shape_and_type(shape: tuple[int, ...], kind: str) -> None:
    jax: Any = pytest.importorskip("jax")
    for collective in ("allreduce", "reduce-scatter", "allgather"):
        call = function(compiled("torus(2,3)", collective))
        x = np.random.default_rng(4).integers(-3, 4, (6, *blocks(collective, 6), *shape)).astype(jax.numpy.dtype(kind))
        found = mapped(along(call), 6)(x)
        assert found.dtype == x.dtype
        assert np.array_equal(found, wanted(collective, x))


@pytest.mark.dear
def test_blocks_one_after_another() -> None:
    rng = np.random.default_rng(5)
    for collective in few([*COLLECTIVES], 2):
        call = function(compiled("torus(2,3)", collective))
        x = rng.integers(-99, 99, (6, *blocks(collective, 6), 4, 3), dtype=np.int32)
        flat = x.reshape(6, -1, 3)
        found = np.asarray(mapped(along(call, tiled=True), 6)(flat))
        assert np.array_equal(found.reshape(wanted(collective, x).shape), wanted(collective, x))
    with pytest.raises(ValueError, match="first axis of 6 blocks"):
        mapped(along(function(compiled("torus(2,3)", "scatter"))), 6)(flat)


@pytest.mark.dear
def test_meshes_with_more_axes() -> None:
    """Along one axis, in every row of the others; and along two axes as one."""
    jax: Any = pytest.importorskip("jax")
    spec = jax.sharding.PartitionSpec
    mesh = jax.sharding.Mesh(np.array(jax.devices("cpu")).reshape(2, 8), ("data", "model"))
    x = np.random.default_rng(6).integers(-99, 99, (2, 8, 11), dtype=np.int32)
    one_axis = function(compiled("circulant(8,1,3)", "allreduce"))
    both = function(compiled("circulant(16,3,4)", "allreduce"))
    for call, axes, total in (
        (one_axis, "model", x.sum(axis=1, keepdims=True, dtype=np.int32)),
        (both, ("data", "model"), x.sum(axis=(0, 1), keepdims=True, dtype=np.int32)),
    ):
        run = jax.shard_map(
            along(call, axes),
            mesh=mesh,
            in_specs=spec("data", "model"),
            out_specs=spec("data", "model"),
        )
        assert np.array_equal(jax.jit(run)(x), np.broadcast_to(total, x.shape))
    with pytest.raises(ValueError, match="is for 16 devices, and axis 'model' has 8"):
        jax.jit(jax.shard_map(along(both, "model"), mesh=mesh, in_specs=spec("data"), out_specs=spec("data")))(x)


def test_what_looks_the_same_from_all_nodes_has_static_slices() -> None:
    for spec in ("circulant(12,2,3)", "torus(4,4)"):
        place = build(spec)
        made_by = [schedule(spec, name) for name in ("allreduce", "reduce-scatter", "all-to-all")]
        for plan in (Plan(place, spff_orbit(place, "allreduce")), *made_by):
            made = compile_plan(plan, "jax")
            assert isinstance(made.program, Permutations)
            assert all(len(one.take) == len(one.put) == 1 for one in made.program.exchanges)
            assert not made.notes


def test_a_plan_of_fewer_chunks_keeps_them() -> None:
    """What is turned from one node to all has more, and costs less: it is another plan."""
    assert permutations_of(schedule("torus(4,4)", "allgather")).shard > 1
    assert permutations_of(schedule("torus(4,4)", "allgather", chunks=1)).shard == 1


def test_unequal_parts_are_said() -> None:
    made = compiled("genkautz(3,10)", "allgather")
    program = permutations_of(made.plan)
    assert "unequal parts" in made.notes[0]
    sent = sum(one.width * len(one.pairs) for one in program.exchanges)
    rounds = list_rank_rounds(made.plan)
    wanted = int((rounds.hi - rounds.lo).sum())
    assert f"{sent} pieces are sent for {wanted};" in made.notes[0]


@pytest.mark.dear
def test_a_module_needs_jax_alone_and_compares_itself(tmp_path: Path) -> None:
    made = compiled("circulant(12,2,3)", "allreduce")
    (path,) = made.save(tmp_path / "allreduce.py")
    names = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else node.names[0].name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert names == {"jax", "math", "numpy"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "ok: allreduce of 12 cpu devices\n"
    assert check_module_file(path).ok


LATER = [pytest.param(one, marks=pytest.mark.thorough) for one in ("allgather", "reduce-scatter")]


@pytest.mark.dear
@pytest.mark.parametrize("collective", ["all-to-all", *LATER, "allreduce"])
def test_stages_one_by_one_use_the_circuits_of_their_phase(
    tmp_path: Path, collective: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a call of its own; together they are the collective, and what each sends goes over its own circuits."""
    found = reconfigure(8, 1, collective, delay="0s", size="64MiB")
    made = compile_plan(found.plan, "jax").checked()
    circuits, program = found.plan.flow.switching, made.program
    assert isinstance(program, Permutations)
    steps = [step for phase in program.phases for step in phase.steps]
    assert len(steps) == found.best.steps
    ends = [0, *program.changes, len(steps)]
    assert len(ends) == len(found.phases) + 1 > 2
    for number, (first, last) in enumerate(itertools.pairwise(ends)):
        there = set(zip(*circuits.rows(number)[:, ::2].T.tolist(), strict=True))
        assert {pair for step in steps[first:last] for one in step for pair in one.pairs} <= there
    (path,) = made.save(tmp_path / "module.py")
    jax: Any = pytest.importorskip("jax")
    monkeypatch.setattr(jax.config, "update", lambda *_: None)  # here devices are counted already
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(str(path), run_name="__main__")
    monkeypatch.undo()
    assert capsys.readouterr().out == f"ok: {collective.replace('-', '_')} of 8 cpu devices\n"
    shape = (8, 3, 5) if collective in {"all-to-all", "reduce-scatter"} else (7, 3)
    x = np.random.default_rng(2).integers(-(2**31), 2**31, (8, *shape), dtype=np.int32)
    assert np.array_equal(mapped(along(function(made)), 8)(x), wanted(collective, x))
    assert len(imported(made.text)["stages"](shape, "x")) == len(found.phases)


def test_groups_change_together() -> None:
    """A module for each group, with as many stages as the plan of all has phases."""
    found = reconfigure(8, 1, "allgather", delay="0s", size="64MiB", group="4x2:0")
    assert found.best.changes
    parts = compile_groups(found.plan, "jax")
    assert [part.nodes for part in parts] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    for part in parts:
        checked = part.compiled.checked()
        assert isinstance(checked.program, Permutations)
        assert len(checked.program.changes) == found.best.changes
        assert verify(checked.plan).ok


@pytest.mark.parametrize(
    ("changes", "said"),
    [("(3, 2)", "ascend"), ("(0,)", "ascend"), ("(7,)", "ascend"), ("[1]", "numbers of steps"), ("('a',)", "numbers")],
)
def test_changes_that_are_none_are_illegal(changes: str, said: str) -> None:
    text = compile_plan(reconfigure(8, 1, "allgather", delay="0s", size="64MiB").plan, "jax").text
    line = next(one for one in text.splitlines() if one.startswith("CHANGES"))
    with pytest.raises(ModuleError, match=said):
        parse_module(text.replace(line, f"CHANGES = {changes}").encode())
    with pytest.raises(ModuleError, match="unknown code"):
        parse_module(text.replace(f"{line}\n", "").encode())


@pytest.mark.dear
@pytest.mark.parametrize(
    ("place", "method", "size"),
    few([(place, "one-shot", "1KiB") for place in ("genkautz(2,6)", "complete(5)", "torus(3,3)", "kautz(2,2)")], 4)
    + few([("dgx_a100(2)", "two-level", size) for size in ("1KiB", "16MiB")], 2),
)
def test_ranks_add_up_for_themselves(place: str, method: str, size: str) -> None:
    """On devices a one-shot and a two-level allreduce are what psum is, and have its derivative."""
    jax: Any = pytest.importorskip("jax")
    plan = schedule(place, "allreduce", method=method, size=size, by_ranks=True)
    made = compile_plan(plan, "jax").checked()
    ranks = made.program.ranks
    x = np.random.default_rng(3).integers(-(2**31), 2**31, (ranks, 7, 3), dtype=np.int32)
    run = along(function(made))
    assert np.array_equal(mapped(run, ranks)(x), wanted("allreduce", x))
    floats = x.astype(np.float32)
    slope = jax.grad(lambda x: (mapped(run, ranks)(x) * floats).sum())(floats)
    assert np.allclose(slope, np.broadcast_to(floats.sum(axis=0), floats.shape), rtol=1e-4, atol=1e5)


@pytest.mark.dear("torus(3,3)-zipf:1.2")
@pytest.mark.parametrize(("place", "traffic"), [("torus(3,3)", "zipf:1.2"), ("dgx_a100(1)", "dirichlet:0.3")])
def test_uneven_blocks_go_as_large_as_they_are(place: str, traffic: str) -> None:
    """Of each block the first pieces are sent, and zeros come for the rest; a number changed is found or is another."""
    plan = schedule(place, "all-to-all", method="fluid", shards=traffic)
    made = compile_plan(plan, "jax").checked()
    module = parse_module(made.text.encode())
    ranks, sent = module.ranks, np.array(module.amounts)
    assert sent.max() == module.units
    x = np.random.default_rng(4).integers(1, 2**31, (ranks, ranks, module.units), dtype=np.int32)
    own = np.eye(ranks, dtype=bool)[..., None]
    whole = np.where((np.arange(module.units) < sent[..., None]) | own, x, 0)
    assert np.array_equal(mapped(along(function(made)), ranks)(x), whole.swapaxes(0, 1))
    line = made.text[made.text.index("AMOUNTS = (") :].split("\n)\n")[0]
    rows = [tuple(row) for row in sent.tolist()]
    rows[0] = (rows[0][0], *(one - 1 for one in rows[0][1:]))
    assert not check_module(
        made.text.replace(line, f"AMOUNTS = ({rows},"[:-1].replace("[", "").replace("]", "")).encode()
    ).ok
    for wrong in ("(1, 2)", "()", "'a'"):
        with pytest.raises(ModuleError, match="AMOUNTS are"):
            parse_module(made.text.replace(f"{line}\n)", f"AMOUNTS = {wrong}").encode())


def test_a_name_may_have_any_letters() -> None:
    plan = schedule("biring(2,3)", "allgather")
    for name in ('"""', "a\\", "über", "two\nlines", "x" * 300):
        assert compile_plan(plan, "jax", name=name).checked().report.ok  # type: ignore[union-attr]


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="jax has no channels"):
        compile_plan(schedule("biring(2,3)", "allgather"), "jax", channels=2)
    monkeypatch.setattr(permutations, "MAX_SENDS", 5)
    with pytest.raises(InfeasibleError, match="too many for one program"):
        compile_plan(schedule("biring(2,3)", "all-to-all"), "jax")
    monkeypatch.undo()
    plan = schedule("biring(2,3)", "allgather", chunks=2)
    cells = 3 * 3 * list_rounds(plan).units  # at each rank the units of all blocks
    monkeypatch.setattr(permutations, "MAX_CELLS", cells)
    compile_plan(plan, "jax")
    monkeypatch.setattr(permutations, "MAX_CELLS", cells - 1)
    with pytest.raises(InfeasibleError, match="too many for one program"):
        compile_plan(plan, "jax")
    monkeypatch.undo()
    assert list(Jax().lint(compile_plan(schedule("biring(2,3)")).program, compiled("biring(2,3)", "reduce").options))
    assert set(REFERENCES) == set(COLLECTIVES)

"""Plans for all single failures: every failure finds one that is verified, those that are alike by a symmetry too."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import failure_plans, repair, select_part, single_failures, verify
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.schedulers.failure_plans import INDEX


@pytest.mark.dear("dgx_h100(2)-allgather-auto", "dgx_h100(2)-allreduce-fluid")
@pytest.mark.parametrize(
    ("spec", "collective", "method"),
    [
        ("dgx_h100(2)", "allgather", "auto"),
        ("ualink_pod(6,3)", "allreduce", "auto"),
        ("dgx_h100(2)", "allreduce", "fluid"),
        pytest.param("dgx_h100(8)", "allreduce", "fluid", marks=pytest.mark.thorough),
    ],
)
def test_every_failure_has_a_plan(spec: str, collective: str, method: str, tmp_path: Path) -> None:
    made, ranked = failure_plans(spec, collective, method=method), single_failures(spec, collective, method=method)
    assert {(one.kind, one.failures[0]) for one in made.entries} == {(one.kind, one.first) for one in ranked.parts}
    least = {one.first: one.bandwidth for one in ranked.parts}
    for one in made.entries if method == "fluid" else ():  # through switches that copy and add, at the rate priced
        assert one.bandwidth is not None
        assert one.bandwidth >= Fraction(99, 100) * (least[one.failures[0]] or 0)
    made.save(tmp_path / "set")
    for entry in made.entries:
        for failure in {entry.failures[0], entry.failures[-1], entry.failures[len(entry.failures) // 2]}:
            found = repair(tmp_path / "set", failure)
            assert found.plan.fabric == select_part(made.before.fabric, without=(failure,))
            assert verify(found.plan).ok
            assert found.bandwidth == entry.bandwidth
            assert entry.bound is not None
            assert found.bandwidth <= entry.bound


def test_failures_that_end_it_say_so(tmp_path: Path) -> None:
    made = failure_plans("dgx_a100(1)")
    assert [(one.made, one.plan is None) for one in made.entries][:2] == [("nothing", True)] * 2
    assert "none" in str(made)
    made.save(tmp_path / "set")
    with pytest.raises(InfeasibleError, match="no longer reach each other"):
        repair(tmp_path / "set", "box0/nvswitch")
    with pytest.raises(ParameterError, match="is not a single failure"):
        repair(tmp_path / "set", "box0/gpu9")
    with pytest.raises(ParameterError, match="name one with --fail"):
        repair(tmp_path / "set", ("box0/gpu0", "box0/gpu1"))
    with pytest.raises(ParameterError, match="plans for failures are of"):
        failure_plans("dgx_a100(1)", "broadcast")


def test_an_index_that_is_none(tmp_path: Path) -> None:
    failure_plans("dgx_a100(1)").save(tmp_path / "set")
    index = tmp_path / "set" / INDEX
    whole = index.read_text()
    for wrong, words in (
        (whole.replace("failure plans", "failure"), "not an index"),
        (whole.replace('"00"', '"a/b"'), ""),
    ):
        index.write_text(wrong)
        if wrong != whole:
            with pytest.raises(FileFormatError, match=words):
                repair(tmp_path / "set", "box0/gpu0")

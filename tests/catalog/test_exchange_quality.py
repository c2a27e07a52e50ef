"""All-to-all beside its bound: by definition, from the rows and what is kept, and what the command says of it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.ranked import rank
from topodesign import Catalog
from topodesign.base.cost import Cost, least_steps, moore_distances
from topodesign.base.errors import CatalogError
from topodesign.catalog.exchange_quality import exchange_quality
from topodesign.catalog.quality import STANDARD
from topodesign.cli.main import run

FIRST, LAST, DEGREE = 30, 31, 4


@pytest.mark.dear
@pytest.mark.parametrize("duplex", [False, True])
def test_quality_of_all_to_all_by_definition(duplex: bool) -> None:
    (judged,) = [one for one in Catalog().exchange_quality([DEGREE], FIRST, LAST) if one.duplex == duplex]
    assert judged.sizes == LAST - FIRST + 1
    for size, ratio in zip(STANDARD.sizes, judged.ratios, strict=True):
        found = {}
        for nodes in range(FIRST, LAST + 1):
            steps, y = least_steps(nodes, DEGREE, duplex=duplex).steps, moore_distances(nodes, DEGREE, duplex=duplex)
            bound = Cost(steps, y).runtime(STANDARD.alpha, size, STANDARD.bandwidth)
            best = rank(nodes, DEGREE, bidirectional=duplex, sizes=int(size)).best
            found[nodes] = best.times[0] / bound
        assert ratio.worst == max(found.values()) == found[ratio.worst_nodes]
        assert ratio.mean == pytest.approx(float(sum(found.values()) / len(found)), abs=1e-12)
        if size == STANDARD.sizes[0]:
            assert judged.met == Fraction(sum(one == 1 for one in found.values()), len(found))


def test_nothing_is_judged_where_there_is_nothing(tmp_path: Path) -> None:
    assert exchange_quality(4, []) is None
    assert not Catalog().exchange_quality([4], 70000, 70001)
    with pytest.raises(CatalogError):
        Catalog(tmp_path).exchange_quality()


def test_the_command_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["catalog", "status", "--compare-bound", "--collective", "all-to-all", "-d", "3", "-n", "5..40"]
    assert run([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["exchange"] == Catalog().exchange_quality([3], 5, 40).to_records()
    assert run(asked) == 0
    assert "best all-to-all over the bound by distances" in capsys.readouterr().out
    assert run([*asked[:2], *asked[3:]]) == 2
    assert "--compare-bound" in capsys.readouterr().err

"""Candidates of the user: priced by their links, held against the frontier, refused where they do not fit."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from topodesign import Catalog, build, pareto, write_links
from topodesign.base.errors import FileFormatError, ParameterError, SpecError
from topodesign.cli.main import run
from topodesign.finder import sources
from topodesign.finder.question import Objective, Question
from topodesign.finder.sources import read_candidates
from topodesign.schedulers.price import price_plans


def test_they_are_priced_by_their_links() -> None:
    graph = nx.hypercube_graph(4)
    found = pareto(16, 4, candidates=["torus(4,4)", build("dicirculant(16,1,2,5,8)"), graph, "circulant(16,3,4)"])
    assert found.entries == pareto(16, 4).entries
    for one, text in zip(found.candidates, ("torus(4,4)", "dicirculant(16,1,2,5,8)", "hypercube(4)"), strict=False):
        assert (one.cost, one.allgather) == price_plans(build(text)).cheapest
        assert one.duplex == build(text).is_duplex
        assert one.found == "own"
    assert [one.label for one in found.candidates][2] == "candidate 3"
    assert found.candidates[3].dominated_by == "circulant(16,3,4)"
    for one in found.candidates:
        as_good = [
            entry
            for entry in found
            if entry.mean.steps <= one.mean.steps and entry.mean.bandwidth <= one.mean.bandwidth
        ]
        assert one.dominated_by == (str(as_good[0].spec) if as_good else None)
    assert found.record()["candidates"][0]["spec"] == "torus(4,4)"
    assert "candidates" not in pareto(16, 4).record()
    assert "torus(4,4) (own) is no better than" in str(found)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("torus(4,5)", "20 nodes of degree 4, and not 16 of degree 4"),
        ("dgx_a100(2)", "fabric"),
    ],
)
def test_what_does_not_fit_is_refused(candidate: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pareto(16, 4, candidates=[candidate])


def test_one_way_links_are_refused_where_cables_are_duplex() -> None:
    with pytest.raises(ParameterError, match="one way only"):
        pareto(16, 4, bidirectional=True, candidates=["genkautz(4,16)"])
    with pytest.raises(SpecError, match="did you mean 'torus'"):
        pareto(16, 4, candidates=["toru(4)"])
    with pytest.raises(ParameterError, match="several"):
        pareto(16, 4, candidates="torus(4,4)")


def test_a_file_has_one_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "links.csv").write_text(write_links(build("hypercube(4)"), "csv"))
    listed = tmp_path / "own.txt"
    listed.write_text("# today\ntorus(4,4)  # wired\n\nlinks.csv\n")
    assert read_candidates(listed) == ["torus(4,4)", str(tmp_path / "links.csv")]
    assert run(["pareto", "-n", "16", "-d", "4", "--candidates", str(listed)]) == 0
    assert "own" in capsys.readouterr().out
    listed.write_text("torus(4,4)\nmissing.csv\n")
    with pytest.raises(FileFormatError, match=r"own.txt: line 2: .*missing.csv"):
        read_candidates(listed)
    listed.write_text("torus(4,4)\ncirculant(17,1,2)\n")
    assert run(["pareto", "-n", "16..17", "-d", "4", "--candidates", str(listed)]) == 0
    assert run(["pareto", "-n", "17..18", "-d", "4", "--candidates", str(listed)]) == 2
    assert "torus(4,4): none of these sizes" in capsys.readouterr().err


@pytest.mark.parametrize(("nodes", "degree"), [(24, 4), (20, 3), (30, 2)])
def test_rows_come_first_and_nothing_that_is_no_topology_of_the_size(nodes: int, degree: int) -> None:
    asked = Question(nodes, degree, False, Objective.read("all-to-all"), Catalog())
    found = sources.read_catalog(asked, exchanges=True)
    rows = {row.spec for row in Catalog().rows(degree, nodes, nodes)}
    assert rows == {one.spec for one in found if one.costs is not None}
    for one in (*found, *sources.find_members(asked)):
        assert (one.topology.nodes, one.topology.degree) == (nodes, degree)
    front = Catalog().frontier(nodes, degree)
    assert {row.name for row in front} == {one.name for one in found} - {None}
    duplex = Question(nodes, degree, True, Objective.read("all-to-all"), Catalog())
    assert all(one.duplex for one in sources.read_catalog(duplex, exchanges=True))

"""Building the catalog: the same result however it is cut up, killed or spread."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.spec import parse
from topodesign.catalog.files import read_rows
from topodesign.catalog.merge import merge_catalog
from topodesign.search import tasks
from topodesign.search.build import Journal, _of_shard, build_catalog
from topodesign.search.candidate import Candidate
from topodesign.search.finder import Finder, base_targets
from topodesign.search.target import FoundDigraph, Target
from topodesign.search.tasks import Effort, Stage, Task, needs, run_task, waves

NODES, DEGREES = range(3, 11), (2, 3)
EFFORT = Effort(seed=1, percent=1)

SCRIPT = """
import sys
from pathlib import Path
from topodesign.cli import main
if __name__ == "__main__":
    main(sys.argv[1:])
"""


class Here(Executor):
    """Does all work in this process; what it compiles, the processes of other tests load."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def build_here(directory: Path, nodes: range, degrees: tuple[int, ...], journal: Path, **options: Any) -> None:
    """Build a catalog without other processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("topodesign.search.build._workers", lambda *_: nullcontext((Here(), 1)))
        build_catalog(directory, nodes, degrees, journal=journal, **{"effort": EFFORT} | options)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of the grid, built at one go and in one process."""
    directory = tmp_path_factory.mktemp("undisturbed")
    build_here(directory, NODES, DEGREES, directory / "journal")
    return directory


def texts(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.glob("*.tsv")}


@pytest.mark.parametrize("size", [(24, 4), (60, 8), (64, 16), (101, 5), (3, 2)])
def test_tasks_come_after_what_they_need(size: tuple[int, int]) -> None:
    plan = waves([size])
    seen: set[Task] = set()
    for wave in plan:
        for task in wave:
            assert seen.issuperset(needs(task)), task
        seen.update(wave)
    assert Task(*size, Stage.REFINE) in seen


@pytest.mark.parametrize(
    "target", [Target(24, 4, True), Target(36, 6, False), Target(25, 4, False), Target(4, 6, True)]
)
def test_finder_asks_for_no_other_sizes(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Finder()
    known = {base: whole.list_kept(base) for base in base_targets(target)}
    wanted = [(one.spec, one.cost) for one in whole.list_kept(target)]
    finder = Finder(known=known)
    plain = Finder._plain

    def only_own(self: Finder, size: Target) -> Iterator[object]:
        assert size == target
        return plain(self, size)

    monkeypatch.setattr(Finder, "_plain", only_own)
    assert [(one.spec, one.cost) for one in finder.list_kept(target)] == wanted


@pytest.mark.parametrize(("steps", "tries"), [(5, 0), (6, 4)])
def test_what_is_far_from_the_bound_is_tried_again(steps: int, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def search(*_: object, seed: int, **__: object) -> list[FoundDigraph]:
        tried.append(seed)
        return []

    monkeypatch.setattr(tasks, "search_neighbours", search)
    known = Cost(steps, Fraction(699, 700))
    own = Candidate(parse("genkautz(4,700)"), known, known, duplex=False, basis=Basis.LINKS)
    target = Target(700, 4, duplex=False)
    assert Effort(seed=5).refine(target, {target: [own]}) == []
    assert tried == list(range(5, 5 + tries))
    assert Effort(percent=0).refine(target, {target: [own]}) == []


def test_every_size_is_there_and_right(undisturbed: Path) -> None:
    for degree in DEGREES:
        rows = read_rows(undisturbed, degree)
        assert {row.nodes for row in rows} == set(NODES)
        assert all(row.duplex for row in rows if row.nodes == degree + 1)  # complete graphs


@pytest.mark.dear
def test_the_result_is_that_of_each_size_alone(undisturbed: Path, tmp_path: Path) -> None:
    for n, degree in ((10, 3), (7, 2)):
        build_here(tmp_path, range(n, n + 1), (degree,), tmp_path / f"{n}")
        assert read_rows(tmp_path, degree, n, n) == read_rows(undisturbed, degree, n, n)
    assert len({row.nodes for row in read_rows(tmp_path, 3)}) == 1


def test_other_sizes_stay(tmp_path: Path) -> None:
    build_here(tmp_path, range(3, 5), (2,), tmp_path / "journal")
    build_here(tmp_path, range(6, 7), (2,), tmp_path / "journal")
    assert sorted({row.nodes for row in read_rows(tmp_path, 2)}) == [3, 4, 6]


@pytest.mark.dear
@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_a_build_killed_again_and_again_ends_up_the_same(kills: int, undisturbed: Path, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), "catalog", "build", "-n", "3..10", "-d", "2..3", "-o", str(tmp_path)]
    command += ["--seed", "1", "--effort", "1", "--jobs", "2"]
    rng = np.random.default_rng(3)
    journal = tmp_path / "build.journal"
    for _ in range(kills):
        started = journal.stat().st_size if journal.exists() else 0
        process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
        wanted = started + int(rng.integers(1, 700))
        while process.poll() is None and (not journal.exists() or journal.stat().st_size < wanted):
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if (lines := journal.read_bytes()) and rng.random() < 0.5:
            journal.write_bytes(lines[: -int(rng.integers(1, 30))])  # what a machine that lost power may have lost
        assert not list(tmp_path.glob("*.tsv"))
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert texts(tmp_path) == texts(undisturbed)


@pytest.mark.dear
def test_finished_work_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_catalog(tmp_path, range(3, 7), [2], effort=EFFORT, journal=tmp_path / "journal", jobs=1)
    before = texts(tmp_path)

    def never(*_args: object) -> None:
        raise AssertionError

    monkeypatch.setattr("topodesign.search.build.run_task", never)
    build_catalog(tmp_path, range(3, 7), [2], effort=EFFORT, journal=tmp_path / "journal", jobs=1)
    assert texts(tmp_path) == before


def test_journal_of_another_build_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal", EFFORT) as journal:
        journal.add(Task(3, 2, Stage.FIND), run_task(Task(3, 2, Stage.FIND), [], EFFORT))
    with pytest.raises(CatalogError, match="another build"):
        Journal(tmp_path / "journal", Effort(seed=2))
    (tmp_path / "text").write_text("a letter\nto a friend\n")
    with pytest.raises(CatalogError, match="not the journal"):
        Journal(tmp_path / "text", EFFORT)
    assert (tmp_path / "text").read_text() == "a letter\nto a friend\n"


@pytest.mark.parametrize(
    "text", ["[]", "{}", "3", "[3, 2, 9]", '[3, 2, 0, "x"]', "[3, 2, 0, 7]", '["3", 2, 0]', "[3", "[NaN, 2, 0]"]
)
def test_lines_of_a_journal_that_say_nonsense_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, EFFORT):
        pass
    with path.open("ab") as stream:
        stream.write(b"%08x %s\n" % (zlib.crc32(text.encode()), text.encode()))
    with pytest.raises(CatalogError, match=r"journal:2: this is not a result"):
        Journal(path, EFFORT)


def test_torn_line_of_a_journal_is_done_again(tmp_path: Path) -> None:
    three = [Task(n, 2, Stage.FIND) for n in (3, 5, 7)]
    path = tmp_path / "journal"
    with Journal(path, EFFORT) as journal:
        for task in three:
            journal.add(task, run_task(task, [], EFFORT))
        whole = dict(journal.results)
    data = path.read_bytes()
    last = len(data.splitlines(keepends=True)[-1])
    for cut in range(1, last, 17):
        path.write_bytes(data[:-cut])
        with Journal(path, EFFORT) as journal:
            assert journal.results == {task: whole[task] for task in three[:2]}
            journal.add(three[2], whole[three[2]])
        assert path.read_bytes() == data


@pytest.mark.thorough
def test_cluster_gives_the_same(undisturbed: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        build_catalog(
            tmp_path,
            NODES,
            DEGREES,
            effort=EFFORT,
            journal=tmp_path / "journal",
            scheduler=cluster.scheduler_address,
        )
    assert texts(tmp_path) == texts(undisturbed)


def test_cluster_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("topodesign.search.build._PATIENCE", "0.2s")
    with pytest.raises(ParameterError, match="no Dask scheduler"):
        build_catalog(tmp_path, NODES, [2], effort=EFFORT, journal=tmp_path / "journal", scheduler="tcp://127.0.0.1:9")


@pytest.mark.dear
def test_shards_are_merged_to_one_build(tmp_path: Path) -> None:
    """Each with a journal of its own; one of them is killed after its first results, and goes on."""
    options, count = {"effort": Effort(percent=0)}, 4
    build_here(tmp_path / "whole", NODES, DEGREES, tmp_path / "journal", **options)
    parts = [tmp_path / str(place) for place in range(count)]
    for place, part in enumerate(parts, start=1):
        build_here(part, NODES, DEGREES, part / "build.journal", shard=(place, count), **options)
    kept = parts[0] / "build.journal"
    before, lines = texts(parts[0]), kept.read_bytes().splitlines(keepends=True)
    for path in parts[0].glob("*.tsv"):
        path.unlink()
    kept.write_bytes(b"".join(lines[:3]) + lines[3][:9])
    build_here(parts[0], NODES, DEGREES, kept, shard=(1, count), **options)
    assert texts(parts[0]) == before
    merge_catalog(parts, tmp_path / "merged")
    assert texts(tmp_path / "merged") == texts(tmp_path / "whole")


def test_shards_are_of_about_as_much_work_and_none_is_missing() -> None:
    sizes = [(degree, nodes) for degree in range(2, 5) for nodes in range(3, 400)]
    shards = [_of_shard(sizes, (place, 8)) for place in range(1, 9)]
    assert [size for shard in shards for size in shard] == sizes == _of_shard(sizes, None)
    work = [sum(nodes * degree + 200 for degree, nodes in shard) for shard in shards]
    assert max(work) < 1.05 * min(work)
    for wrong in ((0, 3), (4, 3), (1,), "1/2", ("a", "b")):
        with pytest.raises(ParameterError):
            _of_shard(sizes, wrong)  # type: ignore[arg-type]

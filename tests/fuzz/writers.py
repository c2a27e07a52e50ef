"""Every writer of files: what it writes, in two versions, and what is at its path when it is ended at any time.

A module that writes must be named here; ``test_writers.py`` finds those that are not.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Generic, NamedTuple, NoReturn, TypeVar

from tests.fuzz.readers import BOUNDS, EXCHANGED, KEPT, PRICED, SWITCHED, WIRING
from tests.samples.plans import plan_of
from topodesign.base.atomic import write_whole
from topodesign.base.shipped import copy_examples, find_shipped_folder
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.files import read_rows, write_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.merge import merge_catalog
from topodesign.catalog.packing import pack_catalog
from topodesign.catalog.verify import _Progress, read_stored_rows
from topodesign.cli.interrupt import Ended, in_order, listen
from topodesign.cli.main import run
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.phases import compile_phases
from topodesign.optima.uneven import price_uneven
from topodesign.plans.files import save_plan
from topodesign.plans.sets import ForSizes, save_plan_set
from topodesign.report.design.design import design
from topodesign.report.page.page import report_page
from topodesign.report.plots import plot
from topodesign.schedulers.circuits.reconfigure import reconfigure
from topodesign.schedulers.failure_plans import failure_plans
from topodesign.schedulers.scheduling import schedule
from topodesign.search.build import Journal
from topodesign.search.tasks import Effort, Stage, Task
from topodesign.topology.library import build
from topodesign.wiring.change.growth import grow
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.exports.change import write_change
from topodesign.wiring.exports.export import FORMATS, export_wiring
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.parts.buy import bill_wiring
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plant.carry import carry
from topodesign.wiring.plant.phases import carry_phases

_Item = TypeVar("_Item")


class Both(Generic[_Item]):
    """What two versions are made of, made when one is first written: every worker of the tests imports this."""

    def __init__(self, make: Callable[[], Sequence[_Item]]) -> None:
        self._make = cache(make)

    def __getitem__(self, version: int) -> _Item:
        return self._make()[version]

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._make())


PLANS = Both(lambda: [schedule(f"circulant(6,1,{jump})", "allgather") for jump in (2, 3)])
PROGRAMS = Both(lambda: [compile_plan(plan) for plan in PLANS])
ROWS = Both(lambda: [read_rows(find_shipped_folder("catalog"), 2, 3, last) for last in (300, 400)])
GROWN = Both(lambda: [grow(WIRING, nodes, 4) for nodes in (7, 8)])
CHANGES = Both(lambda: [change_wiring(WIRING, f"circulant(6,1,{jump})") for jump in (2, 3)])
WIRINGS = Both(lambda: [WIRING, plan_of(build("circulant(6,1,3)"))])
CIRCUITS = Both(lambda: [SWITCHED, plan_of(build("circulant(6,1,3)"), kind="ocs")])
DUPLEX = Both(lambda: [plan_of(build(f"biring(2,{nodes})"), mode="duplex") for nodes in (6, 5)])
BOUGHT = Both(lambda: [bill_wiring(plan, find_shipped_folder("configs") / "parts_neutral.yaml") for plan in DUPLEX])
TIMED = Both(lambda: [schedule("circulant(6,1,2)", "allgather", method="tacos")])
PICTURES = Both(lambda: [plot(build(spec)) for spec in ("circulant(6,1,2)", "circulant(6,1,3)")])
REPORTS = Both(lambda: [report_page(build(spec)) for spec in ("circulant(6,1,2)", "circulant(6,1,3)")])
DECISIONS = Both(
    lambda: [
        design(
            nodes=6,
            degree=ports,
            bandwidth="100Gbps",
            workload={"collectives": [{"collective": "allreduce", "size": "1MiB"}]},
            cabling="duplex",
        )
        for ports in (2, 3)
    ]
)
PLANTS = Both(lambda: [carry(plain_inventory(6, lanes)) for lanes in (2, 3)])
BY_PHASE = Both(lambda: [compile_phases(reconfigure(nodes, 1, delay="0s", size="64MiB").plan) for nodes in (4, 5)])
PHASES = Both(
    lambda: [carry_phases(reconfigure(nodes, 2, delay="0s"), plain_inventory(nodes, 2, kind="ocs")) for nodes in (5, 6)]
)
FABRICS = ["dgx_a100(2)", "mi250(2)"]
PLACES = Both(lambda: read_stored_rows(Catalog(), [2], 3, 400))


class Writer(NamedTuple):
    """A writer.

    Attributes
    ----------
    module
        Where it is, below ``topodesign/``.
    name
        Of what it writes: a file, or a directory.
    write
        Writes version 0 or 1 at a path of that name.
    makes_directory
        Whether it writes a new directory.
    """

    module: str
    name: str
    write: Callable[[Path, int], object]
    makes_directory: bool = False


class Log(NamedTuple):
    """A writer of a file that only grows.

    Attributes
    ----------
    module
        Where it is.
    grow
        Opens the file at a path, and yields after every entry that is in it then.
    read
        Returns how many entries there are; a torn one does not count.
    """

    module: str
    grow: Callable[[Path], Iterator[None]]
    read: Callable[[Path], int]


FOLDERS = {"bringup", "labels", "netbox", "panels", "scpi", "sonic"}
"""Formats of exports that are directories."""


_LISTED = "schedule --collective allgather --algorithm exact --list --set chunks=1"


def _command(*words: str) -> None:
    """Run a command; a signal is heard as in a process of its own."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        status = run(words)
    if status > 128:
        raise Ended(status - 128)
    if status:
        raise OSError("the command failed")


def _fabric(path: Path, version: int) -> None:
    _command("convert", "--as", "fabric", FABRICS[version], "-o", str(path))


def _request(path: Path, version: int) -> None:
    given = ("--nodes", str(12 + version), "--degree", "4", "--bandwidth", "100Gbps")
    _command(
        "design",
        "--init",
        *given,
        "--workload",
        str(find_shipped_folder("configs") / "workload_moe.yaml"),
        "-o",
        str(path),
    )


def _runs(path: Path, version: int) -> None:
    write_whole(path, BOUGHT[version].runs_text())


def _begin(path: Path, version: int) -> None:
    _command("wire", "init", "--hosts", str(2 + version), "--speed", "25Gbps", "-o", str(path))


def _links(path: Path, version: int) -> None:
    _command("convert", "--as", "links", f"circulant(8,1,{2 + version})", "-o", str(path))


def _answer(path: Path, version: int) -> None:
    _command("evaluate", f"circulant(8,1,{2 + version})", "-o", str(path))


def _groups(path: Path, version: int) -> None:
    groups = ("--group", "4x2:0" if version else "4x2:1")
    _command("compile", "torus(4,2)", "--collective", "allgather", *groups, "-o", str(path))


def _timeline(path: Path, version: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan = save_plan(Path(folder) / "p.npz", TIMED[0])
        _command("simulate", str(plan), "--jitter", "1us", "--seed", str(version), "--timeline", str(path))


def _plan_set(path: Path, version: int) -> None:
    save_plan_set(path, [ForSizes(PLANS[version])], alpha=0, bandwidth=1e11)


def _prices(path: Path, version: int) -> None:
    PRICES.write(path.parent, 2, (BOUNDS if version else {(3, "01234567"): Bounds(Fraction(1), Fraction(2))}).items())


def _exchange(path: Path, version: int) -> None:
    EXCHANGE.write(path.parent, 2, KEPT[version:])


def _packed(path: Path, version: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), 2, ROWS[version])
        pack_catalog(Path(folder), path)


def _merged(path: Path, version: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), 2, ROWS[version])
        merge_catalog([folder], path)


def _exported(name: str) -> Both[WiringPlan]:
    if name in {"sonic", "scpi"}:
        return CIRCUITS
    return DUPLEX if name in {"ptm", "topo", "p2p"} else WIRINGS


def _export(name: str) -> Callable[[Path, int], object]:
    return lambda path, version: export_wiring(_exported(name)[version], name, path)


def _journal(path: Path) -> Iterator[None]:
    with Journal(path, Effort()) as journal:
        for n in range(3, 400):
            journal.add(Task(n, 2, Stage.FIND), ROWS[0][:50])
            yield


def _grown(path: Path, version: int) -> None:
    GROWN[version].save(path)


def _changed(path: Path, version: int) -> None:
    write_change(CHANGES[version], path)


def _entries(path: Path) -> int:
    with Journal(path, Effort()) as journal:
        return len(journal.results)


def _progress(path: Path) -> Iterator[None]:
    progress = _Progress(path, "")
    for place in PLACES:
        progress.add([place.row])
        yield


WRITERS = (
    Writer("plans/archive", "p.npz", lambda path, version: save_plan(path, PLANS[version])),
    Writer("compiler/compilation", "p.xml", lambda path, version: PROGRAMS[version].save(path)),
    Writer("catalog/files", "degree_02.tsv", lambda path, version: write_rows(path.parent, 2, ROWS[version])),
    Writer("cli/wire/bill", "runs.csv", _runs),
    Writer("cli/wire/init", "i.yaml", _begin, makes_directory=True),  # nor does it write over a file
    Writer(
        "wiring/change/growth", "grown", lambda path, version: GROWN[version].save(path) and None, makes_directory=True
    ),
    Writer("wiring/exports/change", "c", _changed, makes_directory=True),
    Writer("wiring/plant/answer", "plans", lambda path, version: PLANTS[version].write(path), makes_directory=True),
    Writer(
        "report/design/answer", "decided", lambda path, version: DECISIONS[version].save(path), makes_directory=True
    ),
    Writer("wiring/plan/files", "w.json", lambda path, version: save_wiring(WIRINGS[version], path)),
    Writer("catalog/packing", "packed", _packed, makes_directory=True),
    Writer("catalog/merge", "merged", _merged, makes_directory=True),
    Writer("catalog/all_to_all", PRICED.name, _prices),
    Writer("catalog/all_to_all", EXCHANGED.name, _exchange),
    Writer("report/figures", "f.svg", lambda path, version: PICTURES[version].save(path)),
    Writer("report/page/page", "r.html", lambda path, version: REPORTS[version].save(path)),
    Writer("cli/design", "request.yaml", _request, makes_directory=True),  # nor does it write over a file
    Writer("cli/convert", "f.yaml", _fabric),
    Writer("cli/convert", "l.csv", _links),
    Writer("cli/answers", "a.json", _answer),
    Writer("cli/simulate", "t.csv", _timeline),
    Writer(
        "cli/schedule",
        "plans",
        lambda path, version: _command(*_LISTED.split(), f"uniring(1,{3 + version})", "-o", str(path)),
        makes_directory=True,
    ),
    Writer(
        "schedulers/circuits/reconfigure",
        "circuits",
        lambda path, version: reconfigure(4 + version, 1, alpha="1us").write_circuits(path),
        makes_directory=True,
    ),
    Writer(
        "wiring/plant/phases",
        "commands",
        lambda path, version: PHASES[version].write_commands(path, "scpi"),
        makes_directory=True,
    ),
    Writer("compiler/phases", "programs", lambda path, version: BY_PHASE[version].save(path), makes_directory=True),
    Writer("plans/sets", "set", _plan_set, makes_directory=True),
    Writer(
        "schedulers/failure_plans",
        "failures",
        lambda path, version: failure_plans(f"dgx_a100({1 + version})").save(path),
        makes_directory=True,
    ),
    Writer(
        "optima/uneven",
        "traffic.csv",
        lambda path, version: price_uneven("torus(2,2)", "zipf:1", tokens=8, seed=version).save(path),
    ),
    Writer("cli/compile", "programs", _groups, makes_directory=True),
    Writer(
        "base/shipped",
        "examples",
        lambda path, version: copy_examples("fabric_mi250.yaml" if version else "inventory_testbed.csv", path),
        makes_directory=True,
    ),
    *(
        Writer(
            "wiring/exports/export",
            f"export.{name}",
            _export(name),
            makes_directory=name in FOLDERS,
        )
        for name in FORMATS
    ),
)
LOGS = (
    Log("search/build", _journal, _entries),
    Log("catalog/verify", _progress, lambda path: len(_Progress(path, "").rows)),
)


def content(path: Path) -> dict[str, bytes] | None:
    """Return the bytes at a path, of a directory by the names in it; None if there is nothing."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
        return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}
    return {"": path.read_bytes()} if path.exists() else None


def in_child(work: Callable[[], object]) -> int:
    """Do something in a child of this process, which has all that is loaded here; return its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fork among threads: those of the test runner, which the child lets be
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # till the child can hear it
        child = os.fork()
        if not child:
            _work(work, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


def _work(work: Callable[[], object], unmasked: Iterable[int]) -> NoReturn:
    status = 70
    try:
        for number in (
            signal.SIGINT,
            signal.SIGTERM,
        ):  # a shell that runs the tests behind it has them ignore the first
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, unmasked)
        listen()
        with in_order():
            work()
        status = 0
    except Ended as error:
        status = error.status
    except KeyboardInterrupt:  # before it listens
        status = 130
    finally:
        os._exit(status)


def kill(work: Callable[[], object], number: int, wait: float) -> int:
    """End a child that does something by a signal after some seconds; return its status as a shell does."""
    child = in_child(work)
    time.sleep(wait)
    os.kill(child, number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return 128 - status if status < 0 else status


def again_and_again(writer: Writer, path: Path) -> None:
    """Write both versions by turns, to new directories where that is what is made."""
    for turn in range(10**6):
        writer.write(path.with_name(f"{turn}.{path.name}") if writer.makes_directory else path, turn % 2)


def killed(writer: Writer, folder: Path, number: int, seed: int) -> int:
    """End a writer at a random time; return how many temporary files are left.

    Raises
    ------
    ValueError
        If what it wrote is not whole.
    """
    made = undisturbed(writer)
    work = folder / f"work{seed}"
    work.mkdir()
    path = work / writer.name
    wait = random.Random(f"{writer.module} {seed}").uniform(0.001, 0.03)  # noqa: S311
    status = kill(lambda: again_and_again(writer, path), number, wait)
    if writer.module == "base/shipped":  # which puts files into a directory one after the other
        made = [*made, {}]
    for found in work.iterdir():
        if not found.name.startswith(".") and content(found) not in made:
            raise ValueError(f"{writer.module}: {found.name} is torn")
    if status != 128 + number:
        raise ValueError(f"{writer.module}: it ends with {status}")
    return len(list(work.rglob(".*")))


@cache
def undisturbed(writer: Writer) -> list[dict[str, bytes] | None]:
    """Return both versions of what a writer writes."""
    with tempfile.TemporaryDirectory() as folder:
        return [content_of(writer, Path(folder) / str(version), version) for version in (0, 1)]


def content_of(writer: Writer, folder: Path, version: int) -> dict[str, bytes] | None:
    """Return what a writer writes when nothing disturbs it."""
    folder.mkdir(exist_ok=True)
    path = folder / writer.name
    if not path.exists():
        writer.write(path, version)
    return content(path)


def grown(log: Log, path: Path, seed: int) -> tuple[int, int]:
    """Kill the writer of a file that grows; return how many entries it had written, at least, and how many are read."""
    count = path.with_name("count")
    count.write_bytes(b"")
    assert ROWS[0]  # made here, not in each child
    assert PLACES[0]

    def work() -> None:
        with count.open("ab", buffering=0) as stream:
            for _ in log.grow(path):
                stream.write(b".")

    kill(work, signal.SIGKILL, random.Random(seed).uniform(0.002, 0.05))  # noqa: S311
    written = len(count.read_bytes())
    return written, log.read(path) if path.exists() else 0


def text(folder: Path, kills: int) -> str:
    """End every writer so often by each signal, and return a line for each."""
    lines = []
    for place, writer in enumerate(WRITERS):
        left = {
            number.name: sum(killed(writer, _fresh(folder, place, number), number, kill) for kill in range(kills))
            for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
        }
        lines.append(f"{writer.module} {writer.name}: whole after {kills} of each; temporary files left {left}")
    for place, log in enumerate(LOGS):
        pairs = [grown(log, _fresh(folder, place, signal.SIGHUP) / str(kill), kill) for kill in range(kills)]
        lost = sum(written > read for written, read in pairs)
        lines.append(
            f"{log.module}: {sum(written for written, _ in pairs)} entries in {kills} kills, files with a loss {lost}"
        )
    return "\n".join(lines)


def _fresh(folder: Path, place: int, number: int) -> Path:
    path = folder / f"{place} {number}"
    path.mkdir(parents=True, exist_ok=True)
    return path

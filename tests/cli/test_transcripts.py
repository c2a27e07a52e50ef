"""The table of command lines: each runs once, and all that it prints is checked.

The exit status is that before the line, or 0. The document is what its schema says: no key more, none fewer, and
nothing stale. Its rows make a table of comma-separated values, and its text fits the narrowest terminal, where it is
one result. What commands print for people is shown, and checked, in the pages of ``docs/`` (``tests/test_docs.py``).
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

import topodesign
from tests.cli.test_answers import ALL
from tests.pages import PAGES, empty_directory
from tests.samples.inventories import FIVE_HOSTS
from tests.samples.logs import EXECUTOR, call, info, warn
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared
from topodesign.base.entry_points import FAMILIES, Plugin
from topodesign.base.errors import ParameterError
from topodesign.base.fitted import fit_lines
from topodesign.base.records import Result, TextResult
from topodesign.base.tables import write_csv
from topodesign.catalog.rows import read_row
from topodesign.cli.answers import flat
from topodesign.cli.main import program, run
from topodesign.report import first_use
from topodesign.report.schemas import shapes
from topodesign.report.schemas.documents import FILES, SHAPES, identifier
from topodesign.report.schemas.outline import lines_of, outline, reference_page
from topodesign.report.table import print_result

Json = dict[str, Any]
HINT = """
What `topodesign {command} --json` prints is declared by the class that topodesign/report/schemas/documents.py names:
for a new key add it to KEYS there (topodesign/base/records.py says how). Where a key goes or means something else,
raise the version in documents.py as well."""

CASES = {
    "topologies": """
        pareto -n 12 -d 4 --duplex
        pareto -n 16 -d 4 --add torus,ring,slimfly --size 1MiB --size 1GiB
        pareto -n 16 -d 4 --collective all-to-all
        pareto --boxes dgx_h100 -n 2 --add slimfly
        pareto --boxes dgx_h100 -n 2 --workload workload_moe.yaml
        pareto -n 16 -d 4 --workload workload_moe.yaml
        pareto -n 151 -d 5 --top 1
        pareto -n 16 -d 4 --candidates own.txt
        pareto -n 13 -d 4 --near near.json
        pareto -n 2..3 -d 1 --duplex --catalog none --time-limit 0s
        pareto -n 9 -d 2 --catalog none --time-limit 0.1s
        pareto -n 12 -d 3..4
        pareto --inventory five.yaml
        pareto --inventory five.yaml --near near4.json --top 1 --add ring
        pareto -n 16..17 -d 4 --candidates own.txt --add torus --top 1
        pareto -n 16 -d 4 --near near.json --candidates own.txt --add torus --top 1
        pareto --boxes dgx_h100 -n 2..3 -d 1 --duplex --workload workload_moe.yaml --add torus,slimfly
        pareto --inventory inventory_testbed.yaml -n 6 -d 2 --top 1
        compare best torus ring slimfly dgx_a100(2) -n 16 -d 4 --prices cable=50
        compare best fattree -n 16 -d 4 --workload workload_moe.yaml
        training model_gpt3.yaml --on torus(4,2) --on slimfly -d 4 --set data=1,tensor=4,pipeline=2
        training workload_moe.yaml --on torus(4,2)
        design asked.yaml -o decided
        design boxed.yaml
        design crowded.yaml
        design trained.yaml
        catalog show -n 12 -d 4
        catalog show -n 12..14 -d 4
        catalog status -d 4 -n 2..20
        catalog status -d 4 -n 5..20 --compare-bound
        catalog status -d 4 -n 5..20 --compare-bound --collective all-to-all
        catalog build -n 3..5 -d 2 --effort 0 -o cat --jobs 1
        catalog verify -d 2 -n 3..5 --catalog cat --jobs 1
        catalog improve -d 2 -n 8 -o improved --catalog cat --time-limit 9s
        catalog improve -d 5 -n 12 -o exchanged --catalog cat --for all-to-all --time-limit 4s
        catalog merge cat improved -o merged
        catalog diff cat -d 2 -n 3..5
        catalog improve --prices-only --catalog cat -d 2
        1 catalog verify -d 2 --catalog wrong --jobs 1
        compare torus(3,3) --collective allgather --size 64KiB --algorithm spff --algorithm tacos --algorithm stored
        compare dgx_a100(1) --algorithm forest --algorithm bruck
        pareto --plot-kind frontier -n 12 -d 4
        pareto --plot-kind times -n 12 -d 4
        pareto --plot-kind sizes -n 12..14 -d 4
        pareto --plot-kind construction -n 12..14 -d 4
        pareto --plot-kind page -n 5 -d 2 --add ring
        pareto --plot-kind page -n 72 -d 4
        evaluate dgx_a100(2) --collective allgather
        evaluate dgx_a100(2) --collective all-to-all --prices InfiniBand=1
        evaluate dgx_a100(2) --collective scatter --root box0/gpu0
        evaluate dgx_a100(2) --collective broadcast --root box0/gpu0
        evaluate dgx_a100(2) --set max-trees=2 --set pareto=yes --size 1GB --collective allgather
        evaluate dgx_a100(2) --set trees=2 --size 1GB --collective allgather
        evaluate dgx_a100(2) --fail box0/gpu0-rail0 --collective allgather
        evaluate dgx_a100(2) --collective all-to-all --fail box0/gpu0
        evaluate dgx_a100(2) --algorithm fluid --prices InfiniBand=1 --fail box0/gpu0-rail0 --collective allgather
        evaluate torus(3,3) --collective allreduce
        evaluate torus(3,3) --set proof=no --collective allgather
        evaluate star.yaml --shards 2,1,1 --collective allgather
        evaluate limited.yaml --collective allgather
        evaluate torus(4,4) --group 4x4:0 --collective all-to-all
        evaluate circulant(12,2,3)
        evaluate catalog(12,4,1)
        evaluate links.csv --size 1MiB --size 1GiB
        evaluate genkautz(4,30) --effort exact
        evaluate torus(3,3) --traffic zipf:1 --set tokens=90
        evaluate fat_tree(2,2,2) --traffic dirichlet:0.5 --set tokens=90
        evaluate --plot-kind structure torus(3,3)
        evaluate --plot-kind orbits circulant(12,2,3)
        evaluate --plot-kind boxes dgx_a100(2)
        evaluate --plot-kind distances torus(3,3)
        evaluate --plot-kind bottleneck dgx_a100(2)
        evaluate --plot-kind page circulant(5,1,2)
        evaluate --plot-kind page torus(9,8)
        evaluate --plot-kind page catalog(200,6,2)
        evaluate --plot-kind page dgx_a100(1)
    """,
    "fabrics": """
        convert --as fabric dgx_a100(2) --fail box0/gpu0>box0/nvswitch
        upgrade dgx_a100(2) --prices InfiniBand=900 --target 350GB/s --collective allgather
        upgrade dgx_a100(1) --prices NVLink=900 --budget 7200 --collective allgather
        upgrade star.yaml --budget 2700 --collective allgather
        convert --as fabric dgx_a100(1)
        convert --as fabric star.yaml
        convert --as fabric shared.yaml
        convert --as links circulant(5,1,2)
    """,
    "plans": """
        schedule circulant(12,2,3) -o rounds.npz
        schedule circulant(12,2,3) --collective all-to-all -o peeled.npz
        schedule circulant(10,1,3) --collective all-to-all -o longer.npz
        schedule hypercube(3) --collective allgather --set chunks=1 -o chunks.npz
        schedule line(kautz(2,1)) -o both.npz
        schedule torus(4,4) --collective allgather --group 4x4:0 -o groups.npz
        schedule dgx_a100(2) --collective allreduce -o trees.npz
        schedule star.yaml --collective allgather --shards 2,1,1 -o switched.npz
        schedule dgx_a100(2) --collective all-to-all -o paths.npz
        schedule dgx_a100(2) --algorithm two-level -o stages.npz
        schedule torus(3,3) --algorithm tacos --collective allgather -o timed.npz
        schedule torus(3,3) --traffic 0,1,2=allgather --traffic *=all-to-all@1KiB+3us -o together.npz
        verify together.npz
        schedule torus(3,3) --algorithm exact --collective allgather -o exact.npz
        schedule torus(2,3) --algorithm tacos-ilp --collective allgather -o ilp.npz
        schedule biring(2,4) --collective allgather --algorithm exact --list --set chunks=2 --size 64KiB
        schedule torus(4,4) --collective broadcast --algorithm pipeline --list --root 0 --size 64KiB --size 1GiB
        schedule torus(4,4) --collective broadcast --algorithm pipeline --list --group 4x4:0 --forward --root first
        verify rounds.npz
        simulate rounds.npz --plot-kind page
        verify trees.npz
        verify switched.npz
        verify paths.npz
        verify stages.npz
        verify timed.npz
        1 verify wrong_rounds.npz
        1 verify wrong_trees.npz
        reconfigure -n 5 -d 2 --collective allgather -o phases.npz
        verify phases.npz
        reconfigure -n 5 -d 1 --collective allgather --delay 0s --size 64MiB -o changing.npz
        compile changing.npz -o by_phase
        verify by_phase
        schedule torus(3,3) --collective all-to-all --algorithm dimension-order -o routed.npz
        verify routed.npz
        simulate rounds.npz --size 1MiB --size 1GiB
        1 simulate rounds.npz --fail 0>2
        simulate rounds.npz --training workload_resnet50.csv
        simulate trees.npz --size 1GB
        1 simulate trees.npz --fail box0/gpu0>box0/nvswitch
        simulate paths.npz
        simulate timed.npz
        run rounds.npz --sweep 1KiB..4MiB --factor 64 --iterations 3
        run wrong_rounds.npz --no-verify --size 1KiB --iterations 1
        run together.npz --size 1KiB --iterations 1
        compile circulant(12,2,3) --inplace -o program.xml
        compile torus(2,3) --size 1MiB -o served.xml
        compile torus(2,3) --size 1MiB --target mscclpp -o served.json
        1 doctor --program served.xml --call allreduce:1MiB:bf16 --call allreduce:100B
        doctor --program served.json --call allreduce:1MiB
        compile star.yaml --collective allgather -o trees.xml
        compile torus(4,4) --collective allgather --group 4x4:0 -o programs
        compile biring(2,3) --collective broadcast --all-roots -o roots
        compile torus(3,3) --collective allgather --target chakra -o traces
        compile torus(3,3) --collective broadcast --root 2 --target mscclpp -o plan.json
        compile star.yaml --collective allgather --target mscclpp -o tree_plan.json
        compile torus(3,3) --collective allgather --target jax -o module.py
        compile star.yaml --collective allgather --target jax -o tree_module.py
        compile biring(2,4) --for all --target jax --group 0,1 -o set
        compile biring(2,4) --for workload_moe.yaml -o job
        verify set
        1 verify set --network uniring(1,4)
        1 doctor run.log --program program.xml
        1 doctor run.log
        compile star.yaml --collective allgather --target chakra -o tree_traces
        verify traces
        verify program.xml
        verify plan.json
        verify module.py
        1 verify wrong.xml
        1 verify no_program.xml
        reconfigure -n 9 -d 2 --delay 1us
        reconfigure -n 6 -d 1 --collective allreduce --duplex --dark moved
        reconfigure -n 6 -d 1 --group 3x2:0
        reconfigure -n 5 -d 2 --collective allgather --duplex --inventory five.yaml
        reconfigure -n 4 -d 1 --group 2x2:0 --duplex --inventory five.yaml
        simulate --plot-kind timeline circulant(12,2,3)
        simulate --plot-kind utilization circulant(12,2,3)
    """,
    "commands": """
        examples
        examples inventory_testbed.yaml -o copies
        info
        info json
        info json wire plan
        info plugins
        kernels --jobs 1
        info families
        info families kautz
        info runtimes
        info runtimes mscclpp
        info algorithms
    """,
    "wirings": """
        wire plan circulant(12,2,3) --simplex --inventory inventory_testbed.yaml -o testbed.json
        wire plan biring(2,12) --inventory inventory_testbed.yaml --place
        wire plan biring(4,12) --inventory inventory_testbed.yaml
        wire plan torus(8,4) --inventory inventory_pods.yaml -o pods.json
        wire show --loss pods.json
        wire bill pods.json --parts parts_neutral.yaml
        wire plan circulant(8,1,2) --inventory trays.yaml -o trays.json
        wire bill trays.json --way trunks
        wire show pods.json
        wire show --loss testbed.json
        wire change testbed.json torus(3,4)
        wire change testbed.json torus(3,4) --no-throughput
        wire change testbed.json circulant(3,1) --inventory other.yaml --max-dark 4
        wire change testbed.json circulant(5,1) --downtime --no-throughput
        wire plan circulant(11,2,3) --inventory inventory_testbed.yaml -o eleven.json
        wire change eleven.json 12 --no-throughput
        wire change testbed.json circulant(3,1) --inventory zeros.yaml --max-dark 4 --no-throughput
        1 wire check testbed.json --lldp observed_testbed.csv
        repair testbed.json --fail host01
        failures testbed.json --kind cable --top 1
        wire show testbed.json
        wire show testbed.json C11 host01:eth0/4
        wire show --addresses pods.json --ipv6 fd64::/48 --interfaces names.csv
        wire check testbed.json --export patches.csv
        wire plan circulant(4,1) --inventory switched.yaml -o switched.json
        failures torus(3,3) --collective allgather
        failures torus(3,3) --output failed --collective allgather
        repair trees.npz --fail box0/gpu0-rail0 -o left.npz
    """,
}
"""Command lines whose documents have to meet every variant and every key of the schemas of their commands."""

NARROW = 60
"""Columns of the narrowest terminal."""
BY_THE_CLOCK = ("schedule with --list.unsettled[].", "run.runs[].own.")
"""Keys that are met or not as the machine is slow or fast, or whether it has MPI."""
OF_REPORTS = ("report_", "mark.", "simulate with --plot-kind page.")
"""Keys of reports, which those of ``pareto`` and ``evaluate`` in the area of topologies meet."""
NOT_OF_THE_CATALOG = ("frontier.candidates", "catalog show for")
"""Keys that ``pareto`` writes and meets, and that the same answer has no need of where it is of the catalog alone."""
OF_ROOMS = tuple(f"{command} with --plot-kind page.summary.picture Racks" for command in ("evaluate", "pareto"))
"""Pictures of rooms, which only pages of ``design`` have: tests/report/page/test_decision.py."""
FILES_MADE = {
    "five.yaml": FIVE_HOSTS,
    "crowded.yaml": "degree: 2\nbandwidth: 100Gbps\nroom: other.yaml\nrivals: []\ngrow: [5]\n"
    "workload: {collectives: [{collective: allreduce, size: 1MiB}]}\n",
    "asked.yaml": "nodes: 6\ndegree: 2\nbandwidth: 100Gbps\nrivals: [slimfly]\ngrow: [7]\n"
    "workload: {collectives: [{collective: allreduce, size: 8KiB}]}\nprices: {cable: 3}\nwatts: {port: 2}\n",
    "boxed.yaml": "boxes: 2\nbox: dgx_h100\nworkload: {collectives: [{collective: allgather, size: 1MiB}]}\n",
    "trained.yaml": "nodes: 4\ndegree: 2\nbandwidth: 100Gbps\nmodel: {layers: 1, hidden: 64, heads: 4, "
    "vocabulary: 1000, sequence: 64, batch: 4, flops: 1T, data: 4}\n",
    "own.txt": "torus(4,4)\ncirculant(16,3,4)\n",
    "links.csv": "src,dst\n0,1\n1,2\n2,0\n",
    "limited.yaml": "nodes: [a, b]\nlinks: [{from: a, to: b, bandwidth: 2GB/s, duplex: true}]\n"
    "shared: [{name: both, bandwidth: 1GB/s, links: [{from: a, to: b, duplex: true}]}]\n",
    "star.yaml": "name: star\nnodes: [a, b, c]\nswitches: [t, {name: s, multicast: true, aggregation: true}]\nlinks:\n"
    + "".join(f"- {{from: {node}, to: s, bandwidth: 10GB/s, duplex: true, class: up}}\n" for node in "abct")
    + "prices: {up: 900/5GB/s}\n",
    "shared.yaml": "nodes: [a, b]\nswitches: [{name: m, memory: true}]\nlinks:\n"
    + "".join(f"- {{from: {node}, to: m, bandwidth: 10GB/s, duplex: true}}\n" for node in "ab")
    + "shared:\n- {name: bus, bandwidth: 15GB/s, links: [{from: a, to: m}, {from: m, to: b}]}\n",
    "no_program.xml": "<algo/>",
    "switched.yaml": "hosts: [{name: 'h[1-4]', site: lab, rack: r1, unit: '[1-4]', "
    "ports: [{name: 'e[0-1]', connector: LC, speed: 25Gbps}]}]\n"
    "panels: [{name: ocs, kind: ocs, site: lab, rack: r2, unit: 1, ports: [{label: '[1-8]', mode: simplex}]}]\n",
    "trays.yaml": "hosts: [{name: 'h[1-8]', rack: r1, unit: '[1-8]', "
    "ports: [{name: e, connector: MPO-12, speed: 100Gbps}]}]\n"
    "panels: [{name: ocs, kind: ocs, rack: r2, unit: 1, ports: [{label: '[1-32]', mode: simplex}]}]\n"
    "trays: [{from: r1, to: r2, length: 2m, width: 300mm, depth: 100mm}]\nparts: parts_neutral.yaml\n",
    "zeros.yaml": "hosts: [{name: 'host[001-004]', site: lab, rack: r1, unit: '[1-4]', "
    "ports: [{name: eth0, connector: MPO-12, speed: 25Gbps}]}]\n"
    "panels: [{name: new, kind: patch panel, site: lab, rack: r2, unit: 1, "
    "ports: [{label: '[1-16]', mode: simplex}]}]\n",
    "other.yaml": "hosts: [{name: 'host[01-04]', site: lab, rack: r1, unit: '[1-4]', "
    "ports: [{name: eth0, connector: MPO-12, speed: 25Gbps}]}]\n"
    "panels: [{name: new, kind: patch panel, site: lab, rack: r2, unit: 1, "
    "ports: [{label: '[1-16]', mode: simplex}]}]\n",
    "run.log": EXECUTOR
    + info(call())
    + warn("MSCCL: too many sends per channel. Max allowed 32")
    + info("NCCL_ALGO set by environment to RING."),
}


def _mistaken(name: str) -> None:
    """Make the files that are wrong in some way, out of those that are right."""
    if name == "wrong":
        lines = Path("cat/degree_02.tsv").read_text().splitlines(keepends=True)
        Path("wrong").mkdir()
        at = next(place for place, line in enumerate(lines) if line.startswith("5\t"))
        row = read_row(lines[at].rstrip("\n"))
        lines[at] = replace(row, cost=Cost(row.cost.steps + 1, row.cost.bandwidth)).line + "\n"
        Path("wrong/degree_02.tsv").write_text("".join(lines))
    elif name == "wrong_rounds.npz":
        plan = topodesign.load_plan("rounds.npz")
        topodesign.save_plan(name, replace(plan, claim={**plan.claim, "steps": plan.claim["steps"] - 1}))
    elif name == "trees.npz":
        topodesign.save_plan(name, topodesign.schedule("dgx_a100(2)", "allreduce"))
    elif name == "wrong_trees.npz":
        plan = topodesign.load_plan("trees.npz")
        topodesign.save_plan(name, replace(plan, claim={**plan.claim, "height": plan.claim["height"] + 1}))
    elif name == "wrong.xml":
        Path(name).write_text(Path("program.xml").read_text().replace('cnt="2"', 'cnt="3"', 1))
    elif name == "near.json":
        topodesign.save_wiring(topodesign.plan_wiring("circulant(12,2,3)", topodesign.plain_inventory(12, 4)), name)
    elif name == "near4.json":
        topodesign.save_wiring(topodesign.plan_wiring("biring(2,4)", topodesign.plain_inventory(4, 2)), name)
    elif name == "patches.csv":
        topodesign.export_wiring("testbed.json", "patches", name)
    elif name == "names.csv":
        rows = ["host,port,interface,device", *(f"a01,fab0/{lane},fab0s{lane - 1},mlx5_{lane}" for lane in range(1, 5))]
        Path(name).write_text("\n".join(rows))


def _command(words: list[str]) -> str:
    return " ".join(words[: 1 + isinstance(program.get_command(click.Context(program), words[0]), click.Group)])


def document(line: str) -> tuple[str, Json]:
    """Run a command line, check how it ends, and return the command and what it prints."""
    begins, _, rest = line.partition(" ")
    expected, words = (int(begins), shlex.split(rest)) if begins.isdigit() else (0, shlex.split(line))
    for word in words:
        if word in FILES_MADE:
            for name in (word, *(name for name in FILES_MADE if name in FILES_MADE[word])):
                Path(name).write_text(FILES_MADE[name])
        elif not Path(word).exists():
            _mistaken(word)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run([*words, "--json"])
    assert out.getvalue(), f"{line}: {err.getvalue()}"
    assert status == expected, f"{line} ends with {status}: {err.getvalue()}"
    return _command(words), json.loads(out.getvalue())


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """All results that are made a document, but for those inside others."""
    found: list[Result] = []
    inside = [0]
    record = Declared.record

    def noting(self: Declared) -> Json:
        if isinstance(self, Result) and not inside[0]:
            found.append(self)
        inside[0] += 1
        try:
            return record(self)
        finally:
            inside[0] -= 1

    monkeypatch.setattr(Declared, "record", noting)
    return found


REPR = re.compile(r"<[A-Z][a-z]+[: ]|\b(Fraction|Spec|Path|array|Inventory)\(|\b(None|True|False|nan)\b|\['")
"""What Python values look like where they are printed as they are."""
DIALECT = re.compile(
    r"of half one|\b(is|are) (said|told|refused)\b|leaves? .* out\b|nobody|everybody|held? against|set against|so many|"
    r"as few as|what (is|are) left|is there already|without it\b|does not go with|exclude each other|\bknows\b|"
    r"handed? on|anew\b|goes over|the fullest|dearer|proved\b|proven to be|otherwise:|runners?-up|\bwish|torn\b|"
    r"rows of the catalog|one after the other|all the same|what to do|as it is\b|in the order of the nodes|\by = "
)
"""Words that no result prints: each has a plainer one."""
UNIT = re.compile(r"^-?[0-9.]+ ?(ns|us|ms|s|dB|m|[kMG]?B/s|[kMG]?bps)( |\*|$)")


def unlawful(result: Result) -> Iterator[str]:
    """Yield the lines and columns of a result that break the laws of output.

    The first line names the subject, no table has a unit in its cells, no cell is empty, no value is a repr of Python,
    and the last line says something.
    """
    lines = str(result).splitlines()
    if not re.search(r"[0-9]|\w+\(|[a-z]+\.[a-z]+| of | on ", lines[0]) or lines[0].lstrip().startswith(("-", "*")):
        yield f"the first line has no subject: {lines[0]}"
    if not lines[-1].strip() or lines[-1].endswith(":"):
        yield f"the last line is no conclusion: {lines[-1]!r}"
    yield from (f"as Python shows it: {line}" for line in lines if REPR.search(line))
    yield from (f"a word with a plainer one: {line}" for line in lines if DIALECT.search(line))
    table = result.table()
    for title, cells in zip(table.columns, zip(*table.rows, strict=True), strict=False):
        if table.titled and title not in table.words:
            yield from (f"column {title}: a unit in {cell!r}" for cell in cells if UNIT.search(cell.strip()))
        if table.titled and not all(cell.strip() for cell in cells):
            yield f"column {title}: an empty cell"


def misprinted(result: Result) -> Iterator[str]:
    """Yield the lines of a result that are too long for the narrowest terminal, and rows unlike their header."""
    if isinstance(result, TextResult):
        text = fit_lines(str(result), NARROW)
    else:
        print_result(result, Console(file=(screen := Terminal()), width=NARROW, force_terminal=True))
        text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    if not text.strip():
        yield f"{result!r} prints nothing"
    yield from (line for line in text.splitlines() if len(line.rstrip()) > NARROW)
    names = list(dict.fromkeys(name for row in result.to_records() for name in flat(dict(row))))
    rows = [[flat(dict(row)).get(name, "") for name in names] for row in result.to_records()]
    header, *cells = csv.reader(io.StringIO(write_csv([names, *rows])))
    yield from (f"as CSV: {row}" for row in cells if len(row) != len(header))


def complaint(command: str, found: Json) -> str:
    """Return what a document has that its schema has not, or the other way round; nothing if they agree."""
    schema = topodesign.json_schema(command)
    variants = schema.get("anyOf") or [{name: shape for name, shape in schema.items() if name[0] != "$"}]
    defs = schema.get("$defs", {})
    wrong = [list(Draft202012Validator({"$defs": defs, **one}).iter_errors(found)) for one in variants]
    errors = min(wrong, key=lambda some: (len(some), sum(map(len, (one.message for one in some)))))
    said = "\n".join(f"  {one.json_path}: {one.message[-300:]}" for one in errors[:5])
    return f"{said}{HINT.format(command=command)}" if errors else ""


def parts(shape: Json, where: str, defs: Json) -> Iterator[str]:
    """Yield all keys and all variants that are objects of a schema."""
    if "$ref" in shape:
        name = shape["$ref"].rsplit("/", 1)[1]
        yield from parts(defs[name], name, defs)
    for place, one in enumerate(shape.get("anyOf", ())):
        if "properties" in one:
            yield f"{where} {one.get('description', place)}"
        yield from parts(one, f"{where} {one.get('description', place)}" if "properties" in one else where, defs)
    for name, inner in {**shape.get("properties", {}), **shape.get("patternProperties", {})}.items():
        yield f"{where}.{name}"
        yield from parts(inner, f"{where}.{name}", defs)
    for name in ("items", "additionalProperties"):
        if isinstance(shape.get(name), dict):
            yield from parts(shape[name], f"{where}[]", defs)


def met(shape: Json, value: object, where: str, defs: Json) -> Iterator[str]:
    """Yield those of :func:`parts` that a value has."""
    if "$ref" in shape:
        name = shape["$ref"].rsplit("/", 1)[1]
        yield from met(defs[name], value, name, defs)
    for place, one in enumerate(shape.get("anyOf", ())):
        if Draft202012Validator({"$defs": defs, **one}).is_valid(value):
            variant = f"{where} {one.get('description', place)}" if "properties" in one else where
            yield from (variant, *met(one, value, variant, defs))
    if isinstance(value, dict):
        for name, inner in shape.get("properties", {}).items():
            if name in value:
                yield from (f"{where}.{name}", *met(inner, value[name], f"{where}.{name}", defs))
        yield from (
            f"{where}.{pattern}"
            for pattern in shape.get("patternProperties", {})
            if any(re.search(pattern, name) for name in value)
        )
        if isinstance(shape.get("additionalProperties"), dict):
            for inside in value.values():
                yield from met(shape["additionalProperties"], inside, f"{where}[]", defs)
    elif isinstance(value, list) and isinstance(shape.get("items"), dict):
        for inside in value:
            yield from met(shape["items"], inside, f"{where}[]", defs)


@pytest.mark.budget(30)
@pytest.mark.parametrize("area", CASES)
def test_all_that_commands_print(area: str, results: list[Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is of its schema, and every key and variant of these is in a document."""
    plugin = Plugin("topodesign.families", "chordalring", "topodesign-chordal", "1.0", "chordal:ring")
    monkeypatch.setitem(vars(FAMILIES), "_opened", ({}, (plugin,)))
    monkeypatch.setattr(first_use, "_USES", {"_plan_timed": None})  # all are those of tests/report/test_figures.py
    expected: set[str] = set()
    seen: set[str] = set()
    with empty_directory():
        topodesign.copy_examples(
            [
                "workload_moe.yaml",
                "model_gpt3.yaml",
                "workload_resnet50.csv",
                "inventory_testbed.yaml",
                "inventory_pods.yaml",
                "parts_neutral.yaml",
                "observed_testbed.csv",
            ],
            ".",
        )
        for line in filter(None, map(str.strip, CASES[area].splitlines())):
            results.clear()
            command, found = document(line)
            assert not (wrong := complaint(command, found)), f"{line}:\n{wrong}"
            for one in results:
                assert not (broken := list(unlawful(one))), f"{line}:\n" + "\n".join(broken)
            if len(results) == 1:
                assert not (wide := list(misprinted(results[0]))), f"{line}:\n" + "\n".join(wide)
            schema = topodesign.json_schema(command)
            assert command in FILES or found["schema"] == schema["$id"]
            defs = schema.get("$defs", {})
            expected |= set(parts(schema, command, defs))
            seen |= set(met(schema, found, command, defs))
    skipped = (*BY_THE_CLOCK, *NOT_OF_THE_CATALOG, *OF_ROOMS, *(OF_REPORTS if area != "topologies" else ()))
    unmet = sorted(one for one in expected - seen if not one.startswith(skipped))
    assert not unmet, f"no document has {unmet}; add a command line, or take them away"


IN_HELP = frozenset({"pareto", "evaluate", "schedule", "simulate", "verify", "wire plan", "wire show"})
"""Commands whose examples in help texts run as they are; those of others take longer, or need what is not here."""


@pytest.mark.budget(12)
def test_examples_in_help_texts_print_what_their_schemas_say(results: list[Result]) -> None:
    """In one folder, what writes files first."""
    lines = [words for _, words in SHOWN if " ".join(words[: 1 + (words[0] == "wire")]) in IN_HELP]
    lines.sort(key=lambda words: words[0] != "schedule" and words[:2] != ["wire", "plan"])
    ran = set()
    with empty_directory():
        topodesign.copy_examples(["inventory_testbed.yaml"], ".")
        first = next(words for _, words in SHOWN if words[:2] == ["wire", "init"] and words[-1] == "room.yaml")
        assert run(first) == 0
        for words in lines:
            results.clear()
            command, found = document(shlex.join(words))
            assert not (wrong := complaint(command, found)), f"{words}:\n{wrong}"
            ran.add(command)
    assert ran == IN_HELP


def test_every_command_that_prints_json_has_a_schema_and_a_test() -> None:
    def printing(group: click.Group, prefix: str = "") -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            inner = group.get_command(context, name)
            if isinstance(inner, click.Group):
                yield from printing(inner, f"{prefix}{name} ")
            elif inner is not None and any("--json" in one.opts for one in inner.params):
                yield prefix + name

    lines = [line.strip() for lines in CASES.values() for line in lines.splitlines() if line.strip()]
    known = set(printing(program))
    assert known == set(SHAPES), "SHAPES in topodesign/report/schemas/documents.py lists commands with --json"
    ours = {_command(shlex.split(line.removeprefix("1 "))) for line in lines}
    assert known == ours, "CASES here has a line for every command"
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert {one for one in known if f"topodesign {one}" not in shown} <= {"catalog show"}, "a page has every command"


def nested(shape: object) -> Iterator[Json]:
    if isinstance(shape, dict):
        yield shape
        for inner in shape.values():
            yield from nested(inner)
    elif isinstance(shape, list):
        for inner in shape:
            yield from nested(inner)


@pytest.mark.parametrize("command", SHAPES)
def test_schemas_are_strict_and_say_what_keys_mean(command: str) -> None:
    schema = topodesign.json_schema(command)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == identifier(command)
    for shape in nested(schema):
        if "properties" in shape and "type" in shape and "required" in shape:
            assert shape["additionalProperties"] is False
            unsaid = [name for name, one in shape["properties"].items() if not {"description", "$ref"} & one.keys()]
            assert not unsaid, unsaid
    assert outline(command).startswith(identifier(command))
    keys = {line.name for line in lines_of(schema)}
    assert keys >= set(schema.get("properties", {}))


def test_the_reference_has_every_command_and_its_links_lead_to_headings() -> None:
    page = reference_page()
    headings = re.findall(r"^##+ (.+)$", page, re.MULTILINE)
    assert set(SHAPES) <= set(headings)
    assert set(re.findall(r"\]\(#([\w-]+)\)", page)) <= {heading.replace(" ", "-") for heading in headings}
    assert page.count("`topodesign/") == len({id(shape) for command, shape in SHAPES.items() if command not in FILES})


def test_a_key_more_or_fewer_is_found() -> None:
    with empty_directory():
        command, found = document("evaluate torus(3,3)")
    assert not complaint(command, found)
    assert "'more' was unexpected" in complaint(command, {**found, "more": 1})
    assert "report/schemas/" in complaint(command, {**found, "more": 1})
    assert "'nodes' is a required" in complaint(command, {key: found[key] for key in found if key != "nodes"})
    inner = {**found, "lower_bound": {**found["lower_bound"], "more": 1}}
    assert "$.lower_bound" in complaint(command, inner)
    assert "does not match" in complaint(command, {**found, "bandwidth": "0.5"})


def test_unknown_commands_are_refused() -> None:
    with pytest.raises(ParameterError, match="did you mean 'evaluate'"):
        topodesign.json_schema("evaluat")
    assert run(["info", "json", "song"]) == 2


def test_shapes_are_what_they_say() -> None:
    shape = shapes.record(
        {"a": shapes.tuple_of(shapes.text(), shapes.integer()), "b?": shapes.nullable(shapes.word("c"))}
    )
    right = Draft202012Validator(shape)
    assert right.is_valid({"a": ["x", 1], "b": None})
    assert right.is_valid({"a": ["x", 1], "b": "c"})
    assert not right.is_valid({"a": ["x", 1], "b": "d"})
    assert not right.is_valid({"a": ["x", -1]})
    assert not right.is_valid({"a": ["x"]})
    assert not right.is_valid({"a": ["x", 1, 2]})


# -- every command shows examples in its help, which parse; ``test_transcripts.py`` runs those that are cheap ---------


def groups() -> dict[tuple[str, ...], click.Command]:
    """The groups of commands, the program itself among them."""
    context = click.Context(program)
    known = {(path[0],): program.get_command(context, path[0]) for path in ALL if len(path) > 1}
    return {(): program, **{path: one for path, one in known.items() if one is not None}}


def examples(command: click.Command) -> list[list[str]]:
    """The example calls of a help text, as words."""
    text = " ".join((command.help or "").split())
    match = re.search(r"(?:Examples?|Start with): (topodesign .*)", text)
    if match is None:
        return []
    calls = re.split(r"[,;] (?=topodesign )", match[1].replace("\b", ""))
    return [shlex.split(call)[1:] for call in calls]


SHOWN = [(path, words) for path, one in {**ALL, **groups()}.items() for words in examples(one)]


@pytest.mark.parametrize("path", [*ALL, *groups()], ids=lambda path: " ".join(path) or "topodesign")
def test_every_help_text_has_an_example_of_that_command(path: tuple[str, ...]) -> None:
    shown = [words for other, words in SHOWN if other == path]
    assert shown
    assert any(tuple(words[: len(path)]) == path for words in shown)


@pytest.mark.parametrize(("path", "words"), SHOWN, ids=[" ".join(words)[:60] for _, words in SHOWN])
def test_examples_parse(path: tuple[str, ...], words: list[str]) -> None:
    del path
    name = 2 if len(words) > 1 and tuple(words[:2]) in ALL else 1
    command, rest = ALL[tuple(words[:name])], words[name:]
    context = command.make_context(words[name - 1], list(rest))
    assert not context.args

"""The command line: one JSON document, exit statuses 0, 1 and 2, and for whatever is wrong one clear message."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import networkx as nx
import pytest

import topodesign
from tests.cli.conftest import Cli, Ended
from tests.conftest import few
from topodesign.base.cost import Cost, lower_bound, moore_bound
from topodesign.base.errors import InfeasibleError
from topodesign.base.spec import LONGEST_SPEC
from topodesign.cli.main import COMMANDS, SECTIONS, run
from topodesign.cli.main import program as program_group
from topodesign.schedulers import SCHEDULERS
from topodesign.schedulers.scheduling import METHODS
from topodesign.topology.files import write_links
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def program(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "topodesign", *args], text=True, capture_output=True, timeout=600, check=False
    )


# -- answers ----------------------------------------------------------------------------------------------------------

PARETO_KEYS = {
    "nodes", "degree", "bidirectional", "alpha_s", "size_bytes", "bandwidth_bps", "lower_bound", "topologies",
}  # fmt: skip
ENTRY_KEYS = {"spec", "steps", "bandwidth", "bandwidth_float", "allreduce_s", "simplex", "best"}
EVALUATE_KEYS = {"spec", "nodes", "degree", "steps", "bandwidth", "simplex", "vertex_transitive", "diameter"}


def diameter(topology: Topology) -> int:
    return int(nx.diameter(topology.to_networkx()))


def check_pareto(document: Any, nodes: int, degree: int, bidirectional: bool = False) -> None:
    """Hold the document against the contract, and what it claims against graphs that are built anew."""
    assert document.keys() >= PARETO_KEYS
    assert (document["nodes"], document["degree"], document["bidirectional"]) == (nodes, degree, bidirectional)
    bound = document["lower_bound"]
    assert bound["moore_steps"] == moore_bound(nodes, degree, duplex=bidirectional)
    assert bound["steps"] == bound["moore_steps"] + (bound["theorem"] is not None)
    free = bidirectional and nodes * degree % 2
    assert Fraction(bound["bandwidth"]) == Fraction((nodes - 1) * degree, nodes * (degree - free))
    entries = document["topologies"]
    assert entries
    alpha, size, rate = (Fraction(str(document[key])) for key in ("alpha_s", "size_bytes", "bandwidth_bps"))
    for entry in entries:
        factors = Fraction(entry["bandwidth"]) + Fraction(entry["allgather_bandwidth"])
        seconds = 2 * alpha * entry["steps"] + factors * size * 8 / rate
        assert entry["allreduce_s"] == float(seconds)
    least = [2 * (alpha * one["steps"] + Fraction(one["bandwidth"]) * size * 8 / rate) for one in bound["by_steps"]]
    assert bound["allreduce_s"] == float(min(least))
    assert (bound["by_steps"][0]["steps"], bound["by_steps"][-1]["bandwidth"]) == (bound["steps"], bound["bandwidth"])
    for entry in entries:
        assert entry.keys() >= ENTRY_KEYS
        assert entry["bandwidth_float"] == float(Fraction(entry["bandwidth"]))
        assert entry["steps"] >= bound["steps"]
        assert Fraction(entry["bandwidth"]) >= Fraction(bound["bandwidth"])
        graph = build(entry["spec"])
        assert str(graph.spec) == entry["spec"]
        assert (graph.nodes, graph.degree) == (nodes, degree)
        assert graph.is_duplex != entry["simplex"]
        assert not (bidirectional and entry["simplex"])
        if nodes <= 32:
            longer = entry["source"] == "deferred" and diameter(graph) == 1  # where shards are split
            assert entry["steps"] == diameter(graph) + longer
    steps = [entry["steps"] for entry in entries]
    bandwidths = [Fraction(entry["bandwidth"]) for entry in entries]
    assert steps == sorted(set(steps))
    assert bandwidths == sorted(set(bandwidths), reverse=True)
    best = [entry for entry in entries if entry["best"]]
    assert len(best) == 1
    assert best[0]["allreduce_s"] == min(entry["allreduce_s"] for entry in entries)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("nodes", "degree"), [(8, 2), (12, 4), (16, 3), (5, 4), (2, 2), (7, 2), (9, 6)])
def test_pareto_json(cli: Cli, nodes: int, degree: int, bidirectional: bool) -> None:
    flags = ["--duplex"] if bidirectional else []
    result = cli("pareto", "-n", str(nodes), "-d", str(degree), "--time-limit", "0s", "--json", *flags)
    check_pareto(result.json(), nodes, degree, bidirectional)


@pytest.mark.parametrize("nodes", few([1021, 509, 1999]))
def test_prime_number_of_nodes(cli: Cli, nodes: int) -> None:
    document = cli("pareto", "-n", str(nodes), "-d", "4", "--time-limit", "0s", "--json").json()
    check_pareto(document, nodes, 4)
    assert document["topologies"][0]["steps"] <= document["lower_bound"]["steps"] + 1
    assert Fraction(document["topologies"][-1]["bandwidth"]) == Fraction(nodes - 1, nodes)


@pytest.mark.parametrize(
    ("nodes", "degree", "steps", "bandwidth"),
    [
        (2, 1, 1, "1/2"),
        (2, 5, 1, "1/2"),
        (2, 64, 1, "1/2"),
        (9, 1, 8, "8/9"),
        (5, 4, 1, "4/5"),
        (17, 16, 1, "16/17"),
        (65, 64, 1, "64/65"),
    ],
)
def test_extreme_sizes_have_one_best_answer(cli: Cli, nodes: int, degree: int, steps: int, bandwidth: str) -> None:
    document = cli("pareto", "-n", str(nodes), "-d", str(degree), "--time-limit", "0s", "--json").json()
    check_pareto(document, nodes, degree)
    assert [(entry["steps"], entry["bandwidth"]) for entry in document["topologies"]] == [(steps, bandwidth)]


@pytest.mark.parametrize(("nodes", "degree"), [(3, 3), (4, 7), (4, 6), (6, 12), (3, 64)])
def test_more_ports_than_other_nodes(cli: Cli, nodes: int, degree: int) -> None:
    document = cli("pareto", "-n", str(nodes), "-d", str(degree), "--time-limit", "0s", "--json").json()
    check_pareto(document, nodes, degree)
    assert Fraction(document["topologies"][-1]["bandwidth"]) == Fraction(nodes - 1, nodes)


def test_quantities_reach_the_answer(cli: Cli) -> None:
    args = ["pareto", "-n", "8", "-d", "2", "--time-limit", "0s", "--json", "--alpha", "1.5us"]
    document = cli(*args, "--size", "100MB", "--size", "1GiB", "--bandwidth", "4x25Gbps").json()
    assert (document["alpha_s"], document["size_bytes"], document["bandwidth_bps"]) == (1.5e-6, 10**8, 10**11)
    check_pareto(document, 8, 2)
    for entry in (document["lower_bound"], *document["topologies"], *document["baselines"]):
        assert [row["size_bytes"] for row in entry["runtimes"]] == [10**8, 2**30]
        assert entry["runtimes"][0]["allreduce_s"] == entry["allreduce_s"]
    assert document == cli(*args, "--size", "100MB", "--size", "1GiB", "--bandwidth", "12.5GB/s").json()


def test_a_range_is_a_table_of_the_fastest(cli: Cli) -> None:
    document = cli("pareto", "-n", "100", "-d", "4..6", "--json").json()
    assert document == cli("pareto", "-n", "100", "-d", "4-6", "--json").json()
    assert [one["degree"] for one in document["sizes"]] == [4, 5, 6]
    for one in document["sizes"]:
        best = cli("pareto", "-n", "100", "-d", str(one["degree"]), "--json").json()["topologies"]
        assert {
            key: value for key, value in one.items() if key not in {"nodes", "degree", "gain", "catalog_version"}
        } in best
    assert document["verdict"] in " ".join(cli("pareto", "-n", "100", "-d", "4..6").out.split())


@pytest.mark.dear("options3-sizes")
@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--add", "torus"), "against"),
        (("--top", "1"), "sizes"),
        (("--collective", "allgather"), "sizes"),
        (("--workload", "mix.yaml", "--size", "1MiB"), "sizes"),
        (("--bandwidth", "100Gbps/port"), "sizes"),
    ],
)
def test_every_option_of_one_size_changes_the_answer_of_a_range(
    cli: Cli, tmp_path: Path, options: tuple[str, ...], name: str
) -> None:
    (tmp_path / "mix.yaml").write_text("collectives: [{collective: all-to-all, size: 64KiB, count: 3}]")
    options = tuple(str(tmp_path / one) if one == "mix.yaml" else one for one in options)
    plain = cli("pareto", "-n", "12", "-d", "3..4", "--json").json()
    found = cli("pareto", "-n", "12", "-d", "3..4", *options, "--json").json()
    assert found.get(name) != plain.get(name)
    assert cli("pareto", "-n", "12", "-d", "3..4", *options).status == 0


def test_runners_up_are_shown_beside_the_answer(cli: Cli) -> None:
    document = cli("pareto", "-n", "24", "-d", "4", "--top", "1", "--json").json()
    assert {one["wish"] for one in document["runners_up"]} >= {"time", "steps", "bandwidth", "duplex", "wiring"}
    assert "next best by each criterion" in cli("pareto", "-n", "24", "-d", "4", "--top", "1").out


def test_searching_loses_nothing(cli: Cli) -> None:
    args = ("pareto", "-n", "20", "-d", "2", "--seed", "5", "--json")
    searched, known = (cli(*args, "--time-limit", seconds).json() for seconds in ("0.3s", "0s"))
    check_pareto(searched, 20, 2)
    for entry in known["topologies"]:
        better = [(e["steps"], Fraction(e["bandwidth"])) for e in searched["topologies"]]
        assert any(steps <= entry["steps"] and y <= Fraction(entry["bandwidth"]) for steps, y in better)


@pytest.mark.parametrize(
    "spec", ["complete(2)", "diamond()", "uniring(1,9)", "circulant(12,2,3)", "genkautz(4,9)", "line(diamond())"]
)
def test_evaluate_json(cli: Cli, spec: str) -> None:
    document = cli("evaluate", spec, "--json").json()
    graph = build(spec)
    assert document.keys() >= EVALUATE_KEYS
    assert (document["spec"], document["nodes"], document["degree"]) == (spec, graph.nodes, graph.degree)
    assert document["steps"] == document["diameter"] == diameter(graph)
    assert document["simplex"] != graph.is_duplex
    assert document["vertex_transitive"] == graph.vertex_transitive
    assert Fraction(document["bandwidth"]) >= Fraction(graph.nodes - 1, graph.nodes)
    assert sum(document["distance_profile"]) == graph.nodes - 1
    everywhere = cli("evaluate", spec, "--json", "--set", "all-sources=yes").json()
    assert everywhere["sources_priced"] == graph.nodes
    assert (everywhere["steps"], everywhere["bandwidth"]) == (document["steps"], document["bandwidth"])


def test_pareto_and_evaluate_agree(cli: Cli) -> None:
    for entry in cli("pareto", "-n", "12", "-d", "4", "--time-limit", "0s", "--json").json()["topologies"]:
        document = cli("evaluate", entry["spec"], "--json").json()
        for key in ("spec", "steps", "bandwidth", "allreduce_s", "simplex"):
            assert document[key] == entry[key]


@pytest.mark.parametrize("ending", ["json", "csv", "graphml"])
def test_a_file_is_priced_as_the_spec_that_wrote_it(cli: Cli, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"links.{ending}"
    path.write_text(cli("convert", "--as", "links", "circulant(12,2,3)", "--format", ending).out)
    ours, theirs = (cli("evaluate", text, "--json").json() for text in (path, "circulant(12,2,3)"))
    assert ours["spec"] is None
    for key in ("nodes", "degree", "steps", "bandwidth", "simplex", "links", "girth"):
        assert ours[key] == theirs[key]


def test_links(cli: Cli) -> None:
    graph = build("diamond()")
    document = cli("convert", "--as", "links", "diamond()").json()
    assert document == {"nodes": 8, "links": [list(link) for link in graph.links()]}
    assert cli("convert", "--as", "links", "diamond()", "--json").json() == document
    for file_format in ("json", "csv", "dot", "graphml", "adjlist"):
        assert cli("convert", "--as", "links", "diamond()", "--format", file_format).out == write_links(
            graph, file_format
        )


def test_a_file_name_may_hold_brackets(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "genkautz(4,9).json"
    path.write_text(write_links(build("diamond()"), "json"))
    assert cli("convert", "--as", "links", path).json()["nodes"] == 8


@pytest.mark.parametrize(
    "args", [("pareto", "-n", "12", "-d", "4", "--time-limit", "0s"), ("evaluate", "circulant(12,2,3)")]
)
def test_tables_for_people(cli: Cli, args: tuple[str, ...]) -> None:
    result = cli(*args, "--size", "1MiB", "--size", "100MB")
    assert (result.status, result.err) == (0, "")
    for words in ("circulant(12,2,3)", "11/12" if args[0] == "evaluate" else "0.9167", "1MiB", "100MB", "duplex"):
        assert words in result.out
    assert "\x1b" not in result.out  # no colours where there is no terminal


# -- refusals ---------------------------------------------------------------------------------------------------------

SMALL = ("pareto", "-n", "8", "-d", "2", "--time-limit", "0s")
BAD_SPECS = [
    ("   ", "empty spec"),
    ("genkautz(4,9", "closing bracket"),
    ("genkauts(4,9)", "did you mean 'genkautz"),
    ("genkautz(0,9)", "at least"),
    ("cyclic(5)", "is a group, not a topology"),
    ("circulant(8,2)", "not connected"),
    ("complete(100000)", "too many to build"),
    ("x" * (LONGEST_SPEC + 1), "longer than"),
    ("__import__('os').system('true')", ""),
    ("a\0b", "ASCII"),
]


@pytest.mark.parametrize("command", ["evaluate", "convert"])
@pytest.mark.parametrize(("spec", "words"), BAD_SPECS, ids=lambda value: ascii(value)[:24])
def test_bad_specs(cli: Cli, command: str, spec: str, words: str) -> None:
    assert words in cli(command, spec).message()


BAD_CALLS: list[tuple[tuple[str, ...], str]] = [
    (("nonsense",), "No command 'nonsense'"),
    (("",), "No command ''"),
    (("pareto",), "Missing option"),
    (("pareto", "-n", "8"), "Missing option '-d'"),
    (("pareto", "-d", "8"), "Missing option '-n'"),
    (("evaluate",), "Missing argument"),
    (("convert",), "Missing argument"),
    (("evaluate", "diamond()", "diamond()"), "unexpected extra argument"),
    (("convert", "--as", "links", "diamond()", "--format", "xml"), "'xml' is not one of"),
    (("convert", "diamond()", "--json", "--format", "csv"), "cannot be combined with --format csv"),
    (("pareto", "-n", "x", "-d", "2"), "not a valid integer"),
    (("pareto", "-n", "-8", "-d", "2"), "at least 2 nodes"),
    (("pareto", "-n", "8", "-d", "0"), "at least one link"),
    (("pareto", "-n", "8", "-d", "65"), "too large"),
    (("pareto", "-n", "10000000", "-d", "4"), "too many"),
    (("pareto", "-n", "9" * 5000, "-d", "4"), "not a valid integer"),
    (("pareto", "-n", "9", "-d", "1", "--duplex"), "nearest sizes (N,d): (2,1), (9,2)"),
    (("pareto", "-n", "8", "-d", "1", "--duplex"), "nearest sizes (N,d): (2,1), (8,2)"),
    ((*SMALL, "--time-limit", "-1"), "is negative"),
    ((*SMALL, "--time-limit", "1e9s"), "is over a day; the maximum is 24h"),
    ((*SMALL, "--time-limit", "soon"), "not a number"),
    ((*SMALL, "--seed", "-1"), "not in the range"),
    ((*SMALL, "--alpha", "10"), "no unit"),
    ((*SMALL, "--alpha", "10m"), "unknown unit 'm'"),
    ((*SMALL, "--size", "1"), "no unit"),
    ((*SMALL, "--size", "0B"), "above zero"),
    ((*SMALL, "--size", "1MiB", "--size", "1GHz"), "unknown unit 'GHz'"),
    ((*SMALL, "--bandwidth", "100"), "no unit"),
    ((*SMALL, "--bandwidth", "0Gbps"), "above zero"),
    (("evaluate", "diamond()", "--size", "1"), "no unit"),
]


@pytest.mark.parametrize(("args", "words"), BAD_CALLS, ids=lambda value: ascii(value)[:40])
def test_bad_calls(cli: Cli, args: tuple[str, ...], words: str) -> None:
    assert words in cli(*args).message()
    if args[0] in {"pareto", "evaluate"}:
        assert words in cli(*args, "--json").message()


def test_odd_nodes_of_odd_degree_keep_one_port_free(cli: Cli) -> None:
    question = ("pareto", "-n", "7", "-d", "3", "--duplex", "--time-limit", "0s")
    assert "One port stays free" in " ".join(cli(*question).out.split())
    document = cli(*question, "--json").json()
    check_pareto(document, 7, 3, bidirectional=True)
    for one in document["topologies"]:
        assert build(one["spec"]).self_loops == 1


@pytest.mark.parametrize(("nodes", "degree"), [(3, 3), (5, 9), (7, 7)])
def test_few_nodes_of_odd_degree_keep_a_port_of_each_free(cli: Cli, nodes: int, degree: int) -> None:
    question = ("pareto", "-n", str(nodes), "-d", str(degree), "--duplex", "--time-limit", "0s")
    assert "One port of each node stays free" in " ".join(cli(*question).out.split())
    best = cli(*question, "--json").json()["topologies"][0]
    assert Cost(best["steps"], Fraction(best["bandwidth"])) == lower_bound(nodes, degree, duplex=True)
    assert build(best["spec"]).self_loops == nodes


@pytest.mark.parametrize("command", ["evaluate", "convert"])
def test_bad_files(cli: Cli, tmp_path: Path, command: str) -> None:
    for name, content, words in (
        ("broken.json", '{"nodes":', "not JSON"),
        ("broken.csv", "hello", "expected the header"),
        ("broken.graphml", "<graphml", "not GraphML"),
        ("binary.json", "\udcff\udcfe", "not a text file"),
        ("empty.json", "", "this is an empty file"),
        ("list.txt", "no list of any kind", "is not an edge"),
    ):
        path = tmp_path / name
        path.write_text(content, errors="surrogateescape")
        message = cli(command, path).message()
        assert str(path) in message
        assert words in message
    assert "No such file" in cli(command, tmp_path / "missing.json").message()
    assert "No such file" in cli(command, "missing.json").message()
    assert "this is a directory" in cli(command, tmp_path).message()
    assert "not a file" in cli(command, "nul\0.json").message()
    assert "too long" in cli(command, "x" * 500 + ".json").message()


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [(1, [], "only one node"), (2, [], "there are no links"), (3, [(0, 1), (1, 2)], "not every node reaches")],
)
def test_files_without_a_collective(
    cli: Cli, tmp_path: Path, nodes: int, links: list[tuple[int, int]], words: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(write_links(Topology.from_links(nodes, links), "json"))
    assert words in cli("evaluate", path).message()


def test_a_network_with_switches_has_a_throughput(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"nodes": 3, "links": [[0, 2], [2, 0], [1, 2], [2, 1]], "switches": [2]}')
    assert cli("evaluate", path, "--json").json()["switches"] == 1


def test_the_answer_no_is_status_1(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise InfeasibleError("none is known")

    monkeypatch.setattr("topodesign.finder.find.pareto", refuse)
    assert cli(*SMALL).message(status=1) == "none is known"


def test_out_of_memory_and_interruption(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, words in ((MemoryError(), "not enough memory"), (OSError(28, "No space left"), "No space left")):

        def fail(*_args: object, error: BaseException = error, **_options: object) -> None:
            raise error

        monkeypatch.setattr("topodesign.finder.find.pareto", fail)
        assert words in cli(*SMALL).message()


def test_interruption(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("topodesign.finder.find.pareto", interrupt)
    result = cli(*SMALL)
    assert (result.status, result.out, result.err.strip()) == (130, "", "topodesign: interrupted")


# -- help and the process ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_refuses_unknown_options(cli: Cli, command: str) -> None:
    for flag in ("--help", "-h"):
        result = cli(command, flag)
        assert (result.status, result.err) == (0, "")
        assert result.out.startswith(f"Usage: topodesign {command} ")
    assert "No such option '--nonsense'" in cli(command, "--nonsense").message()


def test_help_and_version(cli: Cli) -> None:
    result = cli("--help")
    assert (result.status, result.err) == (0, "")
    for command, line in COMMANDS.items():
        assert command in result.out
        assert line in result.out
    assert cli("--version") == Ended(0, f"topodesign, version {topodesign.__version__}\n", "")
    bare = cli()
    assert (bare.status, bare.out) == (2, "")
    assert bare.err.startswith("Usage: topodesign")
    assert "No such option '--nonsense'" in cli("--nonsense").message()


@pytest.mark.parametrize("words", [[], ["pareto"], ["wire"], ["wire", "plan"], ["catalog", "status"]])
def test_help_of_a_command_is_its_help_option(cli: Cli, words: list[str]) -> None:
    assert cli("help", *words) == cli(*words, "--help")
    assert cli("help", *words).status == 0


def test_help_of_no_command_names_the_nearest(cli: Cli) -> None:
    assert "did you mean 'pareto'?" in cli("help", "paretto").message()
    assert "did you mean 'plan'?" in cli("help", "wire", "paln").message()


def test_every_command_is_in_one_section(cli: Cli) -> None:
    assert [name for section in SECTIONS.values() for name in section] == list(COMMANDS)
    assert sum(map(len, SECTIONS.values())) == len(COMMANDS)
    for title in SECTIONS:
        assert f"\n{title}:\n" in cli("--help").out


def commands_of(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Words and help texts of all commands."""
    yield names, group.help or ""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not isinstance(command, click.Group):
            yield (*names, name), command.help or ""
        if isinstance(command, click.Group):
            yield from commands_of(command, *names, name)


@pytest.mark.parametrize("width", [60, 80])
def test_help_texts_fit(cli: Cli, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words, said in commands_of(program_group):
        verbatim = set(map(str.strip, said.splitlines()))
        lines = cli(*words, "--help").out.splitlines()
        assert [line for line in lines if len(line) > width and line.strip() not in verbatim] == [], words


HEAVY = ["numpy", "scipy", "numba", "networkx", "sympy", "lxml", "rich", "pandas"]


@pytest.mark.parametrize(
    "args", [["--help"], ["--version"], ["nonsense"], *([name, "--help"] for name in few([*COMMANDS], 6))]
)
def test_nothing_heavy_is_imported_before_there_is_work(args: list[str]) -> None:
    code = (
        "import sys; from topodesign.cli.main import run; run(sys.argv[1:]); "
        f"sys.exit(','.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def test_the_methods_to_choose_from_are_the_schedulers(cli: Cli) -> None:
    assert [one.name for one in METHODS.values()] == list(METHODS) == list(SCHEDULERS)
    assert "topodesign info algorithms" in cli("schedule", "--help").out
    text = " ".join(cli("info", "algorithms").out.split())
    assert all(f"{name} {words}" in text for name, words in SCHEDULERS.items())


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, topodesign; sys.exit(','.join(name for name in {HEAVY} if name in sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_are_not_those_of_modules() -> None:
    """A module of the same name would take the place of the function as soon as something imports it."""
    for name in topodesign.__all__:
        assert getattr(topodesign, name) is not None
        assert importlib.util.find_spec(f"topodesign.{name}") is None


def test_python_dash_m() -> None:
    done = program("convert", "--as", "links", "diamond()")
    assert (done.returncode, done.stderr) == (0, "")
    assert Topology.from_links(8, [tuple(link) for link in json.loads(done.stdout)["links"]]) == build("diamond()")
    done = program("convert", "--as", "links", "diamond(")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("topodesign: 1 closing bracket missing\n")
    assert "Traceback" not in done.stderr


# Unbuffered output would not notice in time that nobody takes it.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_bytes_that_are_no_text() -> None:
    for argument, words in ((b"\xff(1)", "plain ASCII"), (b"\xff.json", "No such file")):
        done = subprocess.run(
            [sys.executable, "-m", "topodesign", "convert", argument], capture_output=True, timeout=600, check=False
        )
        assert (done.returncode, done.stdout) == (2, b"")
        assert words in done.stderr.decode()


def test_installed_program() -> None:
    script = Path(sys.executable).with_name("topodesign")
    done = subprocess.run([script, "--version"], text=True, capture_output=True, timeout=600, check=False)
    assert (done.returncode, done.stdout) == (0, f"topodesign, version {topodesign.__version__}\n")


def test_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "topodesign", "convert", "genkautz(8,20000)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(9) == b'{"nodes":'
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "args",
    [
        ["convert", "--as", "links", "genkautz(4,9)"],
        ["convert", "--as", "links", "genkautz(4,4000)"],
        ["evaluate", "diamond()"],
    ],
)
def test_full_disk_is_one_message(args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "topodesign", *args],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=600, check=False, env=BUFFERED,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "topodesign: [Errno 28] No space left on device\n")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("evalute torus(4,4)", "did you mean 'evaluate'?"),
        ("catalog statu -d 2", "did you mean 'status'?"),
        ("wire exprot plan.json", "did you mean 'export'?"),
        ("schedule torus(4,4) --collective all-reduce -o x.npz", "Did you mean 'allreduce'?"),
        ("schedule torus(4,4) --algorithm forrest -o x.npz", "Did you mean 'forest'?"),
        ("pareto -n 4 -d 2 --plot-kind frontir --json", "Did you mean 'frontier'?"),
        ("compare best tors -n 24 -d 4", "neither an everyday name nor a spec; did you mean 'torus'"),
        ("compare best tors(4,6) -n 24 -d 4", "neither an everyday name nor a spec; did you mean 'torus'"),
        ("compare best@rng -n 24 -d 4", "not a method; did you mean 'ring'?"),
        ("evaluate dgx_a100(2) --fail box9/gpu0 --collective allgather", "did you mean 'box0/gpu0' or 'box1/gpu0'"),
        (
            "evaluate dgx_a100(2) --fail box0/gpu0-box9/gpu0 --collective allgather",
            "is named 'box9/gpu0'; links of 'box0/gpu0' go to box0/nvswitch and rail0",
        ),
        (
            "evaluate torus(4,4) --fail 0-5 --collective allgather",
            "no link between '0' and '5'; those of '0' go to 1, 3, 4 and 12",
        ),
        ("evaluate dgx_a100(2) --collective all-to-all --prices Infiniband=3", "did you mean 'InfiniBand'?"),
        ("examples fabric_mi25.yaml", "did you mean 'fabric_mi250.yaml'"),
        ("compile torus(3,3) -o x.xml --runtime msccel", "Did you mean 'msccl'?"),
    ],
)
def test_mistyped_words_are_put_right(cli: Cli, line: str, meant: str) -> None:
    assert meant in cli(*line.split()).message()


@pytest.mark.parametrize("bare", ["tors", "torsu", "dgx_a10"])
@pytest.mark.parametrize("command", ["evaluate", "convert", "failures", "compare"])
def test_a_name_alone_is_put_right(cli: Cli, command: str, bare: str) -> None:
    said = cli(command, bare)
    assert (said.status, said.out) == (2, "")
    assert "did you mean 'torus'" in said.err or "did you mean 'dgx_a100'" in said.err
    assert "requires brackets" in cli("evaluate", "torus").err
    assert "requires brackets: dgx_a100(boxes)" in cli("evaluate", "dgx_a100", "--collective", "allgather").err


def test_a_folder_is_no_spec_and_no_catalog(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "folder: this is a directory, and no spec" in cli("evaluate", "folder").message()
    said = cli("catalog", "verify", "-n", "12", "-d", "4", "--catalog", "folder").message()
    assert "the directory is not a catalog" in said


@pytest.mark.parametrize(
    "line",
    ["verify {}", "simulate {}", "evaluate {}", "evaluate {} --collective allgather", "compile {} -o x.xml", "run {}"],
)
def test_an_inventory_is_told_by_name(cli: Cli, line: str, tmp_path: Path) -> None:
    cli("examples", "inventory_testbed.yaml", "-o", tmp_path)
    path = str(tmp_path / "inventory_testbed.yaml")
    assert f"{path}: this is an inventory, not a" in cli(*line.format(path).split()).message()


def test_a_schedule_is_not_written_as_something_else(cli: Cli, tmp_path: Path) -> None:
    assert "use the ending .npz" in cli("schedule", "torus(3,3)", "-o", tmp_path / "x.txt").message()
    assert not list(tmp_path.iterdir())
    assert cli("schedule", "torus(3,3)", "-o", tmp_path / "x").status == 0


def test_every_block_of_a_simulation_says_what_it_is_of(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "x.npz"
    cli("schedule", "torus(3,3)", "-o", plan)
    said = cli("simulate", plan, "--size", "1MiB", "--size", "1GiB", "--fail", "0-1").out
    for size in ("1MiB", "1GiB"):
        assert re.search(rf"^allreduce of {size}: \S+; alpha 10us, 100Gbps per node$", said, re.MULTILINE)
    both = cli("simulate", plan, "--fail", "0>1", "--fail", "1>0", "--json").status
    assert both == cli("simulate", plan, "--fail", "0-1", "--json").status == 1


def test_a_repair_of_a_wiring_is_printed_and_needs_one_part(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    topodesign.save_wiring(topodesign.plan_wiring("biring(2,4)", topodesign.plain_inventory(4, 2)), plan)
    assert "-o cannot be combined" in cli("repair", plan, "--fail", "host1", "-o", tmp_path / "x").message()
    assert "requires one --fail" in cli("repair", plan).message()
    assert list(tmp_path.iterdir()) == [plan]


def test_errors_wrap_between_words_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["evaluate", "torus(4,4)", "--group", "0,1", "--members", "0"]
    assert run(line) == 2
    plain = capsys.readouterr().err
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(line) == 2
    said = capsys.readouterr().err
    assert max(map(len, said.splitlines())) <= 40 < len(plain)
    assert said.split() == plain.split()

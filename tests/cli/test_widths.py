"""On a terminal or, where COLUMNS says it, in a pipe of 60 to 120 columns, no line of what is printed is longer."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from topodesign.cli.main import run

LINES = """
    pareto -n 1021 -d 4
    pareto -n 200 -d 6 --size 1MiB --size 100MiB --size 1GiB
    pareto -n 200 -d 4..8 --size 1MiB --size 1GiB
    catalog list -d 2..3
    families
    families torus
    runtimes
    optimum dgx_a100(1)
    evaluate delete(cayley(metacyclic(41,25,10),402,523,570,695),164,7,735,7,171,23,615,16)
    methods
    examples
    schema pareto
    wire plan circulant(12,2,3) --inventory inventory_testbed.yaml -o plan.json
    wire show plan.json C11 host01:eth0/4
"""
SLOW = """
    optimum mi250(2) --frontier --size 100MiB
    groups torus(4,4) --group 4x4:0 --collective all-to-all
    schedule dgx_a100(2) -o trees.npz
    schedule circulant(12,2,3) -o rounds.npz
    verify trees.npz
    simulate trees.npz --size 1GB
    simulate rounds.npz --training workload_resnet50.csv
    compile circulant(12,2,3) -o program.xml
    verify program.xml
    optimum dgx_a100(2) --collective all-to-all
    evaluate genkautz(4,200)
    pareto -n 24 -d 4 --collective all-to-all
    pareto -n 200 -d 6 --runners-up 2
    pareto -n 24 -d 4 --against torus,ring,fattree
    catalog list --quality -d 2..3 -n 3..300
    compare best torus jellyfish fattree -n 24 -d 4 --size 1MiB --size 1GiB
    optimum dgx_a100(2) --scan 3 --size 1GB
    schedule torus(4,4) --collective broadcast --algorithm pipeline --list --root 0 --size 64KiB --size 1GiB
    methods torus(3,3) --collective allgather --size 64KiB --algorithm spff --algorithm ring --algorithm stored
    schedule biring(2,4) --collective allgather --algorithm exact --list --chunks 2 --size 64KiB
    wire plan circulant(12,2,3) --inventory inventory_testbed.yaml -o plan.json
    wire impact plan.json --host host03
    wire check plan.json --lldp observed_testbed.csv
    wire change plan.json torus(3,4)
    wire impact plan.json --top 1
"""


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(lines: str, width: int, stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What commands print, in the order of the lines."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")  # a dumb one is 80 columns wide to rich
    run(["examples", "inventory_testbed.yaml", "observed_testbed.csv", "workload_resnet50.csv"])
    found = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        monkeypatch.setattr("sys.stdout", said := stream())
        assert run(re.split(r" (?![^(]*\))", line)) in {0, 1}, line
        found.append((line, re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue())))
    return found


def complain(found: list[tuple[str, str]], width: int) -> None:
    for command, text in found:
        assert text.strip(), command
        for line in text.splitlines():
            assert len(line.rstrip()) <= width, f"{command}\n{line}"


@pytest.mark.dear
@pytest.mark.parametrize("width", [60, *(pytest.param(n, marks=pytest.mark.thorough) for n in (70, 80, 120))])
def test_lines_fit_in_a_pipe_that_says_its_width(width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complain(shown(LINES, width, io.StringIO, monkeypatch), width)


@pytest.mark.dear
def test_lines_fit_the_narrowest_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    complain(shown(LINES, 60, Terminal, monkeypatch), 60)


@pytest.mark.thorough
@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("width", [60, 70, 80, 120, 200])
def test_lines_of_all_commands_fit(
    width: int, stream: type[io.StringIO], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    complain(shown(LINES + SLOW, width, stream, monkeypatch), width)

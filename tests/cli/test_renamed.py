"""Old commands and options are rewritten to those of today; none of 0.27 or 0.29 is forgotten."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

import topodesign
from topodesign.base import retired
from topodesign.cli import design
from topodesign.cli.main import program, run
from topodesign.cli.renamed import COMMANDS, OPTIONS, QUIET, rewrite

SURFACES = Path(__file__).parents[1] / "samples"
"""Commands of 0.27 and 0.29 with their options, one a line, and last the names of the Python package."""


def surface(version: str) -> tuple[list[tuple[str, list[str]]], list[str]]:
    lines = (SURFACES / f"surface_{version}.txt").read_text(encoding="utf-8").splitlines()
    *commands, python = (line.split(": ") for line in lines)
    return [(words, options.split()) for words, options in commands], python[1].split()


def command_of(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """Return the command that words begin with, and the rest of them."""
    found: click.Command = program
    rest = list(words)
    while isinstance(found, click.Group):
        inner = found.get_command(click.Context(found), rest[0])
        if inner is None:
            return None, rest
        found, rest = inner, rest[1:]
    if found.name == "design" and "--init" in rest:
        return design.init, [word for word in rest if word != "--init"]
    return found, rest


def gone(command: str, option: str) -> bool:
    now = {"design init": "design --init", "plot sizes": "pareto", "wire buy": "wire bill"}.get(command, command)
    return option in retired.OPTIONS.get(now, {})


@pytest.mark.parametrize("version", ["0_27", "0_29"])
def test_every_command_and_option_is_kept_renamed_or_retired(version: str) -> None:
    commands, python = surface(version)
    for words, options in commands:
        if words in retired.COMMANDS:
            assert command_of(words.split())[0] is None, words
            assert rewrite(words.split()) == words.split()
            continue
        for option in options:
            if gone(words, option):
                continue
            command, rest = command_of(rewrite([*words.split(), "NETWORK", option, "VALUE"]))
            assert command is not None, words
            known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
            asked = {word.partition("=")[0] for word in rest if word.startswith("-")}
            assert asked <= known, (words, option, rest)
    assert set(python) - set(topodesign.__all__) <= {*retired.NAMES, *retired.RENAMED}


def test_old_names_are_said_on_standard_error_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(QUIET, "")
    assert run(["convert", "--as", "links", "circulant(5,1,2)"]) == 0
    now = capfd.readouterr()
    assert not now.err
    assert run(["links", "circulant(5,1,2)"]) == 0
    old = capfd.readouterr()
    assert old.out == now.out
    assert old.err == "renamed: use topodesign convert --as links 'circulant(5,1,2)'\n"
    monkeypatch.setenv(QUIET, "quiet")
    assert run(["links", "circulant(5,1,2)"]) == 0
    assert not capfd.readouterr().err


def test_no_old_name_is_a_command_of_today() -> None:
    for words in COMMANDS:
        assert command_of(words.split())[0] is None or words == "design init", words
    for words, options in OPTIONS.items():
        command, _ = command_of(words.split())
        if command is not None:
            shown = {name for one in command.params if not getattr(one, "hidden", False) for name in one.opts}
            assert not shown & set(options), words


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("methods", "info algorithms"),
        ("methods torus(4,4) --method ring", "compare torus(4,4) --algorithm ring"),
        ("methods torus(4,4)", "compare torus(4,4) --algorithm all"),
        ("report p.npz -o p.html", "simulate --plot-kind page p.npz -o p.html"),
        ("report -n 5 -d 2 -o p.html", "pareto --plot-kind page -n 5 -d 2 -o p.html"),
        ("optimum f --fixed-k=2", "evaluate f --set trees=2 --collective allgather"),
        ("groups f --group 4x4:0", "evaluate f --group 4x4:0"),
        ("methods --json", "info algorithms --json"),
        ("help step", "help training"),
        ("wire impact p.json --host=h1", "repair p.json --fail=h1"),
        ("wire impact p.json --top 3", "failures p.json --top 3"),
        ("optimum f --failures --plans d", "failures f --output d --collective allgather"),
        ("optimum f --upgrade a=1 --budget 9", "upgrade f --prices a=1 --budget 9 --collective allgather"),
        ("compile-set p --collective a --collective=b --no-programs", "compile p --target none --for a,b"),
        ("compile-set p -o d", "compile p -o d --for all"),
        ("convert x -o -- --as", "convert x -o -- --as"),
        ("pareto -n 12 -d 4", "pareto -n 12 -d 4"),
    ],
)
def test_command_lines(old: str, new: str) -> None:
    assert rewrite(old.split()) == new.split()


def test_every_command_line_in_pages_of_0_27_parses_or_names_its_successor() -> None:
    for line in (SURFACES / "lines_0_27.txt").read_text(encoding="utf-8").splitlines():
        old = shlex.split(line)
        if any(" ".join(old[:count]) in retired.COMMANDS for count in (1, 2)):
            continue
        command, rest = command_of(rewrite(old))
        assert command is not None, line
        path = " ".join(old[: 2 if old[0] in {"catalog", "plot", "wire", "design"} else 1])
        if any(gone(path, word.partition("=")[0]) for word in old):
            continue
        try:
            command.make_context(command.name, list(rest))
        except click.exceptions.Exit:
            continue
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")

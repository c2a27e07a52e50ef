"""Names of earlier versions are refused with their successors, by commands, options and Python; none is forgotten."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated, TypedDict

import click
import pytest

import topodesign
from topodesign.base import retired
from topodesign.base.errors import TopodesignError
from topodesign.base.options import Option, read
from topodesign.cli import design
from topodesign.cli.main import program, run

SURFACES = Path(__file__).parents[1] / "samples"
"""Commands of 0.27 and 0.29 with their options, one a line, and last the names of the Python package."""


def command_of(words: list[str]) -> tuple[click.Command | None, list[str]]:
    """Return the command that words begin with, and the rest of them."""
    found: click.Command = program
    rest = list(words)
    while isinstance(found, click.Group):
        inner = found.get_command(click.Context(found), rest[0]) if rest else None
        if inner is None:
            return None, rest
        found, rest = inner, rest[1:]
    if found.name == "design" and "--init" in rest:
        return design.init, [word for word in rest if word != "--init"]
    return found, rest


def is_retired(words: list[str]) -> bool:
    return any(" ".join(words[:count]) in retired.COMMANDS for count in (2, 1))


@pytest.mark.parametrize("version", ["0_27", "0_29"])
def test_every_command_option_and_name_is_kept_or_has_a_successor(version: str) -> None:
    *commands, python = (SURFACES / f"surface_{version}.txt").read_text(encoding="utf-8").splitlines()
    for line in commands:
        words, options = line.split(": ")
        if is_retired(words.split()):
            continue
        command, rest = command_of(words.split())
        assert command is not None, words
        assert not rest
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        assert set(options.split()) <= known | retired.OPTIONS.get(words, {}).keys() | {"--help"}, words
    assert set(python.split(": ")[1].split()) <= {*topodesign.__all__, *retired.NAMES}


def test_every_command_line_in_pages_of_0_27_parses_or_names_its_successor() -> None:
    for line in (SURFACES / "lines_0_27.txt").read_text(encoding="utf-8").splitlines():
        words = shlex.split(line)
        if is_retired(words):
            continue
        command, rest = command_of(words)
        assert command is not None, line
        path = " ".join(words[: len(words) - len(rest)])
        # commands remember what asks for help
        parent = click.Context(program, info_name="topodesign", **program.context_settings)
        try:
            command.make_context(path, rest, parent=parent)
        except click.exceptions.Exit:
            continue
        except (TopodesignError, click.UsageError) as error:
            if " was retired: " not in str(error):
                pytest.fail(f"{line}: {error}")


def test_retired_commands_name_their_successor(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(retired.COMMANDS, "gone", "use pareto.")
    monkeypatch.setitem(retired.COMMANDS, "wire gone", "use 'wire plan'.")
    for words, successor in retired.COMMANDS.items():
        for arguments in (words.split(), [*words.split(), "a", "--b"], ["help", *words.split()]):
            assert run(arguments) == 2
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err.splitlines() == [f"topodesign: '{words}' was retired: {successor}"]


def test_successors_are_not_retired_themselves() -> None:
    for successor in retired.COMMANDS.values():
        assert not any(is_retired(words.split()) for words in re.findall(r"'([a-z][a-z -]*)", successor)), successor
    for successor in retired.NAMES.values():
        assert not {*re.findall(r"^use '?(\w+)", successor)} & retired.NAMES.keys(), successor


def test_retired_options_name_their_successor(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(retired.OPTIONS, "convert", {"--gone": "use -o."})
    for words, options in retired.OPTIONS.items():
        command, _ = command_of(words.split())
        assert command is not None
        for option, successor in options.items():
            assert option not in {name for one in command.params for name in one.opts}
            assert run([*words.split(), option, "x"]) == 2
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err == f"topodesign: {option} was retired: {successor}\n"


def test_unknown_options_are_refused_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--never-there"]) == 2
    assert "No such option" in capfd.readouterr().err


def test_retired_names_of_python_name_their_successor() -> None:
    for name, successor in retired.NAMES.items():
        assert name not in topodesign.__all__
        with pytest.raises(AttributeError) as refused:
            getattr(topodesign, name)
        assert str(refused.value) == f"topodesign.{name} was retired: {successor}"


def test_retired_keywords_name_their_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Group(TypedDict, total=False):
        kept: Annotated[int, Option("Anything.")]

    Group.__annotations__ = {"kept": Annotated[int, Option("Anything.")]}
    monkeypatch.setitem(retired.OPTIONS, "convert", {"--long-gone": "use -o."})
    with pytest.raises(TypeError, match=r"^long_gone of links\(\) was retired: use -o\.$"):
        read(Group, {"long_gone": 1}, "links")
    with pytest.raises(TypeError, match="unexpected keyword argument 'method'"):
        read(Group, {"method": 1}, "links")  # the option is --algorithm now, the keyword is not renamed

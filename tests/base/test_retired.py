"""Names of earlier versions are refused with their successors, by commands, options and Python."""

from typing import Annotated, TypedDict

import pytest

import topodesign
from topodesign.base import retired
from topodesign.base.options import Option, read
from topodesign.cli import design
from topodesign.cli.main import program, run


def _command(words: str) -> object:
    if words == "design --init":  # 'design' is a command itself, so no group has it
        return design.init
    found: object = program
    for word in words.split():
        found = None if found is None else found.get_command(None, word)  # type: ignore[attr-defined]
    return found


def test_retired_commands_name_their_successor(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(retired.COMMANDS, "gone", "use pareto.")
    monkeypatch.setitem(retired.COMMANDS, "wire gone", "use 'wire plan'.")
    for words, successor in retired.COMMANDS.items():
        for arguments in (words.split(), [*words.split(), "a", "--b"], [*words.split(), "--help"]):
            assert run(arguments) == 2
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err.splitlines() == [f"topodesign: '{words}' was retired after 0.27: {successor}"]
        assert _command(words) is None


def test_retired_options_name_their_successor(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(retired.OPTIONS, "convert", {"--gone": "use -o."})
    for words, options in retired.OPTIONS.items():
        known = {name for one in _command(words).params for name in one.opts}  # type: ignore[attr-defined]
        for option, successor in options.items():
            assert option not in known
            assert run([*words.split(), option, "x"]) == 2
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err == f"topodesign: {option} was retired after 0.27: {successor}\n"


def test_unknown_options_are_refused_as_before(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "--never-there"]) == 2
    assert "No such option" in capfd.readouterr().err


def test_retired_names_of_python_name_their_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(retired.NAMES, "gone", "use pareto.")
    for name, successor in retired.NAMES.items():
        assert name not in topodesign.__all__
        with pytest.raises(AttributeError) as refused:
            getattr(topodesign, name)
        assert str(refused.value) == f"topodesign.{name} was retired after 0.27: {successor}"


def test_retired_keywords_name_their_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    class Group(TypedDict, total=False):
        kept: Annotated[int, Option("Anything.")]

    monkeypatch.setitem(retired.OPTIONS, "convert", {"--long-gone": "use -o."})
    with pytest.raises(TypeError, match=r"^long_gone of links\(\) was retired after 0\.27: use -o\.$"):
        read(Group, {"long_gone": 1}, "links")

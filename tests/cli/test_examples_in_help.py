"""Every command shows examples in its help, which parse; ``test_transcripts.py`` runs those that are cheap."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from tests.cli.test_answers import ALL
from topodesign.cli.main import program


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

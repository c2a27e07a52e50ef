"""``topodesign schema``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.answers import Command, form, json_option, print_json, say
from topodesign.report.schemas.documents import SHAPES, identifier


@click.command(name="schema", cls=Command)
@click.argument("command_name", metavar="[COMMAND]", nargs=-1)
@json_option
def command(command_name: tuple[str, ...]) -> None:
    """Describe what a command prints with --json: every key, its type, and what it means.

    Without COMMAND all commands are listed with the names of their schemas, which documents have under "schema". With
    --json the answer is JSON Schema (2020-12).

    Example: topodesign schema wire plan
    """
    name = " ".join(command_name)
    if form() != "text":
        print_json({"schemas": {one: topodesign.json_schema(one) for one in ([name] if name else SHAPES)}})
    elif name:
        from topodesign.report.schemas.outline import outline  # noqa: PLC0415  not for the list

        say(outline(name))
    else:
        width = max(map(len, SHAPES))
        say("\n".join(f"{one:<{width}}  {identifier(one)}" for one in SHAPES))

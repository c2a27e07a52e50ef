"""``topodesign examples``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.base.wording import counted
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import FOLDER, option


@click.command(name="examples", cls=Command)
@click.argument("names", nargs=-1)
@option("-o --output DIR", "Directory to copy to; made if it is not there.  [default: the current one]", type=FOLDER)
@json_option
def command(names: tuple[str, ...], output: Path | None) -> None:
    """List the example files that come with the program, or copy some of them.

    They are fabrics, inventories and workloads to try the commands with and to start own files from. Without NAMES all
    are listed; a file that is there already is never written over.

    Example: topodesign examples inventory_testbed.yaml observed_testbed.csv -o testbed
    """
    if not names and output is not None:
        raise click.UsageError("Say which examples to copy; 'topodesign examples' lists them.")
    if not names:
        known = topodesign.examples()
        width = max(len(example.name) for example in known)
        records = [example.record() for example in known]
        lines = (f"{example.name:<{width}}  {example.about}" for example in known)
        print_answer("\n".join(lines), {"examples": records}, lambda: records)
        return
    copied = list(map(str, topodesign.copy_examples(names, output or Path())))
    said = f"{counted(len(copied), 'file')} copied: {', '.join(copied)}"
    print_answer(said, {"files": copied}, lambda: [{"file": path} for path in copied])

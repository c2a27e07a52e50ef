"""``topodesign catalog``: the commands, with one line here for each."""

from __future__ import annotations

import click

from topodesign.cli.lazy import LazyGroup

COMMANDS = {
    "show": "Look up the best known topologies of a size.",
    "status": "Summarise coverage and quality of the catalog.",
    "verify": "Rebuild rows from their specs and price them again.",
    "build": "Work out the best topologies of every size of a grid.",
    "improve": "Search for topologies that beat the catalog's.",
    "merge": "Put several catalogs together, of each size the best rows.",
    "diff": "Compare a catalog with another, size by size.",
}


_TOGETHER = {"rows": "show verify build merge diff"}


@click.group(name="catalog", cls=LazyGroup, package=__name__, table=COMMANDS, together=_TOGETHER)
def command() -> None:
    """Look up, verify, build and improve the best known topologies of many sizes.

    Start with: topodesign catalog show -n 1000 -d 4
    """

"""What a shell offers where a spec is expected: names of families, expansions, fabrics, everyday names, and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


class SpecText(click.types.StringParamType):
    """Text that names a topology or a fabric: a spec or a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that a word may become, each with what it is, and whatever files begin so.

        Past the opening bracket there are numbers, of which nothing can be said.
        """
        del ctx, param
        if "(" in incomplete:
            return []
        from topodesign.report.families import families  # noqa: PLC0415  heavy, and only for shells that ask

        found = {one.name: one.call for one in families() if one.name.startswith(incomplete)}
        items = [CompletionItem(name, help=call) for name, call in found.items()]
        return [*items, CompletionItem(incomplete, type="file")]


SPEC = SpecText()

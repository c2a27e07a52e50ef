"""A group that imports commands when they are called.

Help texts come at once.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from topodesign.base.wording import suggest
from topodesign.cli.answers import Group, refuse_retired


class LazyGroup(Group):
    """A group of commands in the modules of a package.

    * ``package``: where the modules are.
    * ``table``: commands in the order of the help text, with what it says of them. The module of a command has its
      name.
    * ``sections``: the same under headings; all under one if None.
    * ``together``: modules of several commands, with these and blanks between.
    """

    def __init__(
        self,
        *args: Any,
        package: str,
        table: Mapping[str, str],
        sections: Mapping[str, Mapping[str, str]] | None = None,
        together: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.package = package
        self.table = table
        self.sections = {"Commands": table} if sections is None else sections
        self.modules = {name: module for module, names in (together or {}).items() for name in names.split()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command."""
        del ctx
        if cmd_name not in self.table:
            return None
        own = cmd_name.replace("-", "_")
        module = importlib.import_module(f"{self.package}.{self.modules.get(cmd_name, own)}")
        return next(one for one in vars(module).values() if isinstance(one, click.Command) and one.name == cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands without importing any, all as wide."""
        del ctx
        width = max(map(len, self.table))
        for title, commands in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), about) for name, about in commands.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read ``help COMMAND`` as ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name; suggest known ones if unknown."""
        refuse_retired(ctx, args)
        if args and args[0] not in self.table and not args[0].startswith("-"):
            said = suggest(args[0], self.table, most=2, like=0.6)
            ctx.fail(f"No command '{args[0][:50]}'; {said}{'' if said.endswith('?') else '.'}")
        return super().resolve_command(ctx, args)

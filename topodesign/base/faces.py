"""The function of each command, and the command of each function.

``wire X`` is ``X_wiring`` and ``catalog X`` is ``X_catalog``; any other command has the name of its function.
"""

from topodesign.base import retired

GROUPS = {"wire": "wiring", "catalog": "catalog"}
"""Groups of commands, with the word at the end of their functions."""
ALIASES = {
    "compile": "compile_plan",
    "failures": "single_failures",
    "kernels": "compile_kernels",
    "run": "run_plan",
    "training": "compare_steps",
}
"""Names of commands that :mod:`topodesign` has, too, for functions with a longer name of their own."""


def function_of(command: str) -> str:
    """Return the name of the function of a command, given by its words."""
    group, _, name = command.partition(" ")
    return f"{name}_{GROUPS[group]}" if name else command


def command_of(function: str) -> str | None:
    """Return the words of the command of a function, or None if the name tells none.

    Old names, and hyphens in place of underscores, are known.
    """
    name = function.replace("-", "_")
    name = retired.RENAMED.get(name, name)
    for command, alias in ALIASES.items():
        if alias == name:
            return command
    words, _, last = name.rpartition("_")
    return next((f"{group} {words}" for group, ending in GROUPS.items() if words and ending == last), None)

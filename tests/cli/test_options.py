"""What shells are offered: commands, options, and names of specs where a spec is expected."""

from __future__ import annotations

import click
import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from tests.cli.test_answers import ALL
from topodesign.base import entry_points
from topodesign.cli.main import COMMANDS, program
from topodesign.cli.options import SPEC
from topodesign.fabrics.presets import FABRICS
from topodesign.topology.everyday import SPOKEN

SHELLS: list[type[ShellComplete]] = [BashComplete, ZshComplete, FishComplete]


def offered(line: str, shell: type[ShellComplete] = ZshComplete) -> dict[str, str]:
    """The words offered for the last one of a line, with their kinds."""
    *words, incomplete = line.split(" ")
    found = shell(program, {}, "topodesign", "_TOPODESIGN_COMPLETE").get_completions(words, incomplete)
    return {item.value: item.type for item in found}


@pytest.mark.parametrize("shell", SHELLS, ids=lambda one: one.name)
def test_commands_and_options(shell: type[ShellComplete]) -> None:
    assert set(offered("", shell)) == COMMANDS.keys()
    assert set(offered("par", shell)) == {"pareto"}
    assert set(offered("wire ", shell)) == {path[1] for path in ALL if path[0] == "wire"}
    assert "--inventory" in offered("pareto --inv", shell)
    for path in ALL:
        shown = [one for one in ALL[path].params if not getattr(one, "hidden", False)]
        names = {name for one in shown for name in one.opts if name.startswith("--")}
        assert names <= set(offered(f"{' '.join(path)} --", shell)), path


def test_names_of_specs_and_files() -> None:
    assert set(offered("evaluate ")) - {""} >= {
        *entry_points.FAMILIES,
        *entry_points.EXPANSIONS,
        *SPOKEN,
        *FABRICS,
        "catalog",
    }
    assert offered("evaluate gen") == {"genkautz": "plain", "genkautzjoined": "plain", "gen": "file"}
    assert "jellyfish" in offered("compare best jel")
    assert "fat_tree" in offered("evaluate fat")
    assert offered("evaluate torus(4,") == {}


def test_wherever_a_spec_is_read_its_names_are_offered() -> None:
    having = {
        path
        for path, one in ALL.items()
        if any(isinstance(param, click.Argument) and param.type is SPEC for param in one.params)
    }
    assert having >= {
        (name,)
        for name in (
            "evaluate",
            "compare",
            "convert",
            "schedule",
            "compile",
            "info",
            "failures",
            "upgrade",
        )
    } | {("wire", "plan"), ("wire", "change")}


@pytest.mark.parametrize("shell", [ZshComplete, FishComplete], ids=lambda one: one.name)
def test_the_script_calls_the_program(shell: type[ShellComplete]) -> None:
    text = shell(program, {}, "topodesign", "_TOPODESIGN_COMPLETE").source()
    assert f"_TOPODESIGN_COMPLETE={shell.name}_complete" in text

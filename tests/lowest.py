"""Run tests and the README with the lowest versions that pyproject.toml declares: python tests/lowest.py [OPTION]

It makes a virtual environment in a temporary folder, installs there the lower bound of every dependency (or, with
--newest, the newest version that there is) and what the tests need, asks every command for its help, runs the commands
of the README, and then those tests that touch each library. Some minutes; part of the thorough profile, not of the
quick. Other arguments are tests to run in place of these. With --help-alone it installs what help texts import, and
asks for these: seconds, in every run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = "tests/test_docs.py::test_pages_show_what_is_printed[README.md]"
HELP = ("click", "numpy")  # what help texts import
TESTS = ("tests/topology", "tests/solve", "tests/plans", "tests/pricing", "tests/base", "tests/fabrics")
_HELP = """
import click
from topodesign.cli.main import program
def walk(command, context):
    with click.Context(command, info_name=command.name, parent=context) as own:
        command.get_help(own)
        for name in command.list_commands(own) if isinstance(command, click.Group) else ():
            walk(command.get_command(own, name), own)
walk(program, None)
"""


def lowest(requirements: list[str]) -> list[str]:
    """Return requirements with their lower bounds for versions; a bound of the series only takes any of that series."""
    return [re.sub(r">=([0-9.]+)$", lambda match: f"=={match[1]}.*", one) for one in requirements]


def main(arguments: list[str]) -> int:
    """Run them and return the exit status."""
    newest, alone = "--newest" in arguments, "--help-alone" in arguments
    tests = [one for one in arguments if not one.startswith("--")] or [README, *TESTS]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies = project["dependencies"] if newest else lowest(project["dependencies"])
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        if alone:
            few = [one for one in dependencies if re.split(r"[<>=~!\[]", one)[0] in HELP]
            subprocess.run([python, "-m", "pip", "install", "-q", *few], check=True)
            return subprocess.run([python, "-c", _HELP], cwd=ROOT, check=False).returncode
        wanted = [*dependencies, "pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100", "jsonschema>=4.20"]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        subprocess.run([python, "-c", _HELP], cwd=ROOT, check=True)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

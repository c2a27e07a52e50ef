"""Run tests with the lowest versions that pyproject.toml declares, in a fresh environment: python tests/lowest.py

It makes a virtual environment in a temporary folder, installs there the lower bound of every dependency and what the
tests need, and runs those tests that touch each library. Some minutes; part of the thorough profile, not of the quick.
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
TESTS = ("tests/topology", "tests/solve", "tests/plans", "tests/pricing", "tests/base", "tests/fabrics")


def lowest(requirements: list[str]) -> list[str]:
    """Return requirements with their lower bounds for versions; a bound of the series only takes any of that series."""
    return [re.sub(r">=([0-9.]+)$", lambda match: f"=={match[1]}.*", one) for one in requirements]


def main() -> int:
    """Run them and return the exit status."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        wanted = [*lowest(project["dependencies"]), "pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100"]
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
        return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

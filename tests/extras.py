"""Install each extra by itself, and run the tests that need it: python tests/extras.py [EXTRA...]

Every extra gets a virtual environment of its own in a temporary folder, with the package, this extra and pytest. What
the extra is for has to work there. Some minutes; a part of ``.ci/run --thorough``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TESTS = {
    "chakra": ["tests/compiler/backends/test_chakra.py"],
    "cluster": ["tests/search/test_build.py", "-k", "cluster"],
    "docs": ["tests/test_site.py"],
    "exact": ["tests/solve/test_program.py"],
    "jax": ["tests/compiler/backends/test_jax.py"],
    "mpi": ["tests/execution/test_mpi.py"],
    "netbox": ["tests/wiring/test_netbox_rest.py"],
    "notebook": ["tests/base/test_tables.py", "-k", "html or records or results"],
    "print": ["tests/wiring/test_exports.py", "-k", "labels"],
    "torch": ["tests/execution/test_torch.py"],
}
"""Tests that need an extra, and are skipped where it is missing."""


def main(chosen: list[str]) -> int:
    """Try extras, and return the exit status."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if missing := declared.keys() - TESTS.keys() - {"dev"}:
        print(f"no tests are listed for {', '.join(sorted(missing))}")
        return 1
    status = 0
    for extra in chosen or sorted(TESTS):
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = str(Path(folder) / "bin" / "python")
            wanted = ["-e", f"{ROOT}[{extra}]", "pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100"]
            subprocess.run([python, "-m", "pip", "install", "-q", "--no-compile", *wanted], check=True)
            command = [python, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *TESTS[extra]]
            done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
            last = done.stdout.strip().rpartition("\n")[2]
            told = f"{extra}: {last}" if done.returncode == 0 else f"{extra} failed\n{done.stdout}{done.stderr}"
            print(told, flush=True)
            status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One place says the version: that of the installed package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import topodesign
from topodesign.base.version import __version__


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert topodesign.__version__ == __version__ == project.get("version", __version__)

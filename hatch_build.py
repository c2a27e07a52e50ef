"""What building a wheel does besides copying files: the catalog goes into it packed, and machine code if asked for.

In a checkout, in the archive of the sources, and in an installation that is edited in place it stays the text that it
is. The module that packs is that of the package; it needs nothing but Python, since nothing else is installed here.

Where ``TOPODESIGN_MACHINE_CODE`` is set, all that ``topodesign warm`` compiles goes into the wheel, compiled for all
processors with AVX2, or all of another architecture; it is then a wheel for this platform and version of Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ASKED = "TOPODESIGN_MACHINE_CODE"


class Prepared(BuildHookInterface[Any]):
    """Packs the catalog and compiles before a wheel is built, and clears away after that."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def dependencies(self) -> list[str]:
        """Return what compiling needs: all that the program does."""
        return self.metadata.core.dependencies if os.environ.get(_ASKED) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare what is included besides the files of the package."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from topodesign.catalog.packing import pack_catalog  # noqa: PLC0415  found from here on

        self._folder = tempfile.TemporaryDirectory()
        packed = Path(self._folder.name) / "catalog"
        pack_catalog(Path(self.root) / "catalog", packed)
        build_data["force_include"][str(packed)] = "topodesign/_data/catalog"
        if os.environ.get(_ASKED):
            self._compile(Path(self._folder.name), build_data)

    def _compile(self, folder: Path, build_data: dict[str, Any]) -> None:
        """Compile what the main commands run as machine code."""
        from topodesign.base.machine import portable  # noqa: PLC0415  needs NumPy

        name, features = portable()
        settings = {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features, "NUMBA_CACHE_DIR": str(folder)}
        subprocess.run(
            [sys.executable, "-m", "topodesign", "warm"], cwd=self.root, env={**os.environ, **settings}, check=True
        )
        build_data["force_include"][str(folder / "topodesign")] = "topodesign/_data/machine_code"
        build_data |= {"pure_python": False, "infer_tag": True}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Clear away what was prepared."""
        if self._folder is not None:
            self._folder.cleanup()

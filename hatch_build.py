"""What building a wheel does besides copying files: the catalog goes into it packed.

In a checkout, in the archive of the sources, and in an installation that is edited in place it stays the text that it
is. The module that packs is that of the package; it needs nothing but Python, since nothing else is installed here.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PackedCatalog(BuildHookInterface[Any]):
    """Packs the catalog before a wheel is built, and clears it away after that."""

    PLUGIN_NAME = "custom"
    _folder: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Pack the catalog, and have it included."""
        if version == "editable":
            return
        sys.path.insert(0, self.root)
        from topodesign.catalog.packing import pack_catalog  # noqa: PLC0415  found from here on

        self._folder = tempfile.TemporaryDirectory()
        packed = Path(self._folder.name) / "catalog"
        pack_catalog(Path(self.root) / "catalog", packed)
        build_data["force_include"][str(packed)] = "topodesign/_data/catalog"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Clear away what was packed."""
        if self._folder is not None:
            self._folder.cleanup()

"""``python -m topodesign``: the same as the program ``topodesign``."""

from __future__ import annotations

from topodesign.cli import main

if __name__ == "__main__":
    main()

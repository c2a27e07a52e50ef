"""Direct-connect network topologies for AI training, with exact costs.

The names below are what a notebook needs; each is imported on first use, so that ``import topodesign`` is instant.

>>> from topodesign import build, pareto, price
>>> price(build("circulant(12,2,3)"))
Cost(steps=2, bandwidth=Fraction(11, 12))
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

_LINES = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines()
_HOMES = {line.split()[3]: line.split()[1] for line in _LINES if line.startswith("from ")}
"""The module of every public name, as the stub beside this file says it."""

__all__ = [*_HOMES]  # noqa: PLE0604  names of texts


def __getattr__(name: str) -> Any:
    """Import a public name on first use, and refuse a retired one with its successor."""
    if name not in _HOMES:
        from topodesign.base import retired  # noqa: PLC0415  for old names

        if name in retired.NAMES:
            raise AttributeError(retired.describe_retired(f"topodesign.{name}", retired.NAMES[name]))
        raise AttributeError(f"module 'topodesign' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

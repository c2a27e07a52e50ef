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
from warnings import warn

from topodesign.base.faces import ALIASES

_LINES = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8").splitlines()
_HOMES = {line.split()[3]: line.split()[1] for line in _LINES if line.startswith("from ")}
"""The module of every public name, as the stub beside this file says it."""

__all__ = [*_HOMES, *ALIASES]  # noqa: PLE0604  both are of texts


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for.

    Warns
    -----
    DeprecationWarning
        If a function has another name today.
    """
    known = ALIASES.get(name, name)
    if known not in _HOMES:
        from topodesign.base import retired  # noqa: PLC0415  for old names

        if name in retired.NAMES:
            raise AttributeError(retired.describe_retired(f"topodesign.{name}", retired.NAMES[name]))
        known = retired.RENAMED.get(name, name)
        if known == name:
            raise AttributeError(f"module 'topodesign' has no attribute {name!r}")
        warn(f"topodesign.{name} is topodesign.{known} now", DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module(_HOMES[known]), known)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

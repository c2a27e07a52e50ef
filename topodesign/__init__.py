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
_WORDS = [line.split() for line in _LINES]
_HOMES = {words[3]: (words[1], words[3]) for words in _WORDS if words[:1] == ["from"]}
_HOMES |= {words[0]: _HOMES[words[2]] for words in _WORDS if words[1:2] == ["="]}
"""The module of every public name, and its name there, as the stub beside this file has them."""

__all__ = [*_HOMES]  # noqa: PLE0604  names of texts


def __getattr__(name: str) -> Any:
    """Import a public name on first use, and refuse a retired one with its successor."""
    if name not in _HOMES:
        from topodesign.base import retired  # noqa: PLC0415  for old names

        if name in retired.NAMES:
            raise AttributeError(retired.describe_retired(f"topodesign.{name}", retired.NAMES[name]))
        raise AttributeError(f"module 'topodesign' has no attribute {name!r}")
    module, own = _HOMES[name]
    return getattr(importlib.import_module(module), own)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)

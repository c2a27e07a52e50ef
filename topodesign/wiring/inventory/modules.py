"""What the modules of a folder declare, so that a new file is all that there is to add."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def declared_in(folder: ModuleType, name: str, first: Sequence[str] = ()) -> list[Any]:
    """Return what modules of a folder have under a name; those named first, then the others by name."""
    there = sorted(module.name for module in iter_modules(folder.__path__))
    ordered = [*(one for one in first if one in there), *(one for one in there if one not in first)]
    modules = (import_module(f"{folder.__name__}.{one}") for one in ordered)
    return [getattr(module, name) for module in modules if hasattr(module, name)]

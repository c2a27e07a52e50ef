"""Modules with one ``DRIVER`` for each kind of circuit switch."""

from __future__ import annotations

import pkgutil
from typing import Literal, get_args

FORMATS = tuple(sorted((name for _, name, inner in pkgutil.iter_modules(__path__) if not inner), reverse=True))
"""The kinds by name, without importing one: each is the file of its driver, and the format of its commands."""
Spelling = Literal["ocs", "yang"]
SPELLINGS: tuple[Spelling, ...] = get_args(Spelling)
"""How SONiC's commands are spelt, see :mod:`topodesign.wiring.switches.kinds.sonic`."""

"""Efforts of all-to-all prices; light, since commands list them."""

from __future__ import annotations

from typing import Literal, get_args

Effort = Literal["quick", "auto", "exact", "approximate", "bounds"]
"""See :func:`topodesign.all_to_all`."""

EFFORTS: tuple[Effort, ...] = get_args(Effort)

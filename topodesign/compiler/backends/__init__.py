"""Back ends of the compiler, one module per target.

Imports the instruction IR and the runtimes, and knows no front end. The command line takes its choices from here, so
that nothing here imports NumPy before there is work. To add one, write a subclass of
:class:`~topodesign.compiler.backends.backend.Backend` in a file of its own and list it in ``_LISTED``. An option of its
own is a field of :class:`~topodesign.compiler.options.CompileOptions`, named in its ``takes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from topodesign.compiler.backends.backend import Backend
from topodesign.compiler.backends.chakra import Chakra
from topodesign.compiler.backends.jax import Jax
from topodesign.compiler.backends.msccl import Msccl
from topodesign.compiler.backends.mscclpp import Mscclpp

__all__ = ["BACKENDS", "Backend"]

_LISTED: tuple[Backend, ...] = (Msccl(), Mscclpp(), Chakra(), Jax())

BACKENDS: Mapping[str, Backend] = MappingProxyType({backend.name: backend for backend in _LISTED})
"""All targets by name."""

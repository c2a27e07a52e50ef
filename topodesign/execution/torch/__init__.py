"""PyTorch integration: transport of ``run``, process group backend, DDP hook.

Importing this registers the backend ``topodesign`` of ``torch.distributed.init_process_group``. ``links`` moves the
messages of one plan, ``engine`` chooses plans of a set and keeps what it has made of them, ``group`` is the backend,
``hook`` that of DDP, ``world`` the transport. Everything that goes from rank to rank goes in batches of
``batch_isend_irecv`` whose order :mod:`topodesign.execution.levels` has proven free of deadlock.
"""

from __future__ import annotations

from topodesign.base.errors import MissingLibraryError

try:
    import torch.distributed as _distributed
except ImportError:
    raise MissingLibraryError(
        "running among processes of PyTorch requires it: pip install 'topodesign[torch]'"
    ) from None
if not _distributed.is_available():
    raise MissingLibraryError("this build of PyTorch has no torch.distributed; install another")

from topodesign.execution.torch.engine import Engine
from topodesign.execution.torch.group import PlanGroup, PlanOptions, register
from topodesign.execution.torch.hook import allreduce_hook

__all__ = ["Engine", "PlanGroup", "PlanOptions", "allreduce_hook", "register"]

register()

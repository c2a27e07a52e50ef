"""Tensors as the executor takes them: flat, and given back where PyTorch wants them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def as_work(future: torch.futures.Future[Any]) -> Any:
    """Return what PyTorch waits for, of a future."""
    return torch._C._distributed_c10d._create_work_from_future(future)  # noqa: SLF001  there is no other


def flattened(data: torch.Tensor) -> torch.Tensor:
    """Return data in one dimension: a view where their strides allow, else a copy."""
    return data.contiguous().view(-1)


def on_flat(data: torch.Tensor, work: Callable[[torch.Tensor], bool]) -> bool:
    """Let something change data in one dimension, whatever their strides."""
    return on_flats([data], lambda flats: work(flats[0]))


def on_flats(tensors: Sequence[torch.Tensor], work: Callable[[list[torch.Tensor]], bool]) -> bool:
    """Let something change tensors in one dimension; whether it did, and they have what it wrote."""
    flats = [flattened(one) for one in tensors]
    done = work(flats)
    if done:
        for one, flat in zip(tensors, flats, strict=True):
            if not one.is_contiguous():
                one.copy_(flat.view(one.shape))
    return done


def rows(flat: torch.Tensor, whole: torch.Tensor, splits: list[int], ranks: int) -> Any:
    """Return the parts of flat data that have so many rows of the whole; equal ones if nothing is said."""
    if not splits:
        return flat.chunk(ranks)
    width = flat.numel() // max(len(whole), 1)
    return flat.split([width * rows for rows in splits])

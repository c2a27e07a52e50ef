"""Messages of one plan among PyTorch processes, with reused buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.distributed as dist

from topodesign.execution.workspace import Runner, Slot


def as_work(future: torch.futures.Future[Any]) -> Any:
    """Return a future as PyTorch work."""
    return torch._C._distributed_c10d._create_work_from_future(future)  # noqa: SLF001  there is no other


def flatten(data: torch.Tensor) -> torch.Tensor:
    """Return data in one dimension: a view if possible, else a copy."""
    return data.contiguous().view(-1)


def on_flat(data: torch.Tensor, work: Callable[[torch.Tensor], bool]) -> bool:
    """Let something change data in one dimension, whatever their strides."""
    return on_flats([data], lambda flats: work(flats[0]))


def on_flats(tensors: Sequence[torch.Tensor], work: Callable[[list[torch.Tensor]], bool]) -> bool:
    """Apply a function to flat tensors and copy results back.

    Returns whether the function succeeded.
    """
    flats = [flatten(one) for one in tensors]
    done = work(flats)
    if done:
        for one, flat in zip(tensors, flats, strict=True):
            if not one.is_contiguous():
                one.copy_(flat.view(one.shape))
    return done


def rows(flat: torch.Tensor, whole: torch.Tensor, splits: list[int], ranks: int) -> Any:
    """Split flat data by rows of the whole, equally by default."""
    if not splits:
        return flat.chunk(ranks)
    width = flat.numel() // max(len(whole), 1)
    return flat.split([width * rows for rows in splits])


Op: TypeAlias = dist.ReduceOp.RedOpType
_TAG = 0x70D0  # so that gloo keeps what others send through the same group apart; NCCL has no tags


class Reduction(NamedTuple):
    """Reduction of two partial results."""

    into: Callable[[torch.Tensor, torch.Tensor], object]  # puts the result into the first
    nothing: float  # what changes nothing


def reduction_of(op: Op, dtype: torch.dtype) -> Reduction | None:
    """Return the reduction for an operation and type, if supported.

    AVG is a sum, which is divided in the end.
    """
    whole = not (dtype.is_floating_point or dtype.is_complex)
    if dtype is torch.bool or op not in _REDUCTIONS:
        return None
    into, nothing = _REDUCTIONS[op]
    if op in {Op.BAND, Op.BOR, Op.BXOR}:
        unsigned = whole and torch.iinfo(dtype).min == 0
        return Reduction(into, torch.iinfo(dtype).max if op == Op.BAND and unsigned else nothing) if whole else None
    if op in {Op.MIN, Op.MAX}:
        if dtype.is_complex:
            return None
        info = torch.iinfo(dtype) if whole else None
        edges = (float("inf"), float("-inf")) if info is None else (info.max, info.min)
        return Reduction(into, edges[op == Op.MAX])
    return None if op == Op.AVG and whole else Reduction(into, nothing)


_REDUCTIONS: Mapping[Op, tuple[Callable[[torch.Tensor, torch.Tensor], object], int]] = {
    Op.SUM: (torch.Tensor.add_, 0),
    Op.AVG: (torch.Tensor.add_, 0),
    Op.PRODUCT: (torch.Tensor.mul_, 1),
    Op.MIN: (lambda into, other: torch.minimum(into, other, out=into), 0),
    Op.MAX: (lambda into, other: torch.maximum(into, other, out=into), 0),
    Op.BAND: (torch.Tensor.bitwise_and_, -1),
    Op.BOR: (torch.Tensor.bitwise_or_, 0),
    Op.BXOR: (torch.Tensor.bitwise_xor_, 0),
}


class Traffic:
    """Messages and bytes sent by a rank.

    * ``messages``, ``bytes``: counts by the rank in the group that they went to.
    """

    def __init__(self) -> None:
        self.messages: Counter[int] = Counter()
        self.bytes: Counter[int] = Counter()


class Carrier:
    """Messages of a rank's part through a registered group.

    ``peers`` are the ranks of the plan in it; ``traffic`` counts messages.
    """

    def __init__(
        self,
        runner: Runner,
        group: dist.ProcessGroup,
        peers: Mapping[int, int] | Sequence[int],
        traffic: Traffic | None = None,
    ) -> None:
        self.runner = runner
        self._group, self._peers = group, peers
        self._traffic = Traffic() if traffic is None else traffic
        self._sent = [(peers[slot.message.peer], slot.count) for slot in runner.sends if slot.count]
        self._posts: list[list[dist.P2POp]] | None = None

    @property
    def bound(self) -> bool:
        """Whether memory is bound."""
        return self._posts is not None

    def bind(self, memory: torch.Tensor) -> None:
        """Bind memory: a one-dimensional tensor with the layout's element count."""
        self._size = memory.element_size()
        self.runner.bind(memory, memory.new_empty)
        self._posts = [
            [self._post(dist.irecv, one) for one in batch.receives]
            + [self._post(dist.isend, one) for one in batch.sends]
            for batch in self.runner.batches
        ]

    def release(self) -> None:
        """Give the memory back."""
        self._posts = None
        self.runner.release()

    def _post(self, op: Callable[..., object], slot: Slot) -> dist.P2POp:
        # As bytes, which every library sends, whatever the type.
        data = slot.buffer.view(torch.uint8)
        return dist.P2POp(op, data, group=self._group, group_peer=self._peers[slot.message.peer], tag=_TAG)

    def move(self, meet: Callable[[int], None] = lambda _: None) -> None:
        """Run all batches; results are in memory or on the current stream."""
        posts = self._posts or []

        def carry(number: int) -> None:
            for work in post(posts[number]) if posts[number] else ():
                work.wait()  # once: a second wait blocks under gloo

        self.runner.move(carry, meet)
        for peer, count in self._sent:
            self._traffic.messages[peer] += 1
            self._traffic.bytes[peer] += count * self._size


def post(ops: list[dist.P2POp]) -> list[dist.Work]:
    """Start a batch; under gloo without the checks of batch_isend_irecv."""
    group: Any = ops[0].group
    works: list[dist.Work]
    if dist.get_backend(group) == "gloo":
        calls = {dist.irecv: group.recv, dist.isend: group.send}
        works = [calls[one.op]([one.tensor], one.group_peer, one.tag) for one in ops]
    else:
        works = dist.batch_isend_irecv(ops)
    return works


def greet(group: dist.ProcessGroup, device: torch.device, pairs: Sequence[tuple[int, int]]) -> None:
    """Send a byte over all links (from, to) as a first batch.

    All ranks must take part.

    NCCL asks for that, and opens a connection for each then.
    """
    rank = dist.get_rank(group)
    data = [torch.zeros(1, dtype=torch.uint8, device=device) for _ in pairs]
    ops = [
        dist.P2POp(
            dist.isend if source == rank else dist.irecv, one, group=group, group_peer=source + target - rank, tag=_TAG
        )
        for one, (source, target) in zip(data, sorted(pairs), strict=True)
        if rank in {source, target} and source != target
    ]
    if ops:
        for work in post(ops):
            work.wait()

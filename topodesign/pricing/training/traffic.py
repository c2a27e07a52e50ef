"""Traffic of a training step: collectives by group and dependency.

Bytes, with b sequences of s tokens in a micro batch, width h, a bytes a number, t ranks of tensor parallelism:

========== ================================================================================================
tensor     each layer two allreduces of b s h a in the forward pass and two in the backward pass (Shoeybi et
           al., Megatron-LM, 2019, section 3, figure 4); with sequence parallelism an allgather and a
           reduce-scatter in place of each (Korthikanti et al., Reducing Activation Recomputation in Large
           Transformer Models, 2022, section 4.2.2; the gather that the weights' gradients need, which is hidden
           there, is omitted). The embedding and the head one in each pass, and the loss three of 4 b s bytes.
           Inside experts the tokens of a group are gathered after they have come: top-k times as many.
expert     two all-to-alls, to the experts and back, in either pass, of top-k b s h a / t of each rank (Lepikhin
           et al., GShard, 2020, section 3.2).
pipeline   activations, and gradients of these, to the next and the former stage: b s h a of each rank, a t-th
           with sequence parallelism (Narayanan et al., Efficient Large-Scale Language Model Training on GPU
           Clusters, 2021, section 4.1). Of a tied head, first and last stage add up the gradient.
data       an allreduce of the gradients of a rank's layers, or a reduce-scatter of these and an allgather of
           parameters (Rajbhandari et al., ZeRO, 2020, sections 7.1 and 7.2); sharded in full an allgather in
           each pass and a reduce-scatter, every micro batch (section 7.3). Experts among their copies alone.
========== ================================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from topodesign.base.declared import Declared, key
from topodesign.pricing.mix import Mix
from topodesign.pricing.training.model import Model

Use: TypeAlias = Literal["tensor", "expert", "data", "pipeline", "listed"]
"""What something is sent for; ``listed`` is what a list of collectives has."""

USES: tuple[Use, ...] = ("tensor", "expert", "data", "pipeline", "listed")

SEND, ENDS = "send", "exchange"
"""What ranks of a pipeline do: each sends to the next (and another time to the former); first and last exchange."""


@dataclass(frozen=True, slots=True)
class StepCollective(Declared):
    """A collective of a step, in simultaneous groups.

    * ``collective``: what each group does; ``send`` is from each rank of a group to the next, ``exchange`` an allreduce
      of its first and its last.
    * ``size``: data M of a group in bytes: the whole of it for an allgather and its like, the data of a rank for
      all-to-all and send.
    * ``axes``: along which axes of the array of ranks the groups are; all ranks are one group if there are none.
    """

    use: Use  # what for
    collective: str
    size: Fraction
    axes: tuple[int, ...] = ()

    KEYS = (
        key("use", "What it is for.", kind=USES),
        key("collective", "What each group does; `send` is to the next rank, `exchange` of the first and last."),
        key("size_bytes=float(size)", "Data of a group in bytes; of all-to-all and send those of a rank."),
    )


Several: TypeAlias = "tuple[tuple[StepCollective, int], ...]"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a pass: it computes, then waits for ``waits``.

    ``gathers`` are to be there before, which may be in time before; ``reduces`` follow, and nothing waits for them.
    """

    compute: Fraction
    waits: Several = ()
    gathers: Several = ()
    reduces: Several = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """The work of a stage per micro batch.

    And for the last and the first of these in place of it.
    """

    forward: tuple[Block, ...]
    backward: tuple[Block, ...]
    first_forward: tuple[Block, ...]
    last_backward: tuple[Block, ...]


@dataclass(frozen=True)
class StepMix(Declared):
    """A training step, before it is known on which network."""

    name: str  # what it is called
    shape: tuple[int, ...]  # ranks along each axis, the first counting fastest; empty if it fits any number of ranks
    stages: tuple[Stage, ...]  # stages of the pipeline
    micro_batches: int = 1  # how many pass through these
    sends: StepCollective | None = (
        None  # what a stage sends the next, and the former, for a micro batch; None without a pipeline
    )
    last: Several = ()  # what follows when all is done
    overlap: bool = True  # whether ``gathers`` and ``reduces`` travel while layers compute
    model: Model | None = field(default=None, repr=False)  # where it is from; None for a list

    @property
    def counts(self) -> dict[StepCollective, int]:
        """Return how often a step has each collective.

        On the ranks of the stage where it has it most often.
        """
        found: dict[StepCollective, int] = {}
        for stage in self.stages:
            own: dict[StepCollective, int] = {}
            for passes, times in _passes(stage, self.micro_batches):
                for block in passes:
                    for sent, many in (*block.gathers, *block.waits, *block.reduces):
                        own[sent] = own.get(sent, 0) + many * times
            for sent, many in own.items():
                found[sent] = max(found.get(sent, 0), many)
        if self.sends is not None:
            found[self.sends] = 2 * self.micro_batches
        return found | dict(self.last)


def _passes(stage: Stage, micro_batches: int) -> list[tuple[tuple[Block, ...], int]]:
    rest = micro_batches - 1
    return [(stage.first_forward, 1), (stage.forward, rest), (stage.backward, rest), (stage.last_backward, 1)]


def step_mix(model: Model) -> StepMix:
    """Return what a training step of a model sends.

    * ``model``: the model with how ranks part it (:func:`topodesign.pricing.training.model.as_model`).

    Examples
    --------
    >>> from topodesign.pricing.training.model import as_model
    >>> tiny = {"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 1000, "sequence": 128, "batch": 8, "flops": "1T"}
    >>> for sent, count in step_mix(as_model(tiny, {"data": 4})).counts.items():
    ...     print(count, sent.collective, int(sent.size), sent.axes)
    1 allreduce 256 (1, 2)
    2 allreduce 99968 (1, 2)
    1 allreduce 144384 (1, 2)
    """
    return _Parts(model).step()


def mix_step(mix: Mix) -> StepMix:
    """Return collectives in sequence among all ranks, as a step."""
    sent = tuple((StepCollective("listed", one.collective, one.size), one.count) for one in mix.shares)
    return _make_single(mix.name, (Block(Fraction(0), sent),))


def layers_step(name: str, layers: Iterable[tuple[Fraction, Fraction]]) -> StepMix:
    """Return a step of layers with gradient sizes (bytes) and ready times (s)."""
    blocks, before = [], Fraction(0)
    for size, ready in sorted(layers, key=lambda one: one[1]):
        blocks.append(Block(ready - before, reduces=((StepCollective("data", "allreduce", size), 1),)))
        before = ready
    return _make_single(name, tuple(blocks))


def _make_single(name: str, blocks: tuple[Block, ...]) -> StepMix:
    return StepMix(name, (), (Stage((), blocks, (), blocks),))


class _Part(NamedTuple):
    """A layer, the embedding or the head."""

    operations: int  # of one sequence in the forward pass
    layer: bool
    dense: Fraction  # parameters of a rank that all ranks of data parallelism hold
    experts: Fraction  # parameters of a rank in its experts
    loss: bool = False


class _Parts:
    """What parts of a model compute and send."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tokens = model.micro_batch * model.sequence
        self.activations = Fraction(self.tokens * model.hidden * model.activation_bytes)

    def step(self) -> StepMix:
        """Return the whole of it."""
        model = self.model
        stages = tuple(map(self._stage, range(model.pipeline)))
        sends: StepCollective | None = None
        last: Several = ()
        if model.pipeline > 1:
            sends = StepCollective(
                "pipeline", SEND, self.activations / (model.tensor if model.sequence_parallel else 1), (3,)
            )
            if model.tied:
                table = Fraction(model.hidden * model.vocabulary * model.gradient_bytes, model.tensor)
                last = ((StepCollective("pipeline", ENDS, table, (3,)), 1),)
        return StepMix(model.name, model.shape, stages, model.micro_batches, sends, last, model.overlap, model)

    def _stage(self, number: int) -> Stage:
        model = self.model
        parts = [self._layer()] * (model.layers // model.pipeline)
        first, last = number == 0, number == model.pipeline - 1
        table = Fraction(model.hidden * model.vocabulary, model.tensor)
        if first:
            places = model.embedding - model.hidden * model.vocabulary
            parts.insert(0, _Part(0, False, table + places, Fraction(0)))
        if last:  # one matrix, on one stage, is reduced once
            own = Fraction(0) if first and model.tied else table
            parts.append(_Part(model.head_operations, False, own + model.norm, Fraction(0), loss=True))
        return Stage(
            self._forward(parts, whole=False),
            self._backward(parts, whole=False),
            self._forward(parts, whole=True),
            self._backward(parts, whole=True),
        )

    def _layer(self) -> _Part:
        """Return a layer."""
        model = self.model
        alike = 2 * model.norm + model.hidden * model.experts
        alike += model.hidden * (2 - bool(model.experts)) if model.biases else 0
        dense = Fraction(model.dense_of_layer - alike, model.tensor) + alike
        own = model.experts // model.expert * (model.hidden if model.biases else 0)  # biases of experts' outputs
        experts = (Fraction(model.experts_of_layer, model.expert) - own) / model.tensor + own
        return _Part(model.layer_operations, True, dense, experts)

    def _forward(self, parts: Sequence[_Part], *, whole: bool) -> tuple[Block, ...]:
        """Return the forward pass; ``whole`` is that with parameters."""
        model = self.model
        comes = model.sharding == "full" or (whole and model.sharding == "optimizer")
        return tuple(
            Block(
                self._seconds(part, 1),
                self._waits(part) + (self._tensor("allreduce", Fraction(4 * self.tokens), 3) if part.loss else ()),
                self._data("allgather", part, model.parameter_bytes) if comes else (),
            )
            for part in parts
        )

    def _backward(self, parts: Sequence[_Part], *, whole: bool) -> tuple[Block, ...]:
        """Return the backward pass; ``whole`` is that before the gradients."""
        model = self.model
        full = model.sharding == "full"
        how = "allreduce" if model.sharding == "none" else "reduce-scatter"
        again = model.recompute == "full"
        return tuple(
            Block(
                self._seconds(part, 2 + (again and part.layer)),
                self._waits(part) * (1 + (again and part.layer)),
                self._data("allgather", part, model.parameter_bytes) if full else (),
                self._data(how, part, model.gradient_bytes) if full or whole else (),
            )
            for part in reversed(parts)
        )

    def _seconds(self, part: _Part, times: int) -> Fraction:
        return part.operations * self.model.micro_batch * times / self.model.pace

    def _waits(self, part: _Part) -> Several:
        """Return the dependencies of a part's computation, in either pass."""
        model = self.model
        if not part.layer:
            return self._make_allreduce(self.activations, 1, half=True)
        if not model.experts:
            return self._make_allreduce(self.activations, 2)
        tokens = self.activations * model.top_k
        sent: Several = ()
        if model.expert > 1:
            sent = ((StepCollective("expert", "all-to-all", tokens / model.tensor, (1,)), 2),)
        return (*self._make_allreduce(self.activations, 1), *sent, *self._make_allreduce(tokens, 1))

    def _make_allreduce(self, size: Fraction, times: int, *, half: bool = False) -> Several:
        """Return an allreduce among tensor ranks, or its halves."""
        if not self.model.sequence_parallel:
            return self._tensor("allreduce", size, times)
        halves = ("reduce-scatter",) if half else ("allgather", "reduce-scatter")
        return tuple(one for name in halves for one in self._tensor(name, size, times))

    def _tensor(self, collective: str, size: Fraction, times: int) -> Several:
        return ((StepCollective("tensor", collective, size, (0,)), times),) if self.model.tensor > 1 else ()

    def _data(self, collective: str, part: _Part, each: int) -> Several:
        """Return a collective of the parameters of a part."""
        copies = ((part.dense, (1, 2), self.model.data), (part.experts, (2,), self.model.shape[2]))
        return tuple(
            (StepCollective("data", collective, held * each, axes), 1)
            for held, axes, many in copies
            if held and many > 1
        )

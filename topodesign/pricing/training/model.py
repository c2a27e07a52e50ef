"""A transformer in training: layers, partition, parameters, operations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared, key
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import LocatedValue, parse_yaml
from topodesign.base.text_files import read_text
from topodesign.base.wording import suggest

Sharding: TypeAlias = Literal["none", "optimizer", "full"]
Recompute: TypeAlias = Literal["none", "full"]
Positions: TypeAlias = Literal["none", "learned"]

ENDINGS = (".yaml", ".yml", ".json")
_LARGEST_FILE = 2**20
_MAX = 10**12
_NAMES: Mapping[str, tuple[str, ...]] = {
    "sharding": get_args(Sharding),
    "recompute": get_args(Recompute),
    "positions": get_args(Positions),
}
_NUMBER = re.compile(r"(?P<number>[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e\+?[0-9]{1,2})?)(?P<scale>[%kKMGTP]?)")
_SCALES = {"": Fraction(1), "%": Fraction(1, 100)} | {
    letter: Fraction(10**power) for letter, power in zip("kKMGTP", (3, 3, 6, 9, 12, 15), strict=True)
}
_FREE = ("experts", "kv_heads", "ffn", "expert_ffn")  # numbers for which 0 stands for what the others say


@dataclass(frozen=True)
class Model(Declared):
    """A transformer and its training, with defaults for missing fields.

    Attributes
    ----------
    name
        What it is called.
    layers, hidden, heads, vocabulary, sequence
        Layers, width, attention heads, tokens that there are, and tokens of a sequence.
    kv_heads
        Heads of keys and values; as many as `heads` if 0.
    ffn
        Width inside the feed-forward part; 4 `hidden` if 0.
    gated
        Whether that part has three matrices (SwiGLU) instead of two.
    biases
        Whether matrices have biases, and norms two vectors (LayerNorm) instead of one (RMSNorm).
    positions
        Whether positions are `learned`, or no parameters (`none`: rotary).
    tied
        Whether the head is the embedding's own matrix.
    experts, top_k, expert_ffn
        Experts of each layer, 0 if it is dense, how many a token goes to, and their width; `ffn` if 0.
    batch, micro_batch
        Sequences of a step, and of a micro batch on one rank of data parallelism.
    tensor, pipeline, data, expert
        Ranks along each axis; `expert` divides `data`.
    sequence_parallel
        Whether norms and dropouts are parted along the sequence, too, so that an allgather and a reduce-scatter stand
        for each allreduce of tensor parallelism.
    sharding
        What data parallelism parts: `none`, `optimizer` (ZeRO-1 and 2) or `full` (ZeRO-3, FSDP).
    recompute
        Whether activations are kept (`none`), or the forward pass is done once more before the backward pass (`full`).
    overlap
        Whether gradients and parameters travel while layers compute.
    activation_bytes, parameter_bytes, gradient_bytes
        Bytes of a number of each sort, as they are sent.
    flops
        Operations a second of an accelerator.
    efficiency
        Which part of these it reaches.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    batch: int
    flops: Fraction
    kv_heads: int = 0
    ffn: int = 0
    gated: bool = False
    biases: bool = True
    positions: Positions = "learned"
    tied: bool = True
    experts: int = 0
    top_k: int = 1
    expert_ffn: int = 0
    micro_batch: int = 1
    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    expert: int = 1
    sequence_parallel: bool = True
    sharding: Sharding = "none"
    recompute: Recompute = "none"
    overlap: bool = True
    activation_bytes: int = 2
    parameter_bytes: int = 2
    gradient_bytes: int = 2
    efficiency: Fraction = Fraction(1, 2)

    KEYS = (
        "name layers hidden heads vocabulary sequence experts batch micro_batch tensor pipeline data expert",
        "sharding recompute ranks micro_batches parameters active_parameters",
        key("flops=float(flops)", "Operations a second of an accelerator at its peak."),
        key("efficiency=float(efficiency)", "Part of these that it reaches."),
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            if one.type == "int":
                least = 0 if one.name in _FREE else 1
                value = getattr(self, one.name)
                if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MAX:
                    raise ParameterError(f"{one.name} is a whole number from {least} on, not {value!r:.40}")
        if not 0 < self.efficiency <= 1 or self.flops <= 0:
            raise ParameterError("flops must be above zero, and the efficiency above zero and at most 100%")
        whole = {
            "heads": (self.heads, "tensor", self.tensor),
            "kv_heads": (self.kv_heads or self.heads, "tensor", self.tensor),
            "hidden": (self.hidden, "heads", self.heads),
            "heads in all": (self.heads, "kv_heads", self.kv_heads or self.heads),
            "ffn": (self.inner, "tensor", self.tensor),
            "vocabulary": (self.vocabulary, "tensor", self.tensor),
            "layers": (self.layers, "pipeline", self.pipeline),
            "batch": (self.batch, "data times micro_batch", self.data * self.micro_batch),
            "data": (self.data, "expert", self.expert),
            "experts": (self.experts, "expert", self.expert),
            "expert_ffn": (self.expert_inner, "tensor", self.tensor),
        }
        if self.sequence_parallel:
            whole["sequence"] = (self.sequence, "tensor", self.tensor)
        for name, (number, other, parts) in whole.items():
            if number % parts:
                raise ParameterError(f"{name} {number} is not divided by {other} {parts}; choose another of the two")
        if self.expert > 1 and not self.experts:
            raise ParameterError("expert parallelism requires experts; say how many there are, or omit expert")
        if self.experts and self.top_k > self.experts:
            raise ParameterError(f"a token cannot go to {self.top_k} of {self.experts} experts")
        if self.experts and self.tensor > 1 and not self.sequence_parallel:
            raise ParameterError("experts with tensor parallelism send each token once only if sequence_parallel is on")
        if self.sharding == "full" and self.pipeline > 1:
            raise ParameterError("parameters that are sharded in full have no pipeline; use sharding: optimizer")

    @property
    def ranks(self) -> int:
        """Accelerators: the product of tensor, pipeline and data."""
        return self.tensor * self.pipeline * self.data

    @property
    def micro_batches(self) -> int:
        """Micro batches that go through the pipeline in a step."""
        return self.batch // (self.data * self.micro_batch)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Ranks along tensor, expert, rest of data, pipeline.

        The first counts fastest, as in Megatron-LM.
        """
        return self.tensor, self.expert, self.data // self.expert, self.pipeline

    @property
    def inner(self) -> int:
        """Width inside the feed-forward part."""
        return self.ffn or 4 * self.hidden

    @property
    def expert_inner(self) -> int:
        """Width inside an expert."""
        return self.expert_ffn or self.inner

    @property
    def attention(self) -> int:
        """Parameters of attention: queries, keys, values and projection."""
        keys = self.hidden // self.heads * (self.kv_heads or self.heads)
        biases = (2 * self.hidden + 2 * keys) if self.biases else 0
        return 2 * self.hidden * self.hidden + 2 * self.hidden * keys + biases

    def forward_part(self, inner: int) -> int:
        """Return the parameters of a feed-forward part of a width."""
        biases = (inner * (1 + self.gated) + self.hidden) if self.biases else 0
        return (2 + self.gated) * self.hidden * inner + biases

    @property
    def norm(self) -> int:
        """Parameters of a norm."""
        return self.hidden * (1 + self.biases)

    @property
    def dense_of_layer(self) -> int:
        """Parameters of a layer outside experts.

        Attention, two norms, and the router or the feed-forward part.
        """
        rest = self.hidden * self.experts if self.experts else self.forward_part(self.inner)
        return self.attention + 2 * self.norm + rest

    @property
    def experts_of_layer(self) -> int:
        """Parameters of all experts of a layer."""
        return self.experts * self.forward_part(self.expert_inner)

    @property
    def embedding(self) -> int:
        """Parameters of the embedding of tokens and learned positions."""
        return self.hidden * (self.vocabulary + (self.sequence if self.positions == "learned" else 0))

    @property
    def parameters(self) -> int:
        """Parameters of the model."""
        head = self.norm + (0 if self.tied else self.hidden * self.vocabulary)
        return self.embedding + self.layers * (self.dense_of_layer + self.experts_of_layer) + head

    @property
    def active_parameters(self) -> int:
        """Parameters that a token meets."""
        idle = self.layers * (self.experts - self.top_k) * self.forward_part(self.expert_inner)
        return self.parameters - (idle if self.experts else 0)

    @property
    def layer_operations(self) -> int:
        """Operations of one sequence in the forward pass of a layer.

        Two for each weight of a matrix and token, and 4 s^2 h for the products of queries, keys and values, the masked
        half included (Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, appendix).
        """
        keys = self.hidden // self.heads * (self.kv_heads or self.heads)
        weights = 2 * self.hidden * (self.hidden + keys)
        wide = (2 + self.gated) * self.hidden
        weights += self.top_k * wide * self.expert_inner + self.hidden * self.experts if self.experts else (
            wide * self.inner
        )  # fmt: skip
        return 2 * weights * self.sequence + 4 * self.sequence**2 * self.hidden

    @property
    def head_operations(self) -> int:
        """Operations of one sequence in the forward pass of the head."""
        return 2 * self.sequence * self.hidden * self.vocabulary

    @property
    def pace(self) -> Fraction:
        """Operations a second of all ranks of a tensor group."""
        return self.flops * self.efficiency * self.tensor

    def but(self, **changes: Any) -> Model:
        """Return the same with other values."""
        return replace(self, **changes)


ModelLike: TypeAlias = "Model | str | Path | Mapping[str, Any]"
"""A model, its file, or a mapping with the fields of one."""


def as_model(value: ModelLike, changes: Mapping[str, Any] | None = None) -> Model:
    """Return the model that a value is or describes.

    * ``value``: a model, the name of its file (YAML or JSON), or a mapping with the fields of :class:`Model`; numbers
      may have a letter for thousands (``312T``), and parts of one be percentages.
    * ``changes``: fields with other values.

    Examples
    --------
    >>> tiny = {"layers": 2, "hidden": 64, "heads": 4, "vocabulary": 1000, "sequence": 128, "batch": 8, "flops": "1T"}
    >>> as_model(tiny, {"data": "2"}).parameters
    172288
    """
    if isinstance(value, Model):
        return value.but(**_check_fields(changes or {}))
    if isinstance(value, Mapping):
        return _build_model("a model", {**value, **(changes or {})})
    path = as_path(value)
    with expecting(path, FileKind.MODEL):
        found = _plain(parse_yaml(read_text(path, ENDINGS, _LARGEST_FILE)))
        try:
            return _build_model(path.stem, found, changes)
        except ParameterError as error:
            raise FileFormatError(str(error)) from None


def _plain(document: LocatedValue) -> dict[str, Any]:
    """Return the fields of a file, with lines in errors."""
    if not isinstance(document.value, dict):
        raise FileFormatError(f"line {document.line}: a model: expected fields such as 'layers: 24'")
    found: dict[str, Any] = {}
    for name, inner in document.value.items():
        try:
            found |= _check_fields({name: inner.value})
        except ParameterError as error:
            raise FileFormatError(f"line {inner.line}: {error}") from None
    return found


def _build_model(name: str, given: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Model:
    values = {"name": name, **_check_fields(given), **_check_fields(changes or {})}
    for one in fields(Model)[:8]:
        if one.name not in values:
            raise ParameterError(f"the field '{one.name}' is missing")
    return Model(**values)


def _check_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as values of their types."""
    types = {one.name: str(one.type) for one in fields(Model)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in types:
            raise ParameterError(f"unknown field {str(name)[:50]!r}; {suggest(str(name), tuple(types), like=0.6)}")
        found[name] = _value(name, types[name], value)
    return found


def _value(name: str, kind: str, value: Any) -> Any:
    if name in _NAMES:
        if value not in _NAMES[name]:
            raise ParameterError(f"{name} is {' or '.join(_NAMES[name])}, not {value!r:.40}")
        return value
    if kind == "str":
        if not isinstance(value, str) or not value.strip():
            raise ParameterError(f"{name}: expected text")
        return value.strip()
    if kind == "bool":
        known = {"true": True, "false": False, "yes": True, "no": False}
        if str(value).lower() not in known:
            raise ParameterError(f"{name} is true or false, not {value!r:.40}")
        return known[str(value).lower()]
    number = _number(name, value)
    if kind != "int":
        return number
    if number.denominator != 1:
        raise ParameterError(f"{name} is a whole number, not {value!r:.40}")
    return int(number)


def _number(name: str, value: Any) -> Fraction:
    """Return a number: ``96``, ``0.45``, ``45%`` or ``312T``."""
    if isinstance(value, Fraction):
        return value
    found = _NUMBER.fullmatch(str(value).strip())
    if isinstance(value, bool) or found is None:
        raise ParameterError(f"{name} is a number such as 96, 45% or 312T, not {value!r:.40}")
    return Fraction(found["number"]) * _SCALES[found["scale"]]

"""Checks of JAX modules: their data and StableHLO.

The data are replayed on random numbers modulo 2^64 without JAX. Where JAX is installed, the module is lowered for as
many devices, none of which has to be there, and what came out is replayed instruction by instruction on others: that
finds what is wrong with the module's code, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import MissingLibraryError
from topodesign.base.text_files import read_bytes
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.runtime.calls import About
from topodesign.runtime.jax.module import LARGEST, Exchange, Module, ModuleError, Phase, Runs, parse_module
from topodesign.runtime.jax.stablehlo import UnknownInstructionError, lower_module, run_lowered
from topodesign.runtime.report import Finding, Report, first

Words = NDArray[Any]


@dataclass(frozen=True)
class ModuleReport(Report):
    """The verdict on a JAX module: ``ok``, ``illegal``, ``mismatch``, ...."""

    ranks: int = 0  # number of devices
    steps: int = 0  # steps, in each of which all is sent before anything is written
    permutations: int = 0  # calls of ppermute
    least: int = 0  # the fewest that steps with these sends can have: the degrees of the steps, added up
    links: int = 0  # pairs of ranks that send
    stages: int = 1  # functions to be called one after the other: one more than circuits change
    jax: str | None = None  # version of JAX whose StableHLO was replayed; null where it is not installed
    calls: About | None = None  # what it can be used for, of any size; None where it is illegal

    KEYS = "ok verdict findings warnings program ranks steps permutations least links stages jax"

    def details(self) -> Any:
        """Yield what was found right, and what the module takes."""
        if not self.permutations and not self.ok:
            return
        permutations = f"{self.permutations} permutations (sum of their degrees: {self.least})"
        yield f"{self.steps} steps, {permutations}, {self.links} links"
        if self.stages > 1:
            yield f"{self.stages} stages, between which circuits change"
        if self.ok:
            yield "data replayed without JAX: right result"
        if self.ok and self.jax is not None:
            yield f"StableHLO of JAX {self.jax} replayed: the same permutations, right result"


def check_module_file(path: Path) -> ModuleReport:
    """Check a file."""
    return check_module(read_bytes(path, LARGEST))


def check_module(content: bytes) -> ModuleReport:
    """Check a JAX module without executing foreign code."""
    try:
        module = parse_module(content)
    except ModuleError as error:
        return ModuleReport("illegal", (Finding("illegal", str(error)),))
    steps = [step for phase in module.phases for step in phase.steps]
    pairs, word = frozenset(pair for step in steps for one in step for pair in one.pairs), module.collective.name
    about: dict[str, Any] = {
        "program": f"{module.collective} of {module.ranks} ranks for JAX",
        "ranks": module.ranks,
        "steps": len(steps),
        "permutations": sum(map(len, steps)),
        "least": sum(map(_degree, steps)),
        "stages": len(module.changes) + 1,
        "links": len(pairs),
        "calls": About("", word.replace("-", ""), module.ranks, inplace=True, outofplace=True, pairs=pairs),
    }
    memory, wanted = sample(module, module.units, np.uint64)
    for phase in module.phases:
        memory = _replay_phase(phase, memory)
    wrong = _compare_results(module.collective, memory, wanted)
    if wrong:
        return ModuleReport(wrong[0].verdict, tuple(wrong), **about)
    try:
        version, program = lower_module(module.text, module)
        wrong = _wrong_lowered(module, program)
    except MissingLibraryError as error:
        return ModuleReport("ok", warnings=(f"{error}; until then its StableHLO is not looked at",), **about)
    except UnknownInstructionError as error:
        return ModuleReport("ok", warnings=(f"its StableHLO was not replayed: {error}",), **about)
    return ModuleReport(wrong[0].verdict if wrong else "ok", tuple(wrong), jax=version, **about)


def _degree(step: Sequence[Exchange]) -> int:
    """Return the most permutations that a step needs."""
    edges = {pair for one in step for pair in one.pairs}
    return max((max(Counter(side).values()) for side in zip(*edges, strict=True)), default=0)


def _replay_phase(phase: Phase, memory: Words) -> Words:
    """Return the rows after a phase; shape ``(ranks, rows)``."""
    ranks = len(memory)
    memory = _take_words(memory, phase.start)
    for step in phase.steps:
        sent = [_take_words(memory, one.take) for one in step]
        for part, one in zip(sent, step, strict=True):
            came = np.zeros_like(part)
            for src, dst in one.pairs:
                came[dst] = part[src]
            for rank in range(ranks):
                rows = _expand_runs(one.put[rank % len(one.put)])
                there = rows >= 0
                if phase.adds:
                    np.add.at(memory[rank], rows[there], came[rank][there])
                else:
                    memory[rank][rows[there]] = came[rank][there]
    summed: Words = _take_words(memory, phase.finish).reshape(ranks, phase.terms, -1).sum(axis=1, dtype=memory.dtype)
    return summed


def _take_words(memory: Words, places: Sequence[Runs]) -> Words:
    rows = [_expand_runs(places[rank % len(places)]) for rank in range(len(memory))]
    return np.stack([np.where(one >= 0, own[np.maximum(one, 0)], 0) for own, one in zip(memory, rows, strict=True)])


def _expand_runs(runs: Runs) -> NDArray[np.int64]:
    return np.concatenate([np.arange(a, b) for a, b in runs])


def sample(module: Module, units: int, kind: type[np.unsignedinteger[Any]]) -> tuple[Words, Words]:
    """Return random blocks and expected results of ranks.

    Shape ``(ranks, blocks * units)``.

    They are those of the input and the output of the collective; of ranks that have none, a root's are others, what
    comes out is to be zero. Made of a fixed seed; sums are modulo a power of two.
    """
    collective, ranks = module.collective, module.ranks
    anyone = collective.at(None)
    blocks = len(anyone.inputs(0, ranks)), len(anyone.outputs(0, ranks))
    values = np.random.default_rng(0).integers(0, np.iinfo(kind).max, (ranks, blocks[0], units), dtype=kind)
    wanted = np.zeros((ranks, blocks[1], units), dtype=kind)
    place = [{block: at for at, block in enumerate(collective.inputs(rank, ranks))} for rank in range(ranks)]
    first = collective.movements[0]
    for rank in range(ranks):
        outputs = np.array(collective.outputs(rank, ranks), dtype=np.int64)
        sources, _ = collective.places(first, outputs, ranks)
        for at, (block, source) in enumerate(zip(outputs.tolist(), sources.tolist(), strict=True)):
            whose = range(ranks) if source == EVERYONE else (source,)
            wanted[rank, at] = sum((values[one, place[one][block]] for one in whose), start=np.zeros(units, dtype=kind))
    if module.amounts is not None:
        sent = np.array(module.amounts).T[..., None] * -(-units // module.units)  # by receiver, as blocks come
        np.einsum("iij->ij", sent)[:] = units  # nobody sends to itself
        wanted = np.where(np.arange(units) < sent, wanted, 0).astype(kind)
    return values.reshape(ranks, -1), wanted.reshape(ranks, -1)


def _compare_results(collective: Collective, found: Words, wanted: Words) -> list[Finding]:
    counts = (found != wanted).sum(axis=1).tolist()
    return first(
        Finding("wrong result", f"{count} pieces of the {collective} are wrong", rank)
        for rank, count in enumerate(counts)
        if count
    )


def _wrong_lowered(module: Module, program: Any) -> list[Finding]:
    units = 2 * module.units - (not module.whole)  # of elements: of two each, and the last is filled up
    given, wanted = sample(module, units, np.uint32)
    found, permutations = run_lowered(program, list(given))
    said = [sorted(one.pairs) for phase in module.phases for step in phase.steps for one in step]
    if [sorted(map(tuple, pairs)) for pairs in permutations] != said:
        text = f"{len(permutations)} collective_permute are not the {len(said)} permutations of the module"
        return [Finding("mismatch", text)]
    return _compare_results(module.collective, np.stack([one.ravel() for one in found]), wanted)

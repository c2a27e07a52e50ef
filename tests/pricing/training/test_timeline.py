"""When a step computes and sends: closed forms, a discrete event simulation of its own, and laws."""

from __future__ import annotations

import heapq
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pricing.training.test_model import models
from topodesign.base.cost import Cost
from topodesign.plans.time.workload import Layer, backpropagation
from topodesign.pricing.training.model import Model
from topodesign.pricing.training.timeline import pipeline_seconds, run, split_times, step_seconds
from topodesign.pricing.training.traffic import Block, StepCollective, layers_step, step_mix

times = st.integers(1, 9).map(Fraction)


@given(st.integers(1, 6), st.integers(1, 8), times, times)
def test_alike_stages_have_the_bubble_of_the_papers(depth: int, micro: int, forward: Fraction, back: Fraction) -> None:
    """(m + p - 1) (f + b) (Narayanan et al. 2021, section 2.2.1)."""
    done = pipeline_seconds([[forward, back, forward, back]] * depth, micro, Fraction(0))
    assert max(done) == done[0] == (micro + depth - 1) * (forward + back)


@given(st.lists(st.lists(times, min_size=4, max_size=4), min_size=1, max_size=5), st.integers(1, 7), times)
def test_the_pipeline_is_that_of_events(stages: list[list[Fraction]], micro: int, send: Fraction) -> None:
    """An independent simulation: a heap of what ends when, each stage taking what its order says once it is there."""
    depth = len(stages)
    orders: list[list[tuple[str, int]]] = []
    for stage in range(depth):
        ahead = min(depth - 1 - stage, micro)
        order, back = [("F", one) for one in range(ahead)], 0
        for one in range(ahead, micro):
            order += [("F", one), ("B", back)]
            back += 1
        orders.append([*order, *(("B", one) for one in range(back, micro))])
    there = {("F", 0, one): Fraction(0) for one in range(micro)}  # when an input has come
    free, ends = [Fraction(0)] * depth, [Fraction(0)] * depth
    heap: list[Fraction] = [Fraction(0)]
    while heap:
        now = heapq.heappop(heap)
        for stage in range(depth):
            if free[stage] > now or not orders[stage]:
                continue
            kind, one = orders[stage][0]
            if there.get((kind, stage, one), now + 1) > now:
                continue
            orders[stage].pop(0)
            four = stages[stage]
            takes = (four[2] if one == 0 else four[0]) if kind == "F" else four[3] if one == micro - 1 else four[1]
            free[stage] = ends[stage] = now + takes
            heapq.heappush(heap, free[stage])
            if kind == "F" and stage + 1 < depth:
                there["F", stage + 1, one] = free[stage] + send
            elif kind == "F":
                there["B", stage, one] = free[stage]
            elif stage:
                there["B", stage - 1, one] = free[stage] + send
            heapq.heappush(heap, free[stage] + send)
    assert pipeline_seconds(stages, micro, send) == ends


def of(size: int, use: str = "data") -> tuple[tuple[StepCollective, int], ...]:
    return ((StepCollective(use, "allreduce", Fraction(size)), 1),) if size else ()  # type: ignore[arg-type]


def seconds(sent: StepCollective) -> Fraction:
    return sent.size


sizes = st.integers(0, 9)


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=8))
def test_layers_are_reduced_behind_the_computation_as_in_the_paper(layers: list[tuple[int, int]]) -> None:
    """The recurrence of Efficient Direct-Connect Topologies, section 8.4, which `simulate --training` has."""
    ready, made = Fraction(0), []
    for size, compute in layers:
        ready += compute
        made.append((Fraction(size + 1), ready))
    cost = Cost(0, Fraction(1, 2))
    named = [Layer(str(at), size, when) for at, (size, when) in enumerate(made)]
    known = backpropagation(named, cost, alpha=Fraction(0), bandwidth=Fraction(8))
    assert step_seconds(layers_step("x", made), seconds) == known.finish


@given(st.lists(st.tuples(sizes, sizes, sizes, sizes), min_size=1, max_size=7))
def test_overlap_helps_and_not_more_than_it_can(parts: list[tuple[int, int, int, int]]) -> None:
    blocks = [Block(Fraction(c), of(w, "tensor"), of(g), of(r)) for c, w, g, r in parts]
    computed, sent = sum(c for c, *_ in parts), sum(w + g + r for _, w, g, r in parts)
    apart, all_apart = run(blocks, seconds, overlap=False)
    assert apart == all_apart == computed + sent
    done, everything = run(blocks, seconds)
    assert max(computed + sum(w for _, w, _, _ in parts), sent) <= everything <= apart
    assert done <= everything


@given(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=7))
def test_gathering_before_is_reducing_after_seen_backwards(parts: list[tuple[int, int]]) -> None:
    gathered = [Block(Fraction(c), gathers=of(s)) for c, s in parts]
    reduced = [Block(Fraction(c), reduces=of(s)) for c, s in reversed(parts)]
    assert run(gathered, seconds)[0] == run(reduced, seconds)[1]


@pytest.mark.parametrize("rate", [Fraction(1, 10**9), Fraction(1, 10**6)])
@given(model=models(), latency=st.integers(0, 3))
def test_parts_add_up_and_none_is_negative(rate: Fraction, model: Model, latency: int) -> None:
    def takes(sent: StepCollective) -> Fraction:
        return Fraction(latency, 10**5) + sent.size * rate

    found = split_times(step_mix(model), takes)
    parts = [found.compute, *found.waits.values(), found.bubble]
    assert sum(parts) == found.seconds
    assert all(part >= 0 for part in parts)
    free = split_times(step_mix(model), lambda _: Fraction(0))
    assert free.seconds == free.compute + free.bubble <= found.seconds

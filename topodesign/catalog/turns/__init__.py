"""Turns that make a catalog better: one kind in each module, and a line here."""

from __future__ import annotations

from topodesign.catalog.turns.annealing import annealing
from topodesign.catalog.turns.composition import composition
from topodesign.catalog.turns.congruential import congruential
from topodesign.catalog.turns.evenness import evenness
from topodesign.catalog.turns.lifts import lifts
from topodesign.catalog.turns.near_lines import near_lines
from topodesign.catalog.turns.neighbours import neighbours
from topodesign.catalog.turns.quotients import quotients
from topodesign.catalog.turns.steps import steps
from topodesign.catalog.turns.turn import Turn

DEFERRAL = "deferral"
"""The kind that searches nothing."""
TURNS: tuple[Turn, ...] = (
    composition,
    quotients,
    lifts,
    near_lines,
    neighbours,
    annealing,
    steps,
    congruential,
    evenness,
)
KINDS = (*(turn.name for turn in TURNS), DEFERRAL)

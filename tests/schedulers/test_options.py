"""Options of schedules: every one belongs to methods, and keyword, field and flag are the same name."""

from __future__ import annotations

import inspect
from dataclasses import fields

from topodesign.base.options import format_option
from topodesign.cli.schedule import command
from topodesign.schedulers.method import Request
from topodesign.schedulers.options import EVERYONES, OPTIONS
from topodesign.schedulers.scheduling import METHODS, schedule


def test_every_option_is_understood_by_a_method() -> None:
    shared = {"only", "group", "placement"}  # of all rounds, which are carried over from parts
    methods = [*METHODS.values(), *(one.timed for one in METHODS.values() if one.timed is not None)]
    known = {option for method in methods for option in method.options}
    assert known <= {*OPTIONS, "auto_chunks"}
    assert set(OPTIONS) <= known | EVERYONES | shared


def test_keywords_fields_and_flags_are_the_same() -> None:
    keywords = set(inspect.signature(schedule).parameters) - {"place", "collective", "method", "progress"}
    assert keywords == set(OPTIONS)
    assert keywords <= {field.name for field in fields(Request)}
    flags = {flag for one in command.params for flag in one.opts}
    settings = {f"--set {name}=" for name in command.settings()}
    assert {format_option(name) for name in OPTIONS} <= flags | settings  # which is how messages call them

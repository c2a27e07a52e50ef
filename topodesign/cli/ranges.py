"""Ranges of numbers as options, such as ``1000..1040`` or ``16..64..16``: one spelling for all commands."""

from __future__ import annotations

import re
from contextlib import suppress

import click


def number_range(_context: click.Context, _option: click.Parameter, value: str | None) -> range | None:
    """Read a number ``1000``, a range ``1000..1040`` (or ``1000-1040``), both ends included, or one in steps."""
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,9})(?:(?:\.\.|-)([0-9]{1,9})(?:\.\.([0-9]{1,9}))?)?", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is neither a number nor a range such as 1000..1040 or 16..64..16.")
    first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
    if not 1 <= first <= last or not step:
        raise click.BadParameter(f"{value!r} should go upwards from at least 1.")
    return range(first, last + 1, step)


def whole_range(context: click.Context, option: click.Parameter, value: str | None) -> range | None:
    """Read a number or a range, of which all count."""
    span = number_range(context, option, value)
    if span is not None and span.step != 1:
        raise click.BadParameter(f"{value!r} has a step, and here all from the first to the last count.")
    return span


def number_or_range(context: click.Context, option: click.Parameter, value: str | None) -> int | range | None:
    """Read a number, whatever it is, or a range; None is none."""
    if value is None:
        return None
    with suppress(ValueError):
        return int(value)
    span = number_range(context, option, value) if ".." in value or "-" in value else None
    if span is None:
        raise click.BadParameter(f"{value!r:.50} is not a valid integer, nor a range such as 4..8.")
    return span

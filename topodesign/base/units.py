"""Quantities as text: times, sizes and bandwidths, read exactly.

Bits and bytes, powers of ten and powers of two are never confused: ``b`` is a bit and ``B`` a byte, ``k M G T`` are
powers of 1000 and ``Ki Mi Gi Ti`` powers of 1024. Everything is a :class:`~fractions.Fraction` in seconds, bytes or
bits per second. A number may be a fraction, as in ``50/3GB/s``. A missing or unknown unit in a text is refused: a
number without its unit is how factors of eight arise. In Python, where a name or a docstring says the unit, plain
numbers are taken too (:func:`as_time` and its like).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import TypeAlias

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError, UnitError

Quantity: TypeAlias = str | int | float | Fraction
"""What a time, a size or a bandwidth may be given as: text with its unit, or a number in the base unit."""

_PREFIX = {
    "": 1,
    "k": 10**3,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ti": 2**40,
    "Pi": 2**50,
}
_TIME = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),  # U+00B5 micro sign
    "\u03bcs": Fraction(1, 10**6),  # U+03BC Greek mu
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
_NUMBER = re.compile(r"([0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE]([+-]?[0-9]{1,2}))?(?![0-9.])")
_RATIO = re.compile(r"([0-9]{1,30})/([0-9]{1,30})(?![0-9./])")
_LANES = re.compile(r"([0-9]{1,4})\s*x\s*(?=[0-9.])")
_SIZE = re.compile(r"([KMGTP]i|[kKMGTP]?)(b|B)")
_RATE = re.compile(r"([KMGTP]i|[kKMGTP]?)(bps|Bps|b/s|B/s|bit/s|byte/s)")
_RATE_UNITS = ((10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "B/s"))
_SHOWN = (("ns", "us", "ms", "s"), ("B/s", "kB/s", "MB/s", "GB/s"), ("bps", "kbps", "Mbps", "Gbps"), ("m",), ("dB",))
"""Units of columns: those of a line differ by powers of 1000."""
_CELL = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?) ?([a-zA-Z/]*)((?:[ *].*)?)")
_LONGEST_SHOWN = 10**7  # a figure from which on a column has a larger unit than its smallest
_LONGEST = 80
_LONGEST_LATENCY = Fraction(1, 10)  # seconds, beyond which a number without a unit was not meant to be seconds
_MAX = 10**24  # seconds, bytes or bits per second; beyond this, or below its inverse, it is a slip of the pen


def read_number(value: object) -> Fraction:
    """Return the exact number of ``2``, ``0.5``, ``2/3``, ``1e-3`` or a number.

    Raises
    ------
    UnitError
        If it is none, or of more than 30 digits, or beyond 10^24 or, but for zero, below the inverse: an exponent of
        a few letters would else be a number of gigabytes.

    Examples
    --------
    >>> read_number("1.5e3"), read_number("-2/3"), read_number(0.1)
    (Fraction(1500, 1), Fraction(-2, 3), Fraction(1, 10))
    """
    if isinstance(value, Rational) and not isinstance(value, bool):
        number = Fraction(int(value.numerator), int(value.denominator))
    else:
        # of NumPy's short floats, too, the shortest decimal text
        text = str(value).strip() if isinstance(value, str | Real) and not isinstance(value, bool) else ""
        sign, plain = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
        ratio, decimal = _RATIO.fullmatch(plain), _NUMBER.fullmatch(plain)
        if ratio is not None and int(ratio[2]):
            number = sign * Fraction(int(ratio[1]), int(ratio[2]))
        elif decimal is not None:
            number = sign * Fraction(decimal[1]) * Fraction(10) ** int(decimal[2] or 0)
        else:
            raise UnitError(f"{str(value)[:50]!r} is not a number such as 2, 0.5, 2/3 or 1e-3")
    if number and not Fraction(1, _MAX) <= abs(number) <= _MAX:
        raise UnitError(f"{str(value)[:50]} is too {'large' if abs(number) > 1 else 'small'} to be meant")
    return number


def parse_time(text: str) -> Fraction:
    """Return the seconds of a time such as ``10us``, ``1.5ms`` or ``0s``."""
    number, unit = _split(text, "time", "10us")
    if unit not in _TIME:
        raise _unknown(text, unit, "time", "ns, us, ms, s, min or h, as in 10us")
    return _plausible(number * _TIME[unit], text, "time") if number else number


def parse_size(text: str) -> Fraction:
    """Return the bytes of a size such as ``1MiB``, ``1GB`` or ``512B``."""
    number, unit = _split(text, "size", "1MiB")
    match = _SIZE.fullmatch(unit)
    if match is None:
        raise _unknown(text, unit, "size", "B, kB, MB, GB (powers of 1000) or KiB, MiB, GiB (of 1024), as in 1MiB")
    size = number * _PREFIX[match[1]]
    return _plausible(size / 8 if match[2] == "b" else size, text, "size")


def parse_bandwidth(text: str) -> Fraction:
    """Return the bits per second of ``100Gbps``, ``12.5GB/s`` or ``4x25Gbps``.

    ``4x25Gbps`` means four lanes.
    """
    lanes = _LANES.match(text.strip()) if isinstance(text, str) else None
    count = int(lanes[1]) if lanes else 1
    number, unit = _split(text.strip()[lanes.end() :] if lanes else text, "bandwidth", "100Gbps")
    match = _RATE.fullmatch(unit)
    if match is None:
        raise _unknown(text, unit, "bandwidth", "bps, Gbps, Gb/s (bits) or B/s, GB/s (bytes), as in 100Gbps")
    rate = count * number * _PREFIX[match[1]]
    return _plausible(rate if match[2] in {"bps", "b/s", "bit/s"} else rate * 8, text, "bandwidth")


def as_time(value: Quantity, *, latency: bool = False) -> Fraction:
    """Return seconds from text or a number.

    :func:`parse_time` reads text.

    A float stands for its shortest decimal text: ``1e-5`` is exactly 1/100000. As a ``latency`` an int or float is to
    be less than a tenth of a second: 5 is hardly meant to be five seconds, which text says, as in ``5s``.

    Examples
    --------
    >>> as_time("5us", latency=True) == as_time(5e-6, latency=True)
    True
    """
    seconds = _quantity(value, parse_time, "time", "seconds", "10us", least_zero=True)
    if latency and seconds >= _LONGEST_LATENCY and not isinstance(value, str | Fraction):
        raise UnitError(f"a latency of {value} means {value} s; write '{value}us', or '{value}s' if that is meant")
    return seconds


def as_size(value: Quantity) -> Fraction:
    """Return bytes from text or a number.

    :func:`parse_size` reads text.
    """
    return _quantity(value, parse_size, "size", "bytes", "1MiB")


def as_bandwidth(value: Quantity) -> Fraction:
    """Return bits per second from text or a number.

    :func:`parse_bandwidth` reads text.
    """
    return _quantity(value, parse_bandwidth, "bandwidth", "bits per second", "100Gbps")


def as_count(value: int, what: str, least: int | None = None) -> int:
    """Return a whole number, NumPy's too.

    ``what`` names the quantity in the message.
    """
    return as_integer(f"the {what}", value, -(2**63) if least is None else least)


def as_share(value: Quantity, what: str, most: int = 1) -> Fraction:
    """Return a share of one from 0.05 or ``5%``; ``what`` names it in errors.

    Raises
    ------
    ParameterError
        If it is no number, below 0 or above the maximum.

    Examples
    --------
    >>> as_share("5%", "tolerance") == as_share(0.05, "tolerance")
    True
    """
    text = str(value).strip()
    percent = text.endswith("%")
    try:
        share = read_number(text[:-1]) / 100 if percent else read_number(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        raise ParameterError(f"{what} must be a share such as 5% or 0.05, not {text[:50]!r}") from None
    if not 0 <= share <= most:
        raise ParameterError(f"{what} must be from 0 to {most}, or {100 * most}%, not {text[:50]!r}")
    return share


def format_time(seconds: Fraction | float) -> str:
    """Format a time with four digits: ``281.5us``, ``20.63ms``."""
    value = float(seconds)
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(value) >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value * 1e9:.4g}ns" if value else "0s"


def format_amount(amount: Fraction | float) -> str:
    """Format a price, watts or a count with six digits.

    Large ones are whole, without a power of ten.
    """
    number = float(amount)
    return f"{number:.0f}" if abs(number) >= 1e6 else f"{number:.6g}"


def format_size(size: Fraction | int) -> str:
    """Format a size exactly if a unit divides it: ``1MiB``, ``100MB``.

    Fractions of bytes have four digits.
    """
    exact = Fraction(size)
    for unit in ("PiB", "PB", "TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "kB"):
        scaled = exact / _PREFIX[unit[:-1]]
        if scaled >= 1 and scaled.denominator == 1:
            return f"{scaled}{unit}"
    if exact.denominator == 1:
        return f"{exact}B"
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if exact >= _PREFIX[unit[:-1]]:
            return f"{float(exact / _PREFIX[unit[:-1]]):.4g}{unit}"
    return f"{float(exact):.4g}B"


def format_size_rounded(size: Fraction | int) -> str:
    """Format a size with some three digits in powers of 1024: ``479KiB``."""
    size, unit = Fraction(size), 1
    while size >= 1024 * unit and unit < 2**40:
        unit *= 1024
    parts = 1 if size >= 100 * unit else 10
    return f"{float(Fraction(round(size / unit * parts), parts)):g}{format_size(Fraction(unit))[1:]}"


def format_rate(rate: Fraction) -> str:
    """Format bytes per second with up to three decimals: ``354.133GB/s``."""
    unit, word = _rate_unit(rate)
    return f"{float(rate / unit):.3f}".rstrip("0").rstrip(".") + word


def exact_rate(rate: Fraction) -> str:
    """Format bytes per second exactly: ``12.5GB/s`` or ``50/3GB/s``."""
    unit, word = _rate_unit(rate)
    value = rate / unit
    scaled = value * 10**6
    if scaled.denominator > 1:
        return f"{value}{word}"
    whole, decimals = divmod(int(scaled), 10**6)
    return f"{whole}.{decimals:06d}".rstrip("0").rstrip(".") + word


def format_bandwidth(bits_per_second: Fraction | int) -> str:
    """Format bits per second with the largest fitting unit: ``100Gbps``."""
    value = Fraction(bits_per_second)
    for unit in ("P", "T", "G", "M", "k"):
        if value >= _PREFIX[unit]:
            return f"{float(value / _PREFIX[unit]):g}{unit}bps"
    return f"{float(value):g}bps"


def format_factor(factor: Fraction) -> str:
    """Format a bandwidth factor, exact and rounded: ``BW factor 11/6 (1.8333)``."""
    rounded = "" if factor.denominator == 1 else f" ({float(factor):.4f})"
    return f"BW factor {factor}{rounded}"


def format_excess(ratio: Fraction) -> str:
    """Format a ratio above one: ``+12.5%``, or ``x31.0`` from eleven on."""
    percent = float(ratio - 1) * 100
    return f"+{percent:.1f}%" if percent < 1000 else f"x{percent / 100 + 1:.1f}"


def in_one_unit(title: str, cells: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return title and cells of a column of quantities in one unit.

    The unit is that of the smallest quantity, and the title names it. Other columns stay as they are.

    Examples
    --------
    >>> in_one_unit("1MiB", ["281.5us *", "1.007ms", ""])
    ('1MiB (us)', ['281.5 *', '1007', ''])
    """
    parts = [_CELL.fullmatch(cell.lstrip()) for cell in cells]
    found = {part[2] for part in parts if part is not None and part[2]}
    scale = next((units for units in _SHOWN if found and found.issubset(units)), None)
    if scale is None or any(
        part is None or not (part[2] or part[1] == "0")
        for part, cell in zip(parts, cells, strict=True)
        if cell.strip(" -")
    ):
        return title, cells
    values = [(Decimal(part[1]), scale.index(part[2])) for part in parts if part is not None and part[2]]
    powers = [power for value, power in values if value] or [values[0][1]]
    least, largest = min(powers), max(value.scaleb(3 * power) for value, power in values)
    while least < max(powers) and largest.scaleb(-3 * least) >= _LONGEST_SHOWN:
        least += 1
    shown = []
    for part, cell in zip(parts, cells, strict=True):
        power = 0 if part is None or not part[2] else 3 * (scale.index(part[2]) - least)
        shown.append(cell if part is None else f"{_plain(Decimal(part[1]).scaleb(power))}{part[3]}")
    return f"{title} ({scale[least]})", shown


def _plain(number: Decimal) -> str:
    """Return a number without a power of ten."""
    return f"{number:f}" if number else "0"


def plain_number(value: Fraction) -> int | float:
    """Return an exact quantity as a JSON number; an integer if it is one."""
    return int(value) if value.denominator == 1 else float(value)


def _rate_unit(rate: Fraction) -> tuple[int, str]:
    """Return the largest power of 1000 up to 10^9 in a rate, and its name."""
    return next((pair for pair in _RATE_UNITS if rate >= pair[0]), _RATE_UNITS[-1])


def _quantity(
    value: Quantity, parser: Callable[[str], Fraction], kind: str, unit: str, example: str, *, least_zero: bool = False
) -> Fraction:
    if isinstance(value, str):
        return parser(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UnitError(f"{kind} must be text with a unit, as in {example!r}, or a number of {unit}, not {value!r}")
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
    elif not math.isfinite(value):
        raise UnitError(f"{kind} must be a finite number of {unit}, not {value}")
    else:
        number = Fraction(str(value))  # the shortest decimal text, of NumPy's short floats too
    if number < 0:
        raise UnitError(f"{kind} {value} is negative")
    return number if least_zero and not number else _plausible(number, str(value), kind)


def _split(text: str, kind: str, example: str) -> tuple[Fraction, str]:
    """Split ``number unit``; the number is exact."""
    if not isinstance(text, str):
        raise UnitError(f"{kind} must be text with a unit, as in {example!r}, not {text!r}")
    stripped = text.strip()
    if len(stripped) > _LONGEST:
        raise UnitError(f"{kind} {stripped[:20]!r}... is too long; write it as in {example!r}")
    if stripped.startswith("-"):
        raise UnitError(f"{kind} {stripped!r} is negative")
    ratio = _RATIO.match(stripped)
    if ratio is not None:
        if not int(ratio[2]):
            raise UnitError(f"{kind} {stripped!r} divides by zero")
        return Fraction(int(ratio[1]), int(ratio[2])), stripped[ratio.end() :].strip()
    match = _NUMBER.match(stripped)
    if match is None:
        raise UnitError(f"{kind} {stripped!r} is not a number and a unit; write it as in {example!r}")
    number = Fraction(match[1]) * Fraction(10) ** int(match[2] or 0)
    return number, stripped[match.end() :].strip()


def _plausible(value: Fraction, text: str, kind: str) -> Fraction:
    if value == 0:
        raise UnitError(f"{kind} {text.strip()!r} must be above zero")
    if not Fraction(1, _MAX) <= value <= _MAX:
        raise UnitError(f"{kind} {text.strip()!r} is too {'large' if value > 1 else 'small'} to be meant")
    return value


def _unknown(text: str, unit: str, kind: str, known: str) -> UnitError:
    if not unit:
        return UnitError(f"{kind} {text.strip()!r} has no unit; use {known}")
    near = _nearest(unit, kind)
    meant = f"did you mean {near}?" if near else f"use {known}"
    return UnitError(f"{kind} {text.strip()!r} has the unknown unit {unit!r}; {meant}")


_MEANT = {"usec": "us", "sec": "s", "secs": "s", "seconds": "s", "msec": "ms", "nsec": "ns", "bytes": "B", "byte": "B"}


def _nearest(unit: str, kind: str) -> str:
    """Return the units that a text resembles except for capital letters."""
    if kind == "time":
        known = list(_TIME)
    else:
        endings = ("B", "b") if kind == "size" else ("bps", "B/s", "b/s")
        known = [prefix + ending for prefix in _PREFIX if prefix != "K" for ending in endings]
    plain = _MEANT.get(unit.lower(), unit)
    if kind == "bandwidth" and plain.endswith(("bit", "b")):
        plain = plain.removesuffix("it") + "ps"
    if kind == "bandwidth" and plain.endswith("B"):
        plain += "/s"
    same = [one for one in known if one == plain] or [one for one in known if one.lower() == plain.lower()]
    return " or ".join(same)

"""Units: tables of what is equal, what differs and what is refused; nothing but UnitError for any text."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import topodesign
from topodesign.base.errors import UnitError
from topodesign.base.units import (
    as_bandwidth,
    as_size,
    as_time,
    exact_rate,
    format_amount,
    format_bandwidth,
    format_rate,
    format_size,
    format_size_rounded,
    format_time,
    parse_bandwidth,
    parse_size,
    parse_time,
    read_number,
)

Parser = Callable[[str], Fraction]
PARSERS: list[Parser] = [parse_time, parse_size, parse_bandwidth]
TAKERS: list[Callable[[Any], Fraction]] = [as_time, as_size, as_bandwidth]

TIMES: list[tuple[str, Fraction | int]] = [
    ("0s", 0),
    ("0.000us", 0),
    ("1s", 1),
    ("10us", Fraction(1, 10**5)),
    ("10 us", Fraction(1, 10**5)),
    ("  10us\n", Fraction(1, 10**5)),
    ("010us", Fraction(1, 10**5)),
    ("10.us", Fraction(1, 10**5)),
    ("10\N{MICRO SIGN}s", Fraction(1, 10**5)),
    ("10\N{GREEK SMALL LETTER MU}s", Fraction(1, 10**5)),
    ("1e1us", Fraction(1, 10**5)),
    ("1E-5s", Fraction(1, 10**5)),
    ("0.01ms", Fraction(1, 10**5)),
    (".5ms", Fraction(1, 2000)),
    ("1.5ns", Fraction(3, 2 * 10**9)),
    ("0.1s", Fraction(1, 10)),  # not the float 0.1
    ("1/3us", Fraction(1, 3 * 10**6)),
    ("0/3s", 0),
]
SIZES: list[tuple[str, Fraction | int]] = [
    ("1B", 1),
    ("8b", 1),
    ("1b", Fraction(1, 8)),
    ("1kB", 1000),
    ("1KB", 1000),
    ("1KiB", 1024),
    ("8kb", 1000),
    ("8Kib", 1024),
    ("1MB", 10**6),
    ("1Mb", Fraction(10**6, 8)),
    ("1MiB", 2**20),
    ("1Mib", 2**17),
    ("1GB", 10**9),
    ("1GiB", 2**30),
    ("1TB", 10**12),
    ("1TiB", 2**40),
    ("1PB", 10**15),
    ("1PiB", 2**50),
    ("0.5MiB", 2**19),
    ("1.5 kB", 1500),
    ("1e3B", 1000),
    ("2/3 KiB", Fraction(2048, 3)),
]
BANDWIDTHS: list[tuple[str, Fraction | int]] = [
    ("1bps", 1),
    ("1Bps", 8),
    ("1b/s", 1),
    ("1bit/s", 1),
    ("1B/s", 8),
    ("1byte/s", 8),
    ("1kbps", 1000),
    ("1Kibps", 1024),
    ("100Gbps", 10**11),
    ("100 Gbps", 10**11),
    ("100Gb/s", 10**11),
    ("0.1Tbps", 10**11),
    ("12.5GB/s", 10**11),
    ("12.5GBps", 10**11),
    ("4x25Gbps", 10**11),
    ("4 x 25 Gbps", 10**11),
    ("8x12.5Gbps", 10**11),
    ("1x100Gbps", 10**11),
    ("1GiB/s", 2**33),
    ("1Gibps", 2**30),
    ("25GB/s", 2 * 10**11),
    ("300GB/s", 24 * 10**11),
    ("400/3GB/s", Fraction(32 * 10**11, 3)),
    ("50/3 Gbps", Fraction(50 * 10**9, 3)),
    ("4x50/3Gbps", Fraction(200 * 10**9, 3)),
]
EQUAL: list[tuple[Parser, str, Fraction | int]] = [
    *((parse_time, *row) for row in TIMES),
    *((parse_size, *row) for row in SIZES),
    *((parse_bandwidth, *row) for row in BANDWIDTHS),
]


def test_equal() -> None:
    for parser, text, value in EQUAL:
        assert parser(text) == value, text
        assert isinstance(parser(text), Fraction), text


@pytest.mark.parametrize(
    ("parser", "texts"),
    [
        (parse_size, ["1MB", "1MiB", "1Mb", "1Mib", "1kB", "1KiB", "1kb", "1Kib", "1B", "1b"]),
        (parse_bandwidth, ["1Gbps", "1GBps", "1Gibps", "1GiBps", "1Mbps", "1MBps", "1bps", "1Bps", "2x1Gbps"]),
        (parse_time, ["1s", "1ms", "1us", "1ns", "0s"]),
    ],
)
def test_different(parser: Parser, texts: list[str]) -> None:
    assert len({parser(text) for text in texts}) == len(texts)


NUMBERLESS = ["", " ", "us", "x", "-", ".", "inf", "nan", "infs", "nanB", "-inf", "0x10", "½", "five"]
NUMBERLESS += ["1/", "/2", "1/0", "1/2/3", "1/2.5"]
ANYWHERE = [
    *NUMBERLESS,
    "1.5.5",
    "1,000",
    "1_000",
    "1 000",
    "+5",
    "-5",
    "\N{MINUS SIGN}5",
    "٣",
    "５",  # noqa: RUF001  a full-width five
    "1e400",
    "1e-400",
    "1e+",
    "1e1000000000",
    "9" * 31,
    "9" * 10**5,
    "0" * 10**5,
    "5\0",
    "(5)",
]
REFUSED: list[tuple[Parser, str]] = [
    *((parse_time, text + unit) for text in ANYWHERE for unit in ("", "s", " us")),
    *((parse_size, text + unit) for text in ANYWHERE for unit in ("", "B", " MiB")),
    *((parse_bandwidth, text + unit) for text in ANYWHERE for unit in ("", "Gbps", " B/s")),
    *((parser, text) for text in ["5", "1e5", "5 "] for parser in PARSERS),
    *((parse_time, text) for text in ["5m", "5hr", "5mins", "5S", "5Us", "5sec", "5 m s", "5us us", "5usx", "5B"]),
    *((parse_time, text) for text in ["1e30s", "1e-40s", "1us 1us", "10usus", "1ps"]),
    *((parse_size, text) for text in ["5M", "5Mi", "5bB", "5mB", "5gb", "5 M B", "5KIB", "5kiB", "5EB", "5s"]),
    *((parse_size, text) for text in ["0B", "0.0MiB", "0e9B", "1e99PB", "1e-50B", "1GB/s", "2x1GB", "1Bytes"]),
    *((parse_bandwidth, text) for text in ["100 gbps", "100G", "100GB", "100Gb", "100Gbit", "100GBit/s", "100bp/s"]),
    *((parse_bandwidth, text) for text in ["0bps", "0x10Gbps", "4x0Gbps", "1e99Pbps", "1e-50bps", "100Gbps/s"]),
    *((parse_bandwidth, text) for text in ["x25Gbps", "4xGbps", "4x-25Gbps", "-4x25Gbps", "4x4x25Gbps", "4X25Gbps"]),
    *((parse_bandwidth, text) for text in ["4.5x25Gbps", "1e1x25Gbps", "99999x1Gbps", "4*25Gbps", "100GiBps s", "1s"]),
]


@pytest.mark.parametrize("wrong", PARSERS)
def test_refused(wrong: Parser) -> None:
    for text in (text for parser, text in REFUSED if parser is wrong):
        with pytest.raises(UnitError) as caught:
            pytest.fail(f"{ascii(text)[:40]} is taken as {wrong(text)}")
        assert "\n" not in str(caught.value), ascii(text)[:40]
        assert len(str(caught.value)) < 250, ascii(text)[:40]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("value", [None, 5, 5.0, b"5s", ["5s"], True])
def test_only_text_is_read(parser: Parser, value: Any) -> None:
    with pytest.raises(UnitError, match="must be text with a unit"):
        parser(value)


@pytest.mark.parametrize(
    ("parser", "text", "words"),
    [
        (parse_size, "1048576", "no unit"),
        (parse_bandwidth, "100", "no unit"),
        (parse_bandwidth, "100 gbps", "unknown unit 'gbps'"),
        (parse_time, "-5us", "negative"),
        (parse_size, "0MB", "above zero"),
        (parse_size, "1e99PB", "too large"),
        (parse_bandwidth, "1e-50bps", "too small"),
        (parse_time, "1e400s", "unknown unit 'e400s'"),
        (parse_time, "soon", "not a number and a unit"),
    ],
)
def test_message_says_what_is_wrong(parser: Parser, text: str, words: str) -> None:
    with pytest.raises(UnitError, match=words):
        parser(text)


@given(st.text() | st.from_regex(r"\A[0-9xeE.+\- kKMGTPi]{0,12}(b|B|bps|B/s|s|us)?\Z"))
def test_any_text_is_a_quantity_or_a_unit_error(text: str) -> None:
    for parser in PARSERS:
        with contextlib.suppress(UnitError):
            value = parser(text)
            assert value > 0 or (value == 0 and parser is parse_time)


DECIMALS = st.decimals(min_value="1e-6", max_value=10**6, allow_nan=False, allow_infinity=False, places=6)


@given(DECIMALS, st.sampled_from("bB"), st.sampled_from(["", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"]))
def test_bits_bytes_and_prefixes(number: Any, letter: str, prefix: str) -> None:
    power = "kMGTP".index(prefix[:1].replace("K", "k")) + 1 if prefix else 0
    units = Fraction(number) * (1024 if prefix.endswith("i") else 1000) ** power
    bits = units * (8 if letter == "B" else 1)
    assert parse_size(f"{number:f}{prefix}{letter}") * 8 == bits
    assert parse_bandwidth(f"{number:f}{prefix}{letter}ps") == bits
    assert parse_bandwidth(f"{number:f} {prefix}{letter}/s") == bits


@given(st.integers(1, 9999), DECIMALS)
def test_lanes_multiply(lanes: int, number: Any) -> None:
    assert parse_bandwidth(f"{lanes}x{number:f}Gbps") == lanes * parse_bandwidth(f"{number:f}Gbps")


@given(st.integers(1, 10**20) | st.builds(lambda a, b: a * 2**b, st.integers(1, 999), st.integers(0, 50)))
def test_formatted_size_is_exact(size: int) -> None:
    assert parse_size(format_size(size)) == size


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_formatted_time_is_close(seconds: Fraction) -> None:
    assert abs(parse_time(format_time(seconds)) - seconds) <= seconds / 1000


@given(st.fractions(min_value=1, max_value=10**17))
def test_formatted_bandwidth_is_close(rate: Fraction) -> None:
    assert abs(parse_bandwidth(format_bandwidth(rate)) - rate) <= rate / 10**5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (format_amount(Fraction(1189160)), "1189160"),
        (format_amount(1234.5), "1234.5"),
        (format_amount(1e6), "1000000"),
        (format_size(2**20), "1MiB"),
        (format_size(10**8), "100MB"),
        (format_size(12345), "12345B"),
        (format_size(Fraction(1, 8)), "0.125B"),
        (format_size(Fraction(2**29, 3)), "170.7MiB"),
        (format_bandwidth(10**11), "100Gbps"),
        (format_bandwidth(15 * 10**11), "1.5Tbps"),
        (format_bandwidth(8), "8bps"),
        (format_time(0), "0s"),
        (format_time(Fraction(1, 10**5)), "10us"),
        (format_time(Fraction(5, 10**10)), "0.5ns"),
        (format_time(2), "2s"),
    ],
)
def test_formatted_for_people(text: str, expected: str) -> None:
    assert text == expected


@pytest.mark.parametrize(("take", "parser", "unit"), [*zip(TAKERS, PARSERS, ["s", "B", "bps"], strict=True)])
@given(st.fractions(Fraction(1, 10**6), 10**12, max_denominator=10**6))
def test_numbers_are_taken_in_the_base_unit(
    take: Callable[[Any], Fraction], parser: Parser, unit: str, value: Fraction
) -> None:
    assert take(value) == value
    assert take(f"{value.numerator}{unit}") == value.numerator
    assert take(value.numerator) == take(np.int64(value.numerator)) == value.numerator
    number = float(value)
    assert take(number) == take(np.float64(number)) == Fraction(repr(number))
    assert take(f"{value.numerator}{unit}") == parser(f"{value.numerator}{unit}")


def test_floats_stand_for_their_shortest_text() -> None:
    assert as_time(1e-5) == Fraction(1, 10**5)
    assert TAKERS[0](np.float32(0.1)) == Fraction(1, 10)
    assert as_size(25e6) == 25_000_000
    assert as_time(0) == as_time(0.0) == 0


@pytest.mark.parametrize("value", [5, 0.1, 1.0, np.int64(10), np.float32(0.5)])
def test_a_number_that_is_no_latency_is_refused(value: Any) -> None:
    with pytest.raises(UnitError, match=f"a latency of {value} means {value} s; write '{value}us', or '{value}s'"):
        as_time(value, latency=True)
    assert as_time(value) == as_time(f"{value}s", latency=True) == as_time(as_time(value), latency=True)


@pytest.mark.parametrize("value", [0, 0.0, 1e-5, 0.0999, "5s", "5us", Fraction(5)])
def test_latencies(value: Any) -> None:
    assert as_time(value, latency=True) == as_time(value)


@pytest.mark.parametrize("take", TAKERS)
@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, -math.inf, -1, -1e-9, Fraction(-1, 3), True, False, None, [1], (), 1j, b"10us", object(),
        np.bool_(True), np.array([1.0]), 1e300, 1e-300, "", "10", "fast",
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_refused(take: Callable[[Any], Fraction], value: object) -> None:
    with pytest.raises(UnitError):
        take(value)


@pytest.mark.parametrize("take", [as_size, as_bandwidth])
@pytest.mark.parametrize("value", [0, 0.0, Fraction(0)])
def test_no_data_and_no_bandwidth_are_refused(take: Callable[[Any], Fraction], value: object) -> None:
    with pytest.raises(UnitError, match="above zero"):
        take(value)


@pytest.mark.parametrize(
    ("parse", "text", "meant"),
    [
        (parse_size, "1mb", "MB or Mb"),
        (parse_size, "1MIB", "MiB or Mib"),
        (parse_size, "3bytes", "B"),
        (parse_time, "10usec", "us"),
        (parse_time, "1MS", "ms"),
        (parse_bandwidth, "100gbps", "Gbps"),
        (parse_bandwidth, "100Gbit", "Gbps"),
        (parse_bandwidth, "100GB", "GB/s"),
    ],
)
def test_units_that_are_nearly_known_are_suggested(parse: Parser, text: str, meant: str) -> None:
    with pytest.raises(UnitError, match=rf"has the unknown unit .*; did you mean {meant}\?$"):
        parse(text)
    first = meant.partition(" ")[0]
    assert parse(f"1{first}") > 0


@pytest.mark.parametrize(
    ("size", "text"), [(490196, "479KiB"), (5, "5B"), (1536, "1.5KiB"), (3 * 2**20 + 5, "3MiB"), (2**33, "8GiB")]
)
def test_sizes_are_rounded_for_people(size: int, text: str) -> None:
    assert format_size_rounded(Fraction(size)) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (Fraction(5312 * 10**9, 15), "354.133GB/s"),
        (Fraction(2400 * 10**9), "2400GB/s"),
        (Fraction(25 * 10**9, 2), "12.5GB/s"),
        (Fraction(5 * 10**8), "500MB/s"),
        (Fraction(10**4, 3), "3.333kB/s"),
        (Fraction(1, 2), "0.5B/s"),
        (Fraction(0), "0B/s"),
    ],
)
def test_rates_are_rounded_for_people(rate: Fraction, text: str) -> None:
    assert format_rate(rate) == text


@given(st.fractions(Fraction(1, 12), 400, max_denominator=12) | st.integers(1, 10**10).map(Fraction))
def test_rates_are_written_exactly(rate: Fraction) -> None:
    assert parse_bandwidth(exact_rate(rate)) / 8 == rate  # 50/3GB/s, too


@given(st.fractions(1, 10**12, max_denominator=10**4))
def test_all_rates_for_people_are_read_back_to_half_a_thousandth(rate: Fraction) -> None:
    shown = parse_bandwidth(format_rate(rate)) / 8
    assert abs(shown - rate) <= Fraction(11, 20000) * rate
    assert " " not in format_rate(rate)


@pytest.mark.parametrize(
    "value",
    ["1e99999999", "1e-99999999", "1e999", "9" * 31, "1e25", "1e-25", "1/0", "nan", "inf", "-inf", "", " ", "1_0",
     "0x1", "1e", "1//2", "1/2/3", "\u0661", True, None, [], float("nan"), float("inf"), 10**25, 1e300],
)  # fmt: skip
def test_what_is_no_number_is_refused_at_once(value: object) -> None:
    with pytest.raises(UnitError):
        read_number(value)


@given(
    st.fractions(-(10**9), 10**9, max_denominator=10**9) | st.floats(-1e9, 1e9).filter(lambda x: not 0 < abs(x) < 1e-9)
)
def test_a_number_is_that_of_the_language(value: Fraction | float) -> None:
    assert read_number(value) == read_number(str(value)) == Fraction(str(value))


GUARDED = {
    "base/claims.py": 2, "base/units.py": 1, "compiler/backends/chakra.py": 1, "fabrics/machines/hwloc.py": 1,
    "fabrics/node_values.py": 1, "fabrics/part.py": 1, "plans/archive.py": 1, "plans/files.py": 1,
    "pricing/traffic_matrix.py": 1, "report/figures.py": 1, "wiring/inventory/fields.py": 1, "wiring/parts/buy.py": 1,
    "wiring/parts/parts.py": 1, "wiring/plan/losses.py": 1,
}  # fmt: skip
"""Those that take text of a pattern without exponents, or a number of ours."""


def test_nobody_else_makes_numbers_of_text() -> None:
    """An exponent of a few letters is a number of gigabytes, so all text goes through read_number."""
    found: dict[str, int] = {}
    root = Path(topodesign.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text()
        if not re.search(
            r"(Fraction|Decimal)\(.*((str|repr|_text)\(|removesuffix|strip\(|\.value\b|\b(text|value|word|said)\))",
            text,
        ):
            continue
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or len(call.args) != 1:
                continue
            if getattr(call.func, "id", "") not in {"Fraction", "Decimal"}:
                continue
            words = ast.unparse(call.args[0])
            if re.search(r"\b(str|repr|_text)\(|removesuffix|strip\(|\.value$|^(text|value|word|said)$", words):
                name = path.relative_to(root).as_posix()
                found[name] = found.get(name, 0) + 1
    assert found == GUARDED

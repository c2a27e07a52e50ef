"""Forms of a result: JSON document, flat rows, data frame and text table.

Every value that a public function returns and that people look at is a :class:`Result`. It declares its keys once; JSON
(``record``), its schema (``topodesign info json``), rows (``to_records``, CSV, data frames), ``repr``,
``str`` and HTML derive from that. Several results of one kind are a :class:`ResultList`. What is only part of a
document is a :class:`topodesign.base.declared.Declared`, or any class with ``KEYS``.

How to declare a result::

    @dataclass(frozen=True, repr=False)             # the short repr below, not the dataclass's
    class LossBudget(Result):
        \"\"\"The losses of all links of a plan.        # heads its part of the schema where there are several kinds
        ...                                         # in "Attributes": the meaning of the key "links"
        \"\"\"

        links: tuple[LinkLoss, ...]                 # its type: a list of what LinkLoss declares

        KEYS = (
            "ok known links",                       # keys in the order of the document: attributes or properties
            "spec=plan.topology.spec",              # another name; along a path; null where one on the way is None
            "cables=len(plan.cables)",              # len(), not(), or_null() of the value: null for what is empty
            "time_s=float(time) size_bytes=number(size)",   # each number in it as float, or as int where it is whole
            "proof?",                               # no such key where the value is None
            "*latency",                             # all keys of what is there, in this place
            key("bandwidth=str(cost.bandwidth)", "Bytes per second."),  # where the docs of the attribute do not say it
            key("text=str(self)", "The same for people.", kind=str),    # or the annotation not which type
            key("mode", "How.", kind=("simplex", "duplex")),            # one of some words
            key("lost", "Links that fail.", kind=int, value=lambda found: found.count(0)),  # where no path leads
            key("found_*=counts", "Rows of a kind."),                   # "found_line": 3, of a mapping with "line"
        )
        ROW = "name=plan.name steps=cost.steps"     # a flat row with exact numbers, if it is not KEYS
        ROWS = "links"                              # or: a row for each of an attribute, by the ROW of these

        def heading(self) -> str:                   # one line; optional
            return f"{len(self.links)} links"

* **Exact values.** A ``Fraction`` is ``"p/q"`` in JSON and itself in rows; ``float(...)`` makes the rounded twin. An
  ``Enum`` is its value; what is neither a number, a container nor declared (a spec, a path) is its ``str``.
* **Meaning.** ``about``, or what the section ``Attributes``, or the docstring of the property or method, says at the
  end of the path. If a value may be null the words say when: the annotation ``X | None`` makes it so.
* **Types.** The annotation at the end of the path; ``kind`` where that says too little: a type, a union, a tuple of
  words, or a text that is read in the module of the class, for what it imports only for types.
* **One of several documents.** A union of declared classes, as the type of a key or of what ``*`` takes in, is one
  variant each, headed by the first lines of their docstrings.
* **Shared parts.** ``SHARED = "claim"`` gives a class a name in schemas, so that it is described once.
* **Keys of others.** ``KEYS = (*keys_of(Base.KEYS), ...)``; ``without`` and ``said`` omit or redefine some of them.
  A class whose subclasses have keys of their own says ``KEYS: ClassVar[Keys] = ...``. A ``NamedTuple`` cannot declare
  any (mypy): it becomes a frozen dataclass with slots, which derives from ``Declared``.
* **Documents of commands.** ``report/schemas/documents.py`` names the classes that a command prints, as text. What a
  command puts together from several results is a small declared dataclass, or has its extra keys there.
* **By hand.** ``record`` and ``to_records`` may be written where an order or a row is special; the schema still is
  that of ``KEYS``, and tests hold both against each other.

A result whose table is not its records (units, marks, rows to compare with) gives a :class:`Table` of its own from
``table``; the command line prints the same table in colour.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from topodesign.base.declared import Declared, Keys, row_of
from topodesign.base.entry_points import load
from topodesign.base.errors import MissingLibraryError
from topodesign.base.fitted import wrap_text
from topodesign.base.units import in_one_unit

if TYPE_CHECKING:
    import pandas as pd

MAX_WIDE = 79  # letters in a line of words
LONGEST_CELL = 240
"""Characters of a text that a table shows whole; of a longer one, such as a spec link by link, the beginning."""


@dataclass(frozen=True)
class Table:
    """A table of text.

    A column of times, rates, lengths or losses has one unit, which its title names; an empty cell is a dash.

    * ``rows``: a cell for every column; one that ends with an asterisk is the best of its column.
    * ``compared``: number of the first row that is there to compare with only, after a rule; None if there is none.
    """

    heading: str  # a line above it, or nothing
    columns: tuple[str, ...]  # titles
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[str] = frozenset()  # titles of the columns that are aligned to the left; numbers are to the right
    spare: frozenset[str] = frozenset()  # titles of the columns that can be omitted if there is little room
    compared: int | None = None
    footnote: str = ""  # a line below it, or nothing

    def __post_init__(self) -> None:
        """Bring each column to one unit, and fill its empty cells."""
        if not self.titled or not self.rows:
            return
        columns = [
            (title, cells) if title in self.words else in_one_unit(title, cells)
            for title, cells in zip(self.columns, zip(*self.rows, strict=True), strict=True)
        ]
        renamed = dict(zip(self.columns, (title for title, _ in columns), strict=True))
        rows = zip(*([cell if cell.strip() else "-" for cell in cells] for _, cells in columns), strict=True)
        object.__setattr__(self, "columns", tuple(renamed[title] for title in self.columns))
        object.__setattr__(self, "spare", frozenset(renamed.get(title, title) for title in self.spare))
        object.__setattr__(self, "rows", tuple(rows))

    @property
    def titled(self) -> bool:
        """Whether columns have titles worth showing."""
        return any(map(str.strip, self.columns))

    def text(self) -> str:
        """Return plain text: columns two blanks apart, a rule below the titles.

        No line has trailing blanks.
        """
        widths = [max(map(len, column)) for column in zip(self.columns, *self.rows, strict=True)]
        rule = "  ".join("-" * width for width in widths)

        def line(cells: Iterable[str]) -> str:
            places = zip(self.columns, cells, widths, strict=True)
            return "  ".join(
                cell.ljust(width) if title in self.words else cell.rjust(width) for title, cell, width in places
            ).rstrip()

        lines = [line(self.columns), rule] if self.titled else []
        for place, cells in enumerate(self.rows):
            lines += [rule] if place == self.compared and place else []
            lines.append(line(cells))
        return "\n".join([*filter(None, [self.heading]), *lines, *filter(None, [self.foot()])])

    def foot(self, width: int = MAX_WIDE) -> str:
        """Return the footnote below the table, wrapped to a width."""
        lines = self.footnote.splitlines()
        return "\n".join("\n".join(wrap_text(line, min(width, MAX_WIDE))) for line in lines)

    def html(self) -> str:
        """Return it as one HTML table, everything escaped."""

        def row(tag: str, cells: Iterable[str]) -> str:
            places = zip(self.columns, cells, strict=True)
            return "".join(
                f'<{tag} style="text-align: {"left" if title in self.words else "right"}">{html.escape(cell)}</{tag}>'
                for title, cell in places
            )

        body = "\n".join(f"<tr>{row('td', cells)}</tr>" for cells in self.rows)
        caption = f"<caption>{html.escape(self.heading)}</caption>\n" if self.heading else ""
        lines = "<br>\n".join(map(html.escape, self.footnote.splitlines()))
        foot = f"\n<p>{lines}</p>" if lines else ""
        head = f"<thead><tr>{row('th', self.columns)}</tr></thead>\n" if self.titled else ""
        return f"<table>\n{caption}{head}<tbody>\n{body}\n</tbody>\n</table>{foot}"


class Result(Declared):
    """Mixin without state: a value with rows for people and programs."""

    __slots__ = ()

    ROW: ClassVar[Keys] = ()
    ROWS: ClassVar[str] = ""

    def to_records(self) -> list[dict[str, Any]]:
        """Return a flat dictionary of exact values per row.

        Ready for ``pandas.DataFrame``.
        """
        return [row_of(one) for one in getattr(self, self.ROWS)] if self.ROWS else [row_of(self)]

    def heading(self) -> str:
        """Return what it is about, in one line."""
        rows = len(self.to_records())
        return f"{rows} row{'' if rows == 1 else 's'}"

    def table(self) -> Table:
        """Return the table that people see; by default its records."""
        return table_of(self.to_records(), self.heading())

    def to_dataframe(self) -> pd.DataFrame:
        """Return the records as a pandas data frame."""
        try:
            import pandas as pd  # noqa: PLC0415  heavy, and an optional extra
        except ImportError:
            raise MissingLibraryError("to_dataframe requires pandas: pip install 'topodesign[notebook]'") from None
        return pd.DataFrame(self.to_records())

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Return a plot of it; see :func:`topodesign.plot`.

        Raises
        ------
        ParameterError
            If there is no such plot of it.
        """
        return load("report.plots:plot")(self, kind, **options)

    def __repr__(self) -> str:
        """Return what it is in one line; ``print`` shows the table."""
        return f"<{type(self).__name__}: {self.heading()}>"

    def __str__(self) -> str:
        """Return the table as plain text."""
        return self.table().text()

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return self.table().html()


class TextResult(Result):
    """A result that prints more than a table, also in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the text for a notebook."""
        return f"<pre>{html.escape(str(self))}</pre>"


_One = TypeVar("_One", bound=Result)
T = TypeVar("T")


class ResultSequence(Result, Generic[T]):
    """A result that is a sequence.

    ``MEMBERS`` names the attribute that holds its values.
    """

    __slots__ = ()

    MEMBERS: ClassVar[str] = "entries"

    def __len__(self) -> int:
        """Return how many there are."""
        return len(getattr(self, self.MEMBERS))

    def __iter__(self) -> Iterator[T]:
        """Iterate over them."""
        yield from getattr(self, self.MEMBERS)


class ResultList(list[_One], Result):
    """A list of results of one kind, shown as one table."""

    __slots__ = ()

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows of all."""
        return [record for one in self for record in one.to_records()]

    def __repr__(self) -> str:
        """Return what it is in one line; ``print`` shows the table."""
        return Result.__repr__(self)


def table_of(records: list[dict[str, Any]], heading: str = "") -> Table:
    """Return records as a table with a column per key.

    Columns are in the order in which keys first appear.
    """
    columns = tuple(dict.fromkeys(key for record in records for key in record))
    words = frozenset(key for record in records for key, value in record.items() if isinstance(value, str | bool))
    rows = tuple(tuple(_cell(record.get(key)) for key in columns) for record in records)
    return Table(heading, columns, rows, words)


def shorten_text(text: str) -> str:
    """Return the beginning of a very long text, for tables."""
    if len(text) <= LONGEST_CELL:
        return text
    return f"{text[: LONGEST_CELL // 2]}... ({len(text)} characters)"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction) and value.denominator > 10**9:
        return f"{float(value):.6g}"
    return f"{value:.6g}" if isinstance(value, float) else shorten_text(str(value))


Named: TypeAlias = Sequence[tuple[str, Sequence[Fraction]]]  # names with a time for every size


class SideBySide(Result, ABC):
    """A comparison over sizes of data that can be plotted."""

    __slots__ = ()

    @abstractmethod
    def side_by_side(self) -> tuple[str, Sequence[Fraction], Named, Sequence[Fraction], str]:
        """Return title, sizes (bytes), seconds by name, bound and collective."""

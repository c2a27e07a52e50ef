"""Shipped files: rows of the catalog, and examples.

In a checkout they lie at its top, in ``catalog/`` and ``configs/``; a wheel has them inside the package,
the rows packed (``hatch_build.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from topodesign.base.arguments import as_path, as_several
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.records import Result, ResultList
from topodesign.base.tables import parse_csv
from topodesign.base.wording import suggest

_PACKAGE = Path(__file__).parents[1]
_INDEX = "index.csv"  # the table of the examples in their folder


def find_shipped_folder(name: Literal["catalog", "configs"]) -> Path:
    """Return the path of a shipped folder, also in a checkout."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


@dataclass(frozen=True, repr=False)
class Example(Result):
    """An example file: a fabric, an inventory, an export or a workload."""

    name: str  # name of the file, by which :func:`copy_examples` and ``topodesign examples`` know it
    about: str  # what it holds, in one line

    KEYS = "name about path"
    ROW = "name about"

    @property
    def path(self) -> Path:
        """Where it lies; to change it, copy it."""
        return find_shipped_folder("configs") / self.name

    def heading(self) -> str:
        """Return the name and what it holds."""
        return f"{self.name}, {self.about}"


def examples() -> ResultList[Example]:
    """Return the example files that come with the package, by name.

    Examples
    --------
    >>> from topodesign import examples
    >>> for example in examples()[:2]:
    ...     print(example.name)
    fabric_dgx1_v100.yaml
    fabric_dgx_a100.yaml
    """
    index = find_shipped_folder("configs") / _INDEX
    try:
        rows = list(parse_csv(index.read_text(encoding="utf-8"), ("name", "about"), ()))
    except OSError as error:
        raise FileFormatError(f"{index}: {error.strerror or error}; is the installation whole?") from None
    return ResultList(Example(row["name"].value, row["about"].value) for row in rows)


def copy_examples(names: str | Iterable[str], directory: str | Path) -> list[Path]:
    """Copy example files into a directory and return their paths.

    The directory is made if it is missing.

    Parameters
    ----------
    names
        One name or several, as :func:`examples` lists them.
    directory
        Directory to write to.

    Raises
    ------
    ParameterError
        If there is no example of a name.
    FileFormatError
        If a file of that name is there already (nothing is copied then), or one cannot be written.

    Examples
    --------
    >>> from topodesign import copy_examples
    >>> copy_examples(["fabric_mi250.yaml"], "examples")[0].name
    'fabric_mi250.yaml'
    """
    known = {example.name: example for example in examples()}
    directory = as_path(directory)
    chosen = [names] if isinstance(names, str) else list(dict.fromkeys(map(str, as_several("names", names))))
    for name in chosen:
        if name not in known:
            raise ParameterError(f"there is no example {name[:100]!r}; {suggest(name, known)}")
        if (directory / name).exists() or (directory / name).is_symlink():
            raise FileFormatError(f"{directory / name} already exists; use another directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in chosen:
            write_whole(directory / name, known[name].path.read_bytes())
    except OSError as error:
        raise FileFormatError(f"{directory}: {error.strerror or error}") from None
    return [directory / name for name in chosen]

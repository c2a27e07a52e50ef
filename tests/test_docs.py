"""What README and the pages of docs/ show is what the program prints; the tutorial runs; links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import topodesign
from tests import pages
from tests.conftest import is_thorough
from tests.pages import (
    DECISION,
    INVENTORY,
    NOTEBOOK,
    PAGES,
    ROOT,
    TUTORIAL,
    agree,
    as_notebook,
    empty_directory,
    mismatches,
    rendered,
    with_fields,
)


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT)).removeprefix("docs/")


MADE = {"notebook.md", "contributing.md", "changelog.md", "json-keys.md"}
"""Pages that only the site has, made of other files; its build finds links to pages that it lacks."""
RENDERED = TUTORIAL.with_suffix(".md")


@pytest.mark.budget(12)
@pytest.mark.parametrize("page", [page for page in PAGES if page != RENDERED], ids=page_name)
def test_pages_show_what_is_printed(page: Path, pytestconfig: pytest.Config) -> None:
    with empty_directory():
        wrong = list(mismatches(page, thorough=is_thorough(pytestconfig)))
    assert not wrong, f"{page.relative_to(ROOT)} (python -m tests.pages corrects it):\n" + "\n".join(map(str, wrong))


def test_the_tutorial_runs_and_is_rendered_as_it_is() -> None:
    with empty_directory():
        assert RENDERED.read_text(encoding="utf-8") == rendered(TUTORIAL)


NOTEBOOKS = pytest.mark.parametrize("script", [NOTEBOOK, DECISION], ids=lambda path: path.stem)


@NOTEBOOKS
def test_notebooks_are_those_of_their_scripts_and_have_outputs(script: Path) -> None:
    kept = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    made = json.loads(as_notebook(script))
    sources = [[cell["source"] for cell in notebook["cells"]] for notebook in (kept, made)]
    assert sources[0] == sources[1], f"python -m tests.pages {script.name}"
    assert any("text/html" in output.get("data", {}) for cell in kept["cells"] for output in cell.get("outputs", []))


@pytest.mark.thorough
@NOTEBOOKS
def test_notebooks_show_what_they_print(script: Path) -> None:
    """Texts are equal; pictures and tables may be laid out differently."""
    kept = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    with empty_directory():
        made = json.loads(as_notebook(script, outputs=True))
    for before, after in zip(kept["cells"], made["cells"], strict=True):
        for old, new in zip(before.get("outputs", []), after.get("outputs", []), strict=True):
            text = [output.get("text") or output["data"]["text/plain"] for output in (old, new)]
            assert text[0] == text[1], f"python -m tests.pages {script.name}"


def test_the_page_about_inventories_has_all_fields() -> None:
    page = INVENTORY.read_text(encoding="utf-8")
    assert page == with_fields(page), "python -m tests.pages inventory.md"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=page_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert target in MADE or (page.parent / target).exists(), f"{page.name} links to {target}"


def test_pages_are_short() -> None:
    words = {page_name(page): len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert not {page: count for page, count in words.items() if count > 1500}
    assert sum(words.values()) <= 55_000


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_tables_fit_80_columns(page: Path) -> None:
    wide = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|") and len(line) > 80]
    assert not wide, "\n".join(wide)


def test_every_public_name_is_on_its_page() -> None:
    words = set(re.findall(r"\w+", (ROOT / "docs" / "python.md").read_text(encoding="utf-8")))
    assert set(topodesign.__all__) <= words, f"docs/python.md lacks {sorted(set(topodesign.__all__) - words)}"


def test_elisions_stand_for_any_lines_and_any_text() -> None:
    assert agree(("a", "...", "d"), ("a", "b", "c", "d"))
    assert agree(("a", "...", "d"), ("a", "d"))
    assert agree(("took ... s",), ("took 3 s",))
    assert not agree(("a", "d"), ("a", "b", "d"))
    assert not agree(("took ... s",), ("took 3 s", "more"))
    assert not agree(("1.0",), ("1x0",))


def test_pages_are_really_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n    $ topodesign evaluate 'ring'\n    wrong\n\n"
        "<!-- file: a.txt -->\n```text\nheld\n```\n\n    $ cat a.txt\n    held\n    $ topodesign nothing\n\n"
        "<!-- not run: it is a test -->\n\n    $ reboot\n\n```python\n>>> x = 2\n>>> x + 1\n4\n```\n"
    )
    found = list(mismatches(page))
    assert [one.step.source for one in found] == ["topodesign evaluate 'ring'", "topodesign nothing", "x + 1"]
    assert found[-1].got == ("3",)
    assert list(pages.corrected(page).splitlines()[-3:]) == [">>> x + 1", "3", "```"]
    page.write_text("<!-- thorough: takes seconds -->\n\n    $ topodesign nothing\n")
    assert len(list(mismatches(page))) == 1
    assert not list(mismatches(page, thorough=False))
    page.write_text("    $ reboot\n")
    with pytest.raises(pages.PageError, match="not run"):
        list(mismatches(page))

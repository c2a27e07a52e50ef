"""Words in messages."""

from __future__ import annotations

import re
from pathlib import Path

import topodesign
from topodesign.base.wording import with_article
from topodesign.collectives import COLLECTIVES


def test_collectives_have_their_article() -> None:
    for name in COLLECTIVES:
        assert with_article(name) == (f"an {name}" if name[0] == "a" else f"a {name}")


def test_no_message_gives_a_collective_an_article_of_its_own() -> None:
    root = Path(topodesign.__file__).parent
    written = re.compile(r"\ban? \{[^{}]*collective|\ban? \{(self\.name|asked)\}")
    found = [path.name for path in root.rglob("*.py") if written.search(path.read_text())]
    assert found == []

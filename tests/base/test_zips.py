"""Members of archives: the same bytes at any time, which any program unpacks."""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from topodesign.base.zips import member_info


def test_an_archive_does_not_depend_on_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for now in (0.0, 2e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr(member_info("a.txt"), b"content", zipfile.ZIP_DEFLATED)
        written.append(stream.getvalue())
    assert written[0] == written[1]
    with zipfile.ZipFile(stream) as archive:
        assert archive.read("a.txt") == b"content"
        (info,) = archive.infolist()
    assert info.date_time == (1980, 1, 1, 0, 0, 0)
    assert (info.create_system, info.external_attr >> 16) == (3, 0o644)

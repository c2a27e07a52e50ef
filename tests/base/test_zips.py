"""Members of archives: the same bytes at any time, which any program unpacks."""

from __future__ import annotations

import io
import time
import zipfile
import zlib

import pytest

from topodesign.base.zips import write_zip


def test_an_archive_does_not_depend_on_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for now in (0.0, 2e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        stream = io.BytesIO()
        write_zip(stream, [("a.txt", b"content")], zipfile.ZIP_DEFLATED)
        written.append(stream.getvalue())
    assert written[0] == written[1]
    with zipfile.ZipFile(stream) as archive:
        assert archive.read("a.txt") == b"content"
        (info,) = archive.infolist()
    assert info.date_time == (1980, 1, 1, 0, 0, 0)
    assert (info.create_system, info.external_attr >> 16) == (3, 0o644)


def test_an_interrupt_amid_a_member_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the archive cannot be closed then, which is an error of its own."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(zlib, "compressobj", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_zip(io.BytesIO(), [("a.txt", b"content")], zipfile.ZIP_DEFLATED)

"""What is listed of plugins where there are none; with plugins see test_doors.py."""

from __future__ import annotations

from topodesign import plugins
from topodesign.base.doors import DOORS, Plugin
from topodesign.base.plugins import Opened, Plugins


def test_every_door_is_listed() -> None:
    found = plugins()
    assert [door.door for door in found.doors] == [door.group for door in DOORS]
    assert all(door.own for door in found.doors)
    assert found.heading().endswith("6 doors")


def test_what_is_left_out_is_said() -> None:
    broken = Plugin("topodesign.families", "ring", "rings", "1", "rings:ring", "the name is taken")
    found = Plugins((Opened("topodesign.families", "families of graphs", ("torus",)),), (broken,))
    assert found.failed == (broken,)
    assert found.heading() == "1 plugin, 1 omitted; 1 doors"
    assert "omitted: the name is taken" in str(found)
    assert found.record()["plugins"][0]["error"] == "the name is taken"
    assert found.to_records()[0]["package"] == "rings"

"""What is listed of plugins where there are none; with plugins see test_entry_points.py."""

from __future__ import annotations

from topodesign import plugins
from topodesign.base.entry_points import GROUPS, Plugin
from topodesign.base.plugins import Group, Plugins


def test_every_door_is_listed() -> None:
    found = plugins()
    assert [group.group for group in found.groups] == [group.group for group in GROUPS]
    assert all(group.own for group in found.groups)
    assert found.heading().endswith("6 groups")


def test_what_is_left_out_is_said() -> None:
    broken = Plugin("topodesign.families", "ring", "rings", "1", "rings:ring", "the name is taken")
    found = Plugins((Group("topodesign.families", "families of graphs", ("torus",)),), (broken,))
    assert found.failed == (broken,)
    assert found.heading() == "1 plugin, 1 omitted; 1 group"
    assert "omitted: the name is taken" in str(found)
    assert found.record()["plugins"][0]["error"] == "the name is taken"
    assert found.to_records()[0]["package"] == "rings"

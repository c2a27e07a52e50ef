"""Options of places: their names and defaults are those of the functions that take them."""

from __future__ import annotations

import inspect

from topodesign.base.options import declared
from topodesign.fabrics.options import GroupOptions, PartOptions, PlaceOptions
from topodesign.fabrics.part import select_part


def test_parts_are_what_the_function_takes() -> None:
    parameters = inspect.signature(select_part).parameters
    assert {name: option.default for name, option in declared(PartOptions).items()} == {
        name: one.default for name, one in parameters.items() if name != "fabric"
    }
    assert declared(PlaceOptions).keys() == {*declared(PartOptions), *declared(GroupOptions), "unwind"}

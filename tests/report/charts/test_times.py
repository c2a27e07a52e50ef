"""Which way is fastest for which size: the lines of the plot against the answer for each size."""

from __future__ import annotations

from topodesign import routed
from topodesign.report.charts.times import passing_chart


def test_the_lowest_line_is_the_way_that_is_fastest() -> None:
    found = routed("torus(8,8)", alpha="1us", hop="200ns", bandwidth="400Gbps", sizes=["1KiB", "64KiB", "1MiB"])
    chart = passing_chart(found)
    assert len(chart.series) == 8
    for at, size in enumerate(found.workload.sizes):
        least = min(one.times[at] for one in found.timed)
        assert min(line.y[list(line.x).index(size)] for line in chart.series) == least
    assert [mark for mark, _ in chart.marks] == [turn.size for turn in found.turns[1:]]
    assert {line.name for line in chart.series if line.role == "ours"} == {turn.name for turn in found.turns}

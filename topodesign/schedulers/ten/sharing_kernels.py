"""Compiled inner loop of links that are shared: sends whose ways are settled, and who goes first."""

from __future__ import annotations

from typing import NamedTuple

from topodesign.base.compiled import Ints, tiered
from topodesign.schedulers.ten.event_kernels import Queue, pop, push
from topodesign.schedulers.ten.forward_kernels import Piles, put, take_out


class Jobs(NamedTuple):
    """Sends, and what each waits for.

    Attributes
    ----------
    link
        What each needs for itself.
    takes, latency
        Ticks until its data have arrived, and those of them that are latency.
    least
        When it may start first.
    before, onward
        The send that it goes on with through a switch, and the one that goes on with it; -1 if there is none.
    waits
        For how many deliveries it waits.
    after_start, after
        Which sends wait for the delivery of each.
    """

    link: Ints
    takes: Ints
    latency: Ints
    least: Ints
    before: Ints
    onward: Ints
    waits: Ints
    after_start: Ints
    after: Ints


def _share_work(jobs: Jobs, *_: object) -> int:
    return 40 * len(jobs.link)


@tiered(_share_work)
def share(jobs: Jobs, urgency: Ints, overlap: bool, free: Ints, queue: Queue, piles: Piles, times: Ints) -> int:
    """Start every send as soon as its data and its link are there, the most urgent of those that wait first.

    Parameters
    ----------
    jobs
        Sends; ``waits`` is counted down.
    urgency
        Of every send.
    overlap
        Whether a link is free as soon as it has transmitted.
    free
        When every link is free.
    queue
        Empty, for links and, after them, sends.
    piles
        Empty, with room for all sends of every link.
    times
        To be filled in, two rows: when each send starts and ends; the first has the time from when on it waits.

    Returns
    -------
    int
        How many sends there were: fewer than all, if some wait for one another.
    """
    links, done = len(free), 0
    for row in range(len(jobs.link)):
        times[0, row] = jobs.least[row]
        if jobs.waits[row] == 0 and jobs.before[row] < 0:
            push(queue, jobs.least[row], -1, links + row)
    while queue.size[0]:
        time, what = queue.time[0], queue.what[0]
        pop(queue)
        if what >= links:
            row = what - links
            link = jobs.link[row]
            put(piles, link, row, urgency[row])
            if not queue.waits[link]:
                push(queue, max(time, free[link]), link, link)
            continue
        row = take_out(piles, what)
        end, before = time + jobs.takes[row], jobs.before[row]
        if before >= 0:
            end = max(end, times[1, before] + jobs.latency[row])
        times[0, row], times[1, row] = time, end
        free[what] = end - jobs.latency[row] if overlap else end
        done += 1
        if jobs.onward[row] >= 0:
            other = jobs.onward[row]
            push(queue, max(time + jobs.latency[row], jobs.least[other]), -1, links + other)
        for i in range(jobs.after_start[row], jobs.after_start[row + 1]):
            other = jobs.after[i]
            jobs.waits[other] -= 1
            times[0, other] = max(times[0, other], end)
            if jobs.waits[other] == 0:
                push(queue, times[0, other], -1, links + other)
        if piles.size[what]:
            push(queue, free[what], what, what)
    return done

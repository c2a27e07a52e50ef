"""Compiled inner loop of links that are shared: sends whose ways are settled, and who goes first."""

from __future__ import annotations

from typing import NamedTuple

from topodesign.base.compiled import Ints, tiered
from topodesign.schedulers.ten.event_kernels import Queue, pop, push
from topodesign.schedulers.ten.forward_kernels import Piles, put, take_out


class Jobs(NamedTuple):
    """Sends, and what each waits for."""

    link: Ints  # what each needs for itself
    takes: Ints  # ticks until its data have arrived
    latency: Ints  # those of them that are latency
    least: Ints  # when it may start first
    before: Ints  # the send that it goes on with through a switch, -1 if there is none
    onward: Ints  # the send that goes on with it through a switch, -1 if there is none
    waits: Ints  # for how many deliveries it waits
    after_start: Ints
    after: Ints  # which sends wait for the delivery of each


def _share_work(jobs: Jobs, *_: object) -> int:
    return 40 * len(jobs.link)


@tiered(_share_work)
def share(jobs: Jobs, urgency: Ints, overlap: bool, free: Ints, queue: Queue, piles: Piles, times: Ints) -> int:
    """Start every send as soon as its data and its link are there, the most urgent of those that wait first.

    Returned is how many sends there were: fewer than all, if some wait for one another. ``jobs.waits`` is counted down;
    the queue is for links and, after them, sends. Filled in are ``times``: when each send starts and ends.
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

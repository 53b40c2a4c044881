"""HEFT: tasks in a given order, each where it ends first, gaps included (thesis §1.4)."""

from collections.abc import Sequence

import numpy as np


class Plan:
    """Gaps of all places; each task fills a part of one."""

    def __init__(self, free_from: Sequence[float], speeds: Sequence[float]) -> None:
        self._speeds = np.asarray(speeds, float)
        room = 2 * len(free_from) + 64
        self._begins = np.empty(room)
        self._ends = np.empty(room)
        self._places = np.empty(room, np.intp)
        self._gaps = len(free_from)
        self._begins[: self._gaps] = free_from
        self._ends[: self._gaps] = np.inf
        self._places[: self._gaps] = np.arange(len(free_from))

    def put(self, ready: float, estimate: float) -> tuple[int, float, float]:
        """The place of a task that may start when `ready`, its start and its end."""
        n = self._gaps
        places = self._places[:n]
        starts = np.maximum(self._begins[:n], ready)
        ends = starts + estimate / self._speeds[places]
        ends[ends > self._ends[:n]] = np.inf
        earliest = ends.min()
        tied = np.flatnonzero(ends == earliest)
        gap = int(tied[np.argmin(places[tied])])
        place, start, end = int(places[gap]), float(starts[gap]), float(ends[gap])
        self._fill(gap, start, end)
        return place, start, end

    def _fill(self, gap: int, start: float, end: float) -> None:
        if start == end:
            return  # a task of no length leaves the gap whole
        begins, ends, place = self._begins[gap], self._ends[gap], self._places[gap]
        left, right = start > begins, end < ends
        if left:
            self._ends[gap] = start
        elif right:
            self._begins[gap] = end
        else:
            last = self._gaps = self._gaps - 1
            for column in (self._begins, self._ends, self._places):
                column[gap] = column[last]
        if left and right:
            self._add(end, ends, place)

    def _add(self, begin: float, end: float, place: int) -> None:
        if self._gaps == len(self._begins):
            self._begins = np.resize(self._begins, 2 * self._gaps)
            self._ends = np.resize(self._ends, 2 * self._gaps)
            self._places = np.resize(self._places, 2 * self._gaps)
        self._begins[self._gaps] = begin
        self._ends[self._gaps] = end
        self._places[self._gaps] = place
        self._gaps += 1

"""Attempts whose end nobody had heard of when their bag ended and was forgotten.

What they come to is too late for any plan, but not for the bag's user: it counts like any result,
if the machine that tells it was given the attempt.
"""

import asyncio
from collections.abc import Iterable

from bats.common.messages import BagId, MachineId, Outcome, Result, TaskId
from bats.master.service.bags.runner import Runner, held_to

_Key = tuple[BagId, MachineId, TaskId, int]


class LateResults:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ordered_at: dict[_Key, float] = {}  # by the loop's clock

    def expect(self, runner: Runner) -> None:
        """Remember what a bag that is forgotten had given away and not heard of."""
        ahead = self._loop.time() - runner.clock()
        for one in runner.engine.unheard():
            self._ordered_at[runner.id, one.machine, one.task, one.attempt] = one.ordered_at + ahead

    def counted(self, machine: MachineId, results: Iterable[Result]) -> list[Result]:
        """Those that count; one that left files is not done without them."""
        now, counted = self._loop.time(), []
        for told in results:
            key = told.bag, machine, told.task, told.attempt
            ordered_at = self._ordered_at.pop(key, None)
            if ordered_at is not None and told.outcome is Outcome.DONE and not told.outputs:
                counted.append(held_to(told, now - ordered_at)._replace(machine=machine))
        return counted

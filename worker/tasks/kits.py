"""Kits: bags made ready on this machine. An order is carried out with the kit that it came with."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bats.common.messages import BagId, BagSpec
from bats.worker.files.exchange import Files
from bats.worker.tasks.environment import own_environment
from bats.worker.tasks.prepared_bag import Bag
from bats.worker.tasks.shared_output import SharedOutput
from bats.worker.tasks.spawn import Recipe

_MOST: Final = 64  # beside those in use


class Kits:
    def __init__(self, files: Files, speed: float, in_use: Callable[[], set[int]]) -> None:
        self._files = files
        self._speed = speed
        self._in_use = in_use
        self._kits: dict[int, Bag] = {}
        self._of_bag: dict[BagId, int] = {}  # what is ordered of it from now on has this
        self._made = 0
        self._base = own_environment()
        self._home = str(Path.cwd())
        self._mark = f"{os.getpid()}.{os.urandom(4).hex()}"

    def __getitem__(self, kit: int) -> Bag:
        return self._kits[kit]

    def of(self, bag: BagId) -> int:
        return self._of_bag[bag]

    def knows(self, bag: BagId) -> bool:
        return bag in self._of_bag

    def learn(self, spec: BagSpec) -> int:
        """The bag's kit from now on. Raises UsageError for templates that cannot be filled."""
        known = (number for number, bag in self._kits.items() if bag.spec == spec)
        if (kit := next(known, None)) is None:
            shared = SharedOutput(spec.output_folder, self._mark) if spec.output_folder else None
            recipe = Recipe(spec, self._base, self._speed, self._home)
            self._made += 1
            kit = self._made
            self._kits[kit] = Bag(spec, recipe, shared, self._files)
            self._forget()
        self._of_bag[spec.bag] = kit
        return kit

    def _forget(self) -> None:
        """Forget kits that nothing is carried out with any more, once there are many."""
        if len(self._kits) > _MOST:
            used = {*self._of_bag.values(), *self._in_use(), self._made}
            self._kits = {kit: bag for kit, bag in self._kits.items() if kit in used}

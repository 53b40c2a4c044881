"""Experience across bags: what a bag takes of it when it is submitted, and leaves when it ends.

It is kept by the command as it is written, `{names}` and all, and by the offering.
"""

import struct
import time
from collections.abc import Iterable
from dataclasses import replace

from bats.master.bag import Bag
from bats.master.brain.engine import Engine
from bats.master.brain.learning.experience import Experience
from bats.master.store.reader import Reader
from bats.master.store.rows import LearnedRow

FEWEST = 3  # tasks from which on a bag has something to tell


def template(bag: Bag) -> str:
    """The command that its tasks have in common; "" of a workflow, whose steps differ."""
    command = getattr(bag.sweep, "command", "")
    return str(command or " ".join(getattr(bag.sweep, "argv", ())))


def experienced(bag: Bag, reader: Reader) -> Bag:
    """The bag with what is known of its command: from now on it needs to ask nobody again."""
    name = template(bag)
    known = {row.offering: experience(row) for row in reader.learned(name)} if name else {}
    offerings = [str(one.name) for one in bag.settings.offerings]
    if not known.keys() & offerings:
        return bag
    found = [known.get(name) for name in offerings]
    now = time.time()
    settings = replace(
        bag.settings,
        learned=tuple(one.runtimes if one else () for one in found),
        learned_weight=tuple(one.weight(now) if one else 0.0 for one in found),
    )
    return replace(bag, settings=settings)


def lessons(bag: Bag, engine: Engine, reader: Reader) -> Iterable[LearnedRow]:
    """The rows to keep of a bag that has ended, with those of earlier ones."""
    name, now = template(bag), time.time()
    if not name:
        return
    known = {row.offering: experience(row) for row in reader.learned(name)}
    for offering, runtimes in zip(bag.settings.offerings, engine.runtimes(), strict=True):
        if len(runtimes) < FEWEST:
            continue
        mine = Experience.of(runtimes, now)
        earlier = known.get(str(offering.name))
        whole = earlier.with_more(mine) if earlier else mine
        packed = struct.pack(f"<{len(whole.runtimes)}d", *whole.runtimes)
        yield LearnedRow(name, str(offering.name), whole.count, now, packed)


def experience(row: LearnedRow) -> Experience:
    runtimes = struct.unpack(f"<{len(row.runtimes) // 8}d", row.runtimes)
    return Experience(row.tasks, runtimes, row.at)

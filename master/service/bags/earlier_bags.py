"""Experience across bags: what a bag takes of it when it is submitted, and leaves when it ends.

It is kept by the command as it is written, `{names}` and all, and by the offering; how machines of
an offering differ is kept beside it.
"""

import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bats.master.bag import Bag
from bats.master.brain.engine import Engine
from bats.master.brain.learning.experience import Experience
from bats.master.brain.learning.machine_speeds import KEPT_AS
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
    if name := template(bag):
        yield from _rows(name, bag, engine.runtimes(), reader)
    yield from _rows(KEPT_AS, bag, engine.slowness(), reader)


def _rows(
    name: str, bag: Bag, found: Sequence[Sequence[float]], reader: Reader
) -> Iterable[LearnedRow]:
    now = time.time()
    known = {row.offering: experience(row) for row in reader.learned(name)}
    for offering, values in zip(bag.settings.offerings, found, strict=True):
        if len(values) < FEWEST:
            continue
        mine = Experience.of(values, now)
        earlier = known.get(str(offering.name))
        whole = earlier.with_more(mine) if earlier else mine
        packed = struct.pack(f"<{len(whole.runtimes)}d", *whole.runtimes)
        yield LearnedRow(name, str(offering.name), whole.count, now, packed)


def experience(row: LearnedRow) -> Experience:
    runtimes = struct.unpack(f"<{len(row.runtimes) // 8}d", row.runtimes)
    return Experience(row.tasks, runtimes, row.at)

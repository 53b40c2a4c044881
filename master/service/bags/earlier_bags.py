"""Experience across bags: what a bag takes of it when it is submitted, and leaves when it ends.

It is kept by the command as it is written, `{names}` and all, and by the offering; how machines of
an offering differ is kept beside it.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from itertools import islice
from typing import Final

from bats.common.messages import MachineId, Outcome, Result
from bats.master.bag import Bag
from bats.master.brain.engine import Engine
from bats.master.brain.learning.experience import Experience
from bats.master.brain.learning.losses import Losses
from bats.master.brain.learning.machine_speeds import (
    DATA_IN,
    DATA_OUT,
    KEPT_AS,
    PROCESSOR,
    slowness,
)
from bats.master.brain.learning.step_profiles import StepProfiles
from bats.master.brain.protocol.settings import Settings
from bats.master.service.transfer_times import TransferTimes
from bats.master.store.reader import Reader
from bats.master.store.rows import LearnedRow, packed

LOOKED_AT: Final = 1024
"""Results of a bag for how processors and links differ: the master does nothing else meanwhile."""
FEWEST = 3  # tasks from which on a bag has something to tell


def template(bag: Bag) -> str:
    """The command that its tasks have in common; "" of a workflow, whose steps differ."""
    command = getattr(bag.sweep, "command", "")
    return str(command or " ".join(getattr(bag.sweep, "argv", ())))


def experienced(bag: Bag, reader: Reader) -> Bag:
    """The bag with what is known of its command: from now on it needs to ask nobody again.

    A workflow takes what is known of machines: its plans count with how much they differ.
    """
    name = template(bag)
    offerings = [str(one.name) for one in bag.settings.offerings]
    if bag.settings.graph is not None:
        differ = {row.offering: row.rising for row in reader.learned(KEPT_AS)}
        if not differ.keys() & offerings:
            return bag
        rows_of = tuple(tuple(differ.get(offering, ())) for offering in offerings)
        return replace(bag, settings=replace(bag.settings, learned_slowness=rows_of))
    rows = reader.learned(name) if name else []
    known = {row.offering: experience(row) for row in rows}
    now = time.time()
    lost = {row.offering: one.aged(now - row.at) for row in rows if (one := losses_of(row))}
    if not known.keys() & offerings:
        return bag
    found = [known.get(offering) for offering in offerings]
    settings = replace(
        bag.settings,
        learned=tuple(one.runtimes if one else () for one in found),
        learned_weight=tuple(one.weight(now) if one else 0.0 for one in found),
        learned_losses=tuple(astuple(lost[one]) if one in lost else () for one in offerings),
    )
    return replace(bag, settings=settings)


def lessons(bag: Bag, engine: Engine, reader: Reader, times: TransferTimes) -> Iterable[LearnedRow]:
    """The rows to keep of a bag that has ended, with those of earlier ones."""
    if name := template(bag):
        yield from _rows(name, bag, engine.runtimes(), engine.losses(), reader)
    none: list[Losses | None] = [None] * len(bag.settings.offerings)
    yield from _rows(KEPT_AS, bag, engine.slowness(), none, reader)
    results = list(islice(reader.every_task(bag.id), LOOKED_AT))
    yield from _rows(PROCESSOR, bag, processors(bag.settings, results), none, reader)
    kinds: list[set[MachineId]] = [
        {one.machine for one in results if one.cluster == offering.name}
        for offering in bag.settings.offerings
    ]
    for part, links in ((DATA_IN, times.into), (DATA_OUT, times.out_of)):
        found = [links.told(sorted(machines)) for machines in kinds]
        yield from _rows(part, bag, found, none, reader)


def processors(settings: Settings, results: Iterable[Result]) -> list[tuple[float, ...]]:
    """The slowness of the processors of each offering's machines.

    Tasks that hardly use them, less than a tenth of their time, tell nothing.
    """
    kinds = {str(one.name): k for k, one in enumerate(settings.offerings)}
    graph = settings.graph
    profiles = StepProfiles(len(graph.steps) if graph is not None else 1)
    of_kind: list[set[MachineId]] = [set() for _ in kinds]
    wall, busy = [0.0] * len(kinds), [0.0] * len(kinds)
    for one in results:
        kind = kinds.get(one.cluster)
        seconds = one.user_seconds + one.system_seconds
        if kind is None or one.outcome is not Outcome.DONE or seconds <= 0:
            continue
        step = graph.step_of(one.task) if graph is not None else 0
        profiles.add(step, kind, seconds, one.machine)
        of_kind[kind].add(one.machine)
        wall[kind] += one.wall_seconds
        busy[kind] += seconds
    return [
        slowness(
            [profiles.worked(machine, kind) for machine in sorted(machines)],
            math.sqrt(profiles.spread(kind)[1]),
        )
        if busy[kind] >= wall[kind] / 10
        else ()
        for kind, machines in enumerate(of_kind)
    ]


def _rows(
    name: str,
    bag: Bag,
    found: Sequence[Sequence[float]],
    losses: Sequence[Losses | None],
    reader: Reader,
) -> Iterable[LearnedRow]:
    now = time.time()
    rows = {row.offering: row for row in reader.learned(name)}
    for offering, values, seen in zip(bag.settings.offerings, found, losses, strict=True):
        if len(values) < FEWEST:
            continue
        mine = Experience.of(values, now)
        row = rows.get(str(offering.name))
        whole = experience(row).with_more(mine) if row else mine
        before = losses_of(row) if row and seen else None
        lost = before.aged(now - row.at).with_more(seen) if row and before and seen else seen
        yield LearnedRow(
            name, str(offering.name), whole.count, now, packed(whole.runtimes),
            packed(astuple(lost)) if lost else None,
        )  # fmt: skip


def experience(row: LearnedRow) -> Experience:
    return Experience(row.tasks, row.rising, row.at)


def losses_of(row: LearnedRow) -> Losses | None:
    """None of a reliable offering."""
    return Losses(*row.lost) if row.losses else None

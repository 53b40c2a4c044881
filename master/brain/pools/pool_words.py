"""The last decision of a pool in words: what there was to run, what its scaler said, what came."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bats.common.units import counted
from bats.master.brain.pools.pool_events import Command
from bats.master.brain.pools.pool_kind import Kind
from bats.master.brain.protocol.commands import StartMachines, StopMachine

if TYPE_CHECKING:
    from bats.master.brain.pools.standing_pool import StandingPool


def why(
    pool: "StandingPool", before: Sequence[int], ended: Sequence[Command], hired: Sequence[Command]
) -> str:
    """`before`: machines of each kind that there were."""
    rules, kinds = pool.rules, pool.kinds
    there = of_kinds(before, kinds) if any(before) else "no machine"
    said = f"{counted(pool.demand, 'task')} to run, {there}"
    if not pool.demand:
        kept = f"no more than {counted(rules.least, 'machine')}" if rules.least else "none is kept"
        said += f": {kept} without tasks"
    else:
        said += f"; {rules.scaler} wants {of_kinds(pool.target, kinds)}"
    if pool.trouble:
        said += f" (as before: {pool.trouble})"
    started, gone = [0] * len(kinds), [0] * len(kinds)
    for one in (*hired, *ended):
        if isinstance(one, StartMachines):
            started[one.cluster] += len(one.machines)
        elif isinstance(one, StopMachine):
            gone[pool.machines[one.machine].cluster] += 1
    now = [f"started {of_kinds(started, kinds)}"] if any(started) else []
    now += [f"ended {of_kinds(gone, kinds)}"] if any(gone) else []
    late = [pool.now - one.requested_at for one in pool.alive() if one.boots]
    if late and max(late) > 0:
        now.append(f"{counted(len(late), 'machine')} yet to come, asked for {max(late):.0f} s ago")
    over = sum(max(0, have - want) for have, want in zip(before, pool.target, strict=True))
    if over > sum(gone):
        now.append(f"{over - sum(gone)} too many stay while they work or are paid for")
    now += [
        f"{one.offering.name} cannot be had: {one.reason}"
        for one in kinds
        if one.rests_until > pool.now
    ]
    now += [pool.short] if pool.short else []
    return f"{said}: {', '.join(now) or 'nothing to do'}"


def of_kinds(numbers: Sequence[int], kinds: Sequence[Kind]) -> str:
    """`3 small + 1 large`"""
    told = [f"{n} {one.offering.name}" for n, one in zip(numbers, kinds, strict=True) if n]
    return " + ".join(told) or "none"

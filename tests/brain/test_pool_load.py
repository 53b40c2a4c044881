"""What scalers are shown of the bags of a living master."""

import pytest
from helpers.workbench import Bench, offering, sent, settings

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import BagId, MachineId
from bats.common.offering import MANUAL
from bats.master.brain.pools.pool_events import Formed, Looked
from bats.master.brain.pools.pool_load import BagLoad, Loads, LoadView
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import StartMachines
from bats.master.brain.protocol.events import Charged, Joined
from bats.master.brain.protocol.graph import Step, graph

QUICK, SLOW = MachineId(1001), MachineId(1002)
KINDS = tuple(offering(name, 1, machines=1) for name in ("quick", "slow"))


def a_pool() -> StandingPool:
    """It has a machine of each kind."""
    pool = StandingPool(MachineId(1000))
    pool.handle(Formed(Pool("lab", KINDS, 2), MachineId(1000)), 0.0)
    for command in pool.handle(Looked(9, (), want=(1, 1)), 0.0):
        if isinstance(command, StartMachines):
            for machine in command.machines:
                pool.handle(Charged(machine, 0.0), 0.0)
                pool.handle(Joined(machine, 1, (), command.cluster), 0.0)
    return pool


def after(tasks: int, seconds: dict[MachineId, float], **more: object) -> tuple[Bench, LoadView]:
    """A bag of which so many tasks have ended on each of two machines, and two run since."""
    desks = [offering(name, 0, machines=0, backend=MANUAL) for name in ("quick", "slow")]
    bench = Bench(settings(100, *desks, **more))
    bench.begin()
    runs = {
        machine: sent(bench(Joined(machine, 1, (), kind)))[0]
        for kind, machine in enumerate(seconds)
    }
    left = dict.fromkeys(seconds, tasks)
    begun = dict.fromkeys(seconds, 0.0)
    while any(left.values()):
        machine = min((m for m in left if left[m]), key=lambda m: begun[m] + seconds[m])
        begun[machine] += seconds[machine]
        left[machine] -= 1
        (runs[machine],) = sent(bench.done(machine, runs[machine], at=begun[machine]))
    load = BagLoad(BagId(1), bench.engine, 0.0, running=2, ready=90, width=1)
    pool = a_pool()
    pool.now = max(begun.values())
    return bench, Loads().view(pool, [load], [0, 0], tasks=True)


@pytest.mark.parametrize("steps", [False, True])
def test_a_kind_is_as_fast_as_bags_have_seen_it_to_be(steps: bool) -> None:
    more = {"graph": graph([Step("all", 100)])} if steps else {}
    bench, shown = after(8, {QUICK: 10.0, SLOW: 30.0}, **more)
    assert bench.engine.speeds() == pytest.approx({"quick": 2.0, "slow": 2 / 3})
    assert [one.speed for one in shown.kinds] == pytest.approx([2.0, 2 / 3])
    ends = {one.place: one.until for one in shown.busy()}
    assert ends[SLOW] == pytest.approx(8 * 30.0 + 30.0)  # 20 s if kinds were alike


def test_of_few_tasks_no_speed_is_told() -> None:
    bench, shown = after(3, {QUICK: 10.0, SLOW: 30.0})
    assert bench.engine.speeds() == {}
    assert [one.speed for one in shown.kinds] == [1.0, 1.0]

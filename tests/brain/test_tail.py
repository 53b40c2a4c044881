"""What an idle machine copies when nothing waits, by each strategy; the clever one has a twin."""

import random
from statistics import fmean

import pytest
from helpers.workbench import Bench, free, only, sent, settings

from bats.common.messages import MachineId, Outcome
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Ended, Ending

MINUTES = tuple(60.0 * n for n in range(1, 21))  # what tasks take on the first kind


def bench(tail: str, *speeds: float, tasks: int | None = None, **more: object) -> Bench:
    """A machine of each kind, all free; one of speed 2 takes half as long as the first kind."""
    kinds = [free(f"kind{k}") for k in range(len(speeds))]
    known = tuple(tuple(seconds / speed for seconds in MINUTES) for speed in speeds)
    made = Bench(settings(tasks or len(speeds), *kinds, tail=tail, known=known, **more))
    made.begin()
    return made


def runs_on(made: Bench, machine: int) -> int:
    (task,) = made.run.pool.machines[MachineId(machine)].active
    return task


def ends(made: Bench, machine: int, at: float) -> list[do.Command]:
    return made.done(machine, runs_on(made, machine), at=at)


def test_without_a_strategy_nothing_is_copied() -> None:
    made = bench("none", 1, 10)
    made.join(1, 0)
    made.join(2, 0)
    assert sent(ends(made, 2, at=60)) == []


def test_who_forbids_copies_gets_none_whatever_the_strategy() -> None:
    made = bench("stochastic+random", 1, 10, replicate=False)
    made.join(1, 0)
    made.join(2, 0)
    assert sent(ends(made, 2, at=60)) == []


@pytest.mark.parametrize("tail", ["random", "stochastic", "stochastic+random"])
def test_a_faster_machine_copies_what_runs_on_a_slower_one_and_the_first_result_counts(
    tail: str,
) -> None:
    made = bench(tail, 1, 10)
    made.join(1, 0)
    made.join(2, 0)
    last = runs_on(made, 1)
    assert sent(ends(made, 2, at=60)) == [last]
    out = made.done(2, last, attempt=2, at=120)
    assert only(do.KillTask, out) == [do.KillTask(MachineId(1), last, 1)]
    assert made.run.outcome is do.BagOutcome.COMPLETE


@pytest.mark.parametrize("tail", ["random", "stochastic", "stochastic+random"])
def test_a_slower_machine_copies_nothing_of_a_faster_one(tail: str) -> None:
    made = bench(tail, 1, 10)
    made.join(1, 0)
    made.join(2, 0)
    assert sent(ends(made, 1, at=60)) == []


def test_equally_fast_a_task_is_expected_to_end_sooner_where_it_runs() -> None:
    made = bench("stochastic", 1, 1)
    made.join(1, 0)
    made.join(2, 0)
    assert sent(ends(made, 2, at=60)) == []


def test_what_has_run_for_almost_as_long_as_any_task_is_left_to_end() -> None:
    """Only chance copies it: the strategy of the thesis expects it to end at any moment."""
    for tail, copied in (("stochastic", 0), ("stochastic+random", 1)):
        made = bench(tail, 1, 2)
        made.join(1, 0)
        made.join(2, 18 * 60)
        assert len(sent(ends(made, 2, at=19 * 60 + 30))) == copied


def test_a_copy_that_fails_leaves_the_task_to_the_machine_that_still_runs_it() -> None:
    made = bench("stochastic", 1, 10, retries=0)
    made.join(1, 0)
    made.join(2, 0)
    last = runs_on(made, 1)
    ends(made, 2, at=60)
    assert only(do.Record, made.end(2, last, Outcome.FAILED, attempt=2, at=70)) == []
    assert only(do.Record, made.done(1, last, at=600))


def test_with_migration_a_slow_task_is_restarted_on_a_fast_machine_while_others_wait() -> None:
    """The original is cancelled: its machine begins what waits."""
    made = bench("migration+replication", 1, 10, tasks=4)
    made.join(1, 0)
    slow = runs_on(made, 1)
    out = made.join(2, 60)
    assert sent(out) == [slow]
    assert only(do.KillTask, out) == [do.KillTask(MachineId(1), slow, 1)]
    waiting = sent(made(Ended(MachineId(1), (Ending(slow, 1, Outcome.KILLED, 61),)), at=61))
    assert len(waiting) == 1
    assert waiting != [slow]


def test_without_migration_what_waits_comes_first() -> None:
    made = bench("stochastic", 1, 10, tasks=4)
    made.join(1, 0)
    assert sent(made.join(2, 60)) != [runs_on(made, 1)]


def by_the_definition(
    canonical: list[float], source: dict[int, tuple[float, float]], target: float
) -> int | None:
    """`source` is the speed and the time so far of each task; `target` the idle machine's speed."""
    best: tuple[float, int] | None = None
    for task, (speed, tau) in source.items():
        longer = [seconds for seconds in canonical if seconds > tau * speed]
        tc = fmean(longer) if longer else tau * speed
        remaining = tc / speed - tau
        if remaining > tc / target and (best is None or (remaining, -task) > best):
            best = remaining, -task
    return None if best is None else -best[1]


def test_the_task_copied_is_the_one_of_the_definition() -> None:
    copied = 0
    for seed in range(300):
        rng = random.Random(seed)
        speeds = [rng.choice([0.25, 0.5, 1.0, 2.0, 4.0]) for _ in range(rng.randint(2, 6))]
        speeds[0] = 1.0
        made = bench("stochastic", *speeds)
        since = {machine: 60.0 * rng.randint(0, 15) for machine in range(1, len(speeds) + 1)}
        for machine in sorted(since, key=lambda m: since[m]):
            made.join(machine, since[machine])
        now = 15 * 60.0 + rng.randint(1, 600)
        idle = rng.randint(1, len(speeds))
        target = speeds[idle - 1]
        running = {
            runs_on(made, machine): (speeds[machine - 1], now - since[machine])
            for machine in since
            if machine != idle
        }
        canonical = [*MINUTES * len(speeds), (now - since[idle]) * target]
        expected = by_the_definition(canonical, running, target)
        assert sent(ends(made, idle, at=now)) == ([] if expected is None else [expected]), seed
        copied += expected is not None
    assert 50 < copied < 250, "the definition is tried where it copies and where it does not"

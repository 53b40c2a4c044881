"""Who begins what waits, if each task goes to the slot that is free first."""

import random

from bats.master.brain.prediction.first_come import Slot, begun


def by_the_clock(slots: list[Slot], tasks: int) -> dict[int, int]:
    """The same by moving from moment to moment."""
    free, counts = [slot.free_at for slot in slots], {slot.machine: 0 for slot in slots}
    for _ in range(tasks):
        open_yet = [k for k, slot in enumerate(slots) if free[k] < slot.until]
        if not open_yet:
            break
        k = min(open_yet, key=lambda k: (free[k], k))
        counts[slots[k].machine] += 1
        free[k] += slots[k].task_seconds
    return counts


def test_every_task_goes_to_the_slot_that_is_free_first() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        slots = [
            Slot(
                rng.randrange(4),
                rng.choice([0.0, 1.0, rng.uniform(0, 9)]),
                rng.uniform(0.5, 5),
                rng.choice([float("inf"), rng.uniform(0, 9)]),
            )
            for _ in range(rng.randint(1, 9))
        ]
        tasks = rng.randint(0, 4 * len(slots))
        assert begun(slots, tasks) == by_the_clock(slots, tasks)


def test_of_very_many_tasks_each_has_its_share_by_its_speed() -> None:
    slots = [Slot(0, 0.0, 1.0), Slot(1, 60.0, 0.5), Slot(2, 0.0, 1.0, until=5.0)]
    shares = begun(slots, 1_000_000)
    assert abs(shares[1] / shares[0] - 2) < 0.001
    assert shares[2] == 5


def test_a_machine_that_comes_when_all_has_begun_begins_nothing() -> None:
    there = [Slot(0, 0.0, 10.0), Slot(1, 5.0, 10.0)]
    assert begun([*there, Slot(2, 15.0, 1.0)], 4)[2] == 0
    assert begun([*there, Slot(2, 14.0, 1.0)], 4)[2] == 1

"""Elevators learn to keep people waiting less than rules of thumb do."""

from collections import defaultdict
from random import Random

import pytest
import sarsa
from elevators import (
    CAPACITY,
    Building,
    NearestCallDispatcher,
    Passenger,
    RandomDispatcher,
    Situation,
)
from helpers.workload import result, run

BUILDING = Building(floors=5, ticks=400, arrivals=0.25)
NEAREST = (NearestCallDispatcher(), NearestCallDispatcher())


class Stay:
    """Leaves the car where it is."""

    def choose(self, situation: Situation) -> int:
        return situation.floor

    def observe(self, waiting: int) -> None:
        pass


class Watch(Stay):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def observe(self, waiting: int) -> None:
        self.waiting.append(waiting)


@pytest.mark.parametrize("seed", range(3))
def test_the_learned_policy_beats_chance_and_the_nearest_call(seed: int):
    epochs, last = 600, 30
    totals = sarsa.learn(BUILDING, epochs, 0.1, 0.2, 0.8, seed)
    days = [sarsa.day(BUILDING, seed, left) for left in range(last)]
    learned = sum(totals[-last:])
    anywhere = RandomDispatcher(BUILDING.floors, Random(seed))
    assert learned < 0.95 * sum(BUILDING.waiting_time(day, NEAREST) for day in days)
    assert learned < 0.6 * sum(BUILDING.waiting_time(day, (anywhere, anywhere)) for day in days)


@pytest.mark.parametrize("seed", range(3))
def test_who_has_learned_longer_waits_less_on_the_same_last_day(seed: int):
    untrained, trained = (
        sarsa.learn(BUILDING, epochs, 0.1, 0.2, 0.8, seed)[-1] for epochs in (1, 300)
    )
    assert trained < 0.5 * untrained


def test_a_car_takes_a_tick_per_floor_to_a_caller_who_then_waits_no_longer():
    passengers = [Passenger(tick=2, origin=3, destination=0)]
    assert BUILDING.waiting_time(passengers, NEAREST) == 3


def test_who_comes_while_the_car_is_under_way_waits_until_it_is_back():
    # To floor 4 at ticks 0-3, in at 4, down at 5-8 past the caller on floor 2, out at 9; the
    # second caller, of tick 1, is seen at 10: up at 10 and 11, in at 12.
    building = Building(floors=5, ticks=50, arrivals=0)
    passengers = [Passenger(0, 4, 0), Passenger(1, 2, 0)]
    assert building.waiting_time(passengers, (NearestCallDispatcher(), Stay())) == 4 + 11


def test_who_does_not_fit_into_either_car_waits_for_one_to_come_back():
    # Up at 1 and 2, out at 3, down at 4 and 5, in at 6.
    building = Building(floors=3, ticks=20, arrivals=0)
    always_to_the_lobby = RandomDispatcher(1, Random(0))
    dispatchers = (always_to_the_lobby, always_to_the_lobby)
    crowd = [Passenger(0, 0, 2)] * (2 * CAPACITY)
    assert building.waiting_time(crowd, dispatchers) == 0
    assert building.waiting_time([*crowd, Passenger(0, 0, 2)], dispatchers) == 6


def test_who_is_never_fetched_waits_until_the_day_ends():
    assert BUILDING.waiting_time([Passenger(390, 1, 0)], (Stay(), Stay())) == 10


def test_the_points_lost_in_a_day_are_its_waiting_time():
    watches = Watch(), Watch()
    total = BUILDING.waiting_time(sarsa.day(BUILDING, 1, 0), watches)
    assert [sum(watch.waiting) for watch in watches] == [total, total]


def test_a_day_has_the_announced_number_of_passengers_and_nobody_stays_on_his_floor():
    building = Building(floors=5, ticks=20_000, arrivals=0.25)
    day = building.draw_day(Random(3))
    assert len(day) == pytest.approx(5000, rel=0.05)
    assert all(p.origin != p.destination and 0 <= p.destination < 5 for p in day)
    assert sum(p.origin == 0 for p in day) / len(day) == pytest.approx(0.4, abs=0.03)


def test_one_step_of_learning_is_the_formula():
    here, there = Situation(0, 0, 0b10), Situation(1, 0, 0)
    values = defaultdict(lambda: [0.0, 0.0])
    values[here] = [-9.0, -2.0]
    values[there] = [-4.0, -5.0]
    car = sarsa.SarsaDispatcher(values, 0.0, 0.5, 0.8, Random(0))
    assert car.choose(here) == 1
    car.observe(1)
    car.observe(3)
    assert car.choose(there) == 0
    # R = -1 - 0.8*3, two ticks pass: Q + 0.5 (R + 0.8² Q' - Q)
    assert values[here] == [-9.0, pytest.approx(-2 + 0.5 * (-3.4 + 0.64 * -4 + 2))]


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    first, again, other = (run("sarsa", "--epochs", 5, "--seed", seed).stdout for seed in (7, 7, 8))
    assert first == again != ""
    assert other not in ("", first)


def test_the_result_is_the_last_epoch_beside_its_baselines():
    answer = result("sarsa", "--epochs", 3, "--seed", 2)
    assert answer["total_waiting_time"] == sarsa.learn(BUILDING, 3, 0.1, 0.2, 0.8, 2)[-1]
    day = sarsa.day(BUILDING, 2, 0)
    assert answer["baseline"]["nearest_call"] == BUILDING.waiting_time(day, NEAREST)
    assert answer["passengers"] == len(day)

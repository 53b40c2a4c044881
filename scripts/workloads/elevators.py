"""A building with two elevators, simulated tick by tick, and two dispatchers that do not learn.

Passengers come, and a free car (it has no riders and stands where it was sent, and nobody waits
there) is sent to a floor: this is the dispatcher's decision. All else is fixed: a car takes in
who waits where it stops, as many as fit, and brings them to their floors, the nearest first.
A stop takes a tick, and so does the way to the next floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol

CAPACITY = 4
LOBBY = 0
LOBBY_SHARE = 0.4  # of the trips begins at the lobby, as many end there; the rest go anywhere


class Passenger(NamedTuple):
    tick: int
    origin: int
    destination: int


class Situation(NamedTuple):
    """The view of a dispatcher: where its car is, where the other is bound, and who calls."""

    floor: int
    other_target: int
    calls: int  # bit f is set if somebody waits on floor f


class Dispatcher(Protocol):
    """Decides for one car."""

    def choose(self, situation: Situation, /) -> int:
        """The floor to which the car, now free, is sent; it may be the one where it stands."""

    def observe(self, waiting: int, /) -> None:
        """One tick has passed, in which so many passengers waited in the building."""


class RandomDispatcher:
    """Sends the car anywhere."""

    def __init__(self, floors: int, chance: Random) -> None:
        self.floors = floors
        self.chance = chance

    def choose(self, _situation: Situation) -> int:
        return self.chance.randrange(self.floors)

    def observe(self, _waiting: int) -> None:
        pass


class NearestCallDispatcher:
    """Sends the car to the nearest call, whatever the other car does; without calls it stays."""

    def choose(self, situation: Situation) -> int:
        here = situation.floor
        calling = [f for f in range(situation.calls.bit_length()) if situation.calls >> f & 1]
        return min(calling, key=lambda floor: abs(floor - here), default=here)

    def observe(self, _waiting: int) -> None:
        pass


@dataclass(slots=True)
class Car:
    floor: int = LOBBY
    target: int = LOBBY
    riders: list[int] = field(default_factory=list)  # their destinations

    def stop(self, queue: list[int]) -> None:
        """Let out who is there and take in who fits; then the riders say where to go."""
        self.riders = [rider for rider in self.riders if rider != self.floor]
        room = CAPACITY - len(self.riders)
        self.riders += queue[:room]
        del queue[:room]
        self.target = min(self.riders, key=lambda f: abs(f - self.floor), default=self.floor)

    def move(self) -> None:
        self.floor += (self.target > self.floor) - (self.target < self.floor)


@dataclass(frozen=True, slots=True)
class Building:
    floors: int
    ticks: int  # in a day
    arrivals: float  # the probability that a passenger comes in a tick

    def draw_day(self, chance: Random) -> list[Passenger]:
        """The passengers of a day, in the order of their coming."""
        return [
            Passenger(tick, *self.draw_trip(chance))
            for tick in range(self.ticks)
            if chance.random() < self.arrivals
        ]

    def draw_trip(self, chance: Random) -> tuple[int, int]:
        upper, kind = chance.randrange(1, self.floors), chance.random()
        if kind < LOBBY_SHARE:
            return LOBBY, upper
        if kind < 2 * LOBBY_SHARE:
            return upper, LOBBY
        return upper, (upper + chance.randrange(1, self.floors)) % self.floors

    def waiting_time(
        self, passengers: Sequence[Passenger], dispatchers: tuple[Dispatcher, Dispatcher]
    ) -> int:
        """Run one day: the ticks that all its passengers together waited until taken in."""
        queues: list[list[int]] = [[] for _ in range(self.floors)]
        first, second = Car(), Car()
        crew = ((first, second, dispatchers[0]), (second, first, dispatchers[1]))
        yet_to_come = list(reversed(passengers))
        total = waiting = 0
        for tick in range(self.ticks):
            while yet_to_come and yet_to_come[-1].tick == tick:
                passenger = yet_to_come.pop()
                queues[passenger.origin].append(passenger.destination)
                waiting += 1
            for car, other, dispatcher in crew:
                if car.floor == car.target:
                    queue = queues[car.floor]
                    if car.riders or queue:
                        waiting -= len(queue)
                        car.stop(queue)
                        waiting += len(queue)
                        continue
                    calls = sum(1 << floor for floor, queue in enumerate(queues) if queue)
                    car.target = dispatcher.choose(Situation(car.floor, other.target, calls))
                car.move()
            total += waiting
            for dispatcher in dispatchers:
                dispatcher.observe(waiting)
        return total

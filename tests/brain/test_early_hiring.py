"""Machines that any plan will want do not wait for the slowest kind's sample."""

import pytest
from helpers.workbench import MINUTE, offering

from bats.common.money import money
from bats.master.brain.books.phase import Phase
from bats.master.brain.engine import Engine
from bats.master.brain.protocol.events import Chosen
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.simulate.driver import Conditions, Simulation

SLOW_MINUTES, FAST_MINUTES = 20.0, 5.0


def before_the_choice(budget: int, *, price: int, **more: object) -> tuple[int, list[str]]:
    """The number of fast machines when the sample ends, and what was said until then."""
    seen: list[int] = []

    def look(engine: Engine) -> None:
        if engine.run.phase is Phase.SAMPLING:
            seen.append(len(engine.run.pool.staying(1)))

    offers = offering("slow", 1, machines=20), offering("fast", price, machines=20)
    minutes = SLOW_MINUTES, FAST_MINUTES
    simulation = Simulation(
        Settings(1000, offers, money(budget), **more),  # type: ignore[arg-type]
        lambda _task, cluster: minutes[cluster] * MINUTE,
        Conditions(answers=lambda _schedules, now: (now, Chosen("fastest"))),
        after_event=look,
    )
    history = simulation.run()
    chosen_at = simulation.engine.run.choice.at
    said = [words for at, words in history.decisions if at < chosen_at]
    assert said[0] == "7 slow + 7 fast to learn how long tasks take, by up to 30 of them"
    return seen[-1], said[1:]


@pytest.mark.parametrize(
    ("budget", "price", "fast", "why"),
    [
        (1000, 3, 20, "all are wanted, however slow the other kind is"),
        (260, 3, 17, "the money buys no more for so long, if the other kind is good for nothing"),
        (400, 6, 7, "they alone could not finish: the other kind decides how many there will be"),
    ],
)
def test_what_any_plan_wants_is_asked_for_while_a_slow_kind_holds_the_sample_up(
    budget: int, price: int, fast: int, why: str
) -> None:
    there, said = before_the_choice(budget, price=price)
    assert there == fast, why
    wanted = f"every plan wants {fast} fast, whatever the sample will show: {fast - 7} more, for "
    assert [words.startswith(wanted) for words in said] == [True] * (fast > 7)


def test_who_is_to_choose_a_schedule_is_not_forestalled() -> None:
    assert before_the_choice(1000, price=3, rule=ASK)[0] == 7

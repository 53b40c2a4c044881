"""From the sample to a plan: what is offered, and what becomes of the user's word."""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, offering, only, sent, settings

from bats.common.money import money
from bats.master.brain.books.phase import Phase
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Chosen, Woken

TEN_MINUTES = ((10 * MINUTE,) * 30,)


def asked(**more: object) -> tuple[Bench, dict[str, Schedule]]:
    """A hundred tasks of ten minutes, and what is offered for them."""
    bench = Bench(settings(100, offering(machines=10), rule="ask", known=TEN_MINUTES, **more))
    (offer,) = only(do.Offer, bench.begin())
    return bench, {one.name: one for one in offer.schedules}


def started(commands: list[do.Command]) -> int:
    return sum(len(start.machines) for start in only(do.StartMachines, commands))


def test_who_is_asked_is_shown_six_schedules_and_nothing_is_bought() -> None:
    bench, offers = asked()
    assert len(offers) == 6
    assert bench.run.phase is Phase.CHOOSING
    assert bench.run.pool.alive() == []


@pytest.mark.parametrize("rule", ["cheapest", "cheapest+10%", "fastest-10%", "fastest"])
def test_a_schedule_that_is_chosen_by_name_gets_its_money_and_its_machines(rule: str) -> None:
    """As in the paper: what is careful may take others for the same money."""
    bench, offers = asked(prudence=0.0)
    assert started(bench(Chosen(rule), 60)) == sum(offers[rule].mix)
    assert bench.run.ledger.limit == offers[rule].budget
    assert bench.run.choice.name == rule


def test_a_name_that_nothing_on_offer_has_leaves_the_budget_to_decide() -> None:
    bench, _ = asked()
    bench(Chosen("the one from yesterday", money(45)), 60)
    assert bench.run.choice.name == "budget"
    assert bench.run.ledger.limit == money(45)
    assert bench.run.pool.alive()


def test_a_schedule_that_costs_more_than_the_budget_is_not_taken_by_its_name() -> None:
    bench, offers = asked(budget=52)
    assert offers["fastest"].budget > money(52)
    bench(Chosen("fastest"), 60)
    assert bench.run.choice.name == "budget"
    assert bench.run.ledger.limit == money(52)


def test_a_budget_and_a_schedule_within_it_go_by_the_schedule() -> None:
    bench, offers = asked(prudence=0.0)
    bench(Chosen("cheapest", money(500)), 60)
    assert bench.run.ledger.limit == offers["cheapest"].budget
    assert bench.run.choice.name == "cheapest"


def test_who_changes_their_mind_gets_more_machines_for_more_money() -> None:
    bench, offers = asked(prudence=0.0)
    assert started(bench(Chosen("cheapest"), 60)) == 1
    assert started(bench(Chosen("fastest"), 120)) == 9
    assert bench.run.ledger.limit is not None
    assert bench.run.ledger.limit > offers["cheapest"].budget


def test_a_word_that_comes_before_the_sample_is_complete_waits_for_it() -> None:
    """At a replay: when it was said the sample was complete, which took fewer tasks then."""
    bench = Bench(settings(200, offering(machines=4), rule="ask"))
    bench.begin()
    for machine in list(bench.run.pool.alive()):
        bench.join(machine.id, 0)
    assert only(do.StartMachines, bench(Chosen("fastest", money(90)), 60)) == []
    assert bench.run.phase is Phase.SAMPLING
    while bench.run.phase is Phase.SAMPLING:
        at = bench.now + 10 * MINUTE
        for machine in list(bench.run.pool.alive()):
            for task in list(machine.active):
                bench.done(machine.id, task, machine.active[task].attempt, at=at)
    assert bench.run.phase is Phase.EXECUTING
    assert bench.run.ledger.limit == money(90)


def test_what_is_told_as_spent_beside_an_offer_is_what_the_choice_counts_from() -> None:
    """Paid time to come, reserved for what still runs of the sample, is in the offers' prices."""
    bench = Bench(settings(300, offering(machines=4), rule="ask"))
    bench.begin()
    for machine in list(bench.run.pool.alive()):
        bench.join(machine.id, 0)
    out: list[do.Command] = []
    while not only(do.Offer, out):
        machine = min(bench.run.pool.alive(), key=lambda one: one.done_count)
        task, attempt = next(iter(machine.active.items()))
        at = bench.now + 10 * MINUTE
        out += bench.done(machine.id, task, attempt.attempt, at=at)
    spent = bench.engine.spent
    assert 0 < spent <= bench.engine.committed
    bench(Chosen("fastest"), bench.now)
    assert bench.engine.headline().chosen_committed == spent


def test_what_is_offered_keeps_up_with_what_is_learned_while_its_user_thinks() -> None:
    bench = Bench(settings(300, offering(machines=4), rule="ask"))
    bench.begin()
    for machine in list(bench.run.pool.alive()):
        bench.join(machine.id, 0)
    out: list[do.Command] = []
    while not only(do.Offer, out):
        at = bench.now + 10 * MINUTE
        for machine in list(bench.run.pool.alive()):
            for task in list(machine.active):
                out += bench.done(machine.id, task, machine.active[task].attempt, at=at)
    (first,) = only(do.Offer, out)
    at = bench.now + 50 * MINUTE
    for machine in list(bench.run.pool.alive()):
        for task in list(machine.active):
            out += bench.done(machine.id, task, machine.active[task].attempt, at=at)
    out += bench(Woken(), bench.run.next_monitor)
    _, *later = only(do.Offer, out)
    assert later
    assert later[-1].schedules[0].makespan_seconds > first.schedules[0].makespan_seconds


def test_a_deadline_that_is_missed_already_is_told_and_the_bag_goes_on() -> None:
    bench, _ = asked()
    out = bench(Chosen("fastest", money(500), deadline_seconds=MINUTE), HOUR)
    assert started(out) == 10
    assert any("As it is, it goes on" in one.words for one in only(do.Decided, out))


def test_a_sample_that_was_the_whole_bag_leaves_nothing_to_choose() -> None:
    bench = Bench(settings(2, offering(machines=2), rule="ask"))
    out = bench.begin()
    for machine in list(bench.run.pool.alive()):
        out += bench.join(machine.id, 0)
    at = 0.0
    while bench.run.outcome is None:
        at += 10 * MINUTE
        for machine in list(bench.run.pool.alive()):
            for task in list(machine.active):
                out += bench.done(machine.id, task, machine.active[task].attempt, at=at)
    assert only(do.Offer, out) == []
    assert set(sent(out)) == {0, 1}

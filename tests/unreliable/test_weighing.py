"""A strategy that is chosen by what the bag itself shows, and weighed again at T_tail."""

from dataclasses import replace
from statistics import fmean

import pytest
from helpers.spot import Ran, Spot
from helpers.workbench import Bench, only, settings

from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.engine import replay
from bats.master.brain.policies.known_pools import weighing
from bats.master.brain.protocol.commands import Decided
from bats.master.brain.protocol.events import Preferred, Silent, Weighed
from bats.master.brain.protocol.journal import event_from, plain
from bats.master.brain.unreliable.estimator import estimate
from bats.master.brain.unreliable.notation import read
from bats.master.brain.unreliable.pools import Found, Situation
from bats.master.brain.unreliable.strategy import static

SPOT = Spot(60, 10, 6, 60.0, "0.017", "0.5", silent=0.17, hazard_per_hour=0.1, boot=60.0)


def weighed(ran: Ran) -> list[tuple[float, Weighed]]:
    return [(at, event) for at, event in ran.history.events if isinstance(event, Weighed)]


def test_a_strategy_is_weighed_once_results_tell_and_again_when_the_tail_begins():
    ran = SPOT.run("product")
    assert ran.complete
    (first, told), (again, last) = weighed(ran)
    assert first < again == ran.simulation.engine.run.instances.tail_at
    assert told.kept
    assert last.kept
    assert told.efficient > 1
    words = [text for _, text in ran.history.decisions if text.startswith("strategy ")]
    assert len(words) == 2, ran.history.decisions


@pytest.mark.parametrize("rule", ["cheapest", "cost + 2 * makespan"])
def test_what_is_told_of_the_chosen_strategy_is_what_it_comes_to(rule: str):
    errors = []
    for seed in range(8):
        ran = SPOT.run(rule, seed=seed)
        at, told = weighed(ran)[-1]
        errors.append((ran.seconds / (at + told.seconds) - 1, ran.cost / (told.cost / 1e9) - 1))
    assert abs(fmean(time for time, _ in errors)) < 0.15, errors
    assert abs(fmean(cost for _, cost in errors)) < 0.15, errors


def test_within_a_budget_no_strategy_is_taken_that_would_surely_exceed_it():
    dear = SPOT.run("fastest", seed=3)
    cheap = SPOT.run("fastest", budget=f"{0.7 * dear.cost:.2f}", seed=3)
    assert cheap.complete
    assert cheap.cost <= 0.7 * dear.cost


def test_the_strategy_that_the_user_prefers_stands_and_nothing_is_weighed_after_it():
    before = weighed(SPOT.run("product"))[0][0]
    simulation = SPOT.simulation("product")
    simulation.tell(Preferred("N=0 T=0 D=100 M_r=0.6"), before + 1.0)
    ran = Ran(simulation, simulation.run(until=5e6))
    assert ran.complete
    assert [at for at, _ in weighed(ran)] == [before], "not again at T_tail"
    assert simulation.engine.strategy() == "N=0 T=0 D=100 M_r=0.6"
    words = [text for _, text in ran.history.decisions]
    assert "strategy N=0 T=0 D=100 M_r=0.6, as its user wants" in words
    machines = ran.simulation.engine.run.pool.machines.values()
    reliable = sum(machine.offering.reliable for machine in machines)
    assert reliable == 6, "all that there may be"
    again = replay(SPOT.settings("product"), [(at, event_from(plain(event)))
                                              for at, event in ran.history.events])  # fmt: skip
    assert again.digest() == simulation.engine.digest()


def _asked() -> Bench:
    """A bag that has asked which strategy to go on with."""
    it = Bench(SPOT.settings("product"))
    it.begin()
    simulation = SPOT.simulation("product")
    simulation.run(until=weighed(SPOT.run("product"))[0][0] + 1.0)
    it.run.instances.asked = weighing(simulation.engine.run, "product")
    assert it.run.instances.asked is not None
    return it


def test_a_strategy_that_is_preferred_while_others_are_weighed_is_not_outweighed():
    it = _asked()
    it(Preferred("AUR"), 1.0)
    it(Weighed("TRR", 10.0, money(1), 5, kept=True), 2.0)
    assert it.engine.strategy() == "AUR"


def test_what_is_told_counts_from_when_it_was_asked_however_long_was_thought_about_it():
    it = _asked()
    it.run.instances.asked_at = 100.0
    (decided,) = only(Decided, it(Weighed("TRR", 50.0, money(1), 5, kept=True), 120.0))
    told = it.run.instances.weighed
    assert told is not None
    assert (told.seconds, told.at) == (150.0 - it.run.began_at, 100.0)
    assert "the rest should take 30 s" in decided.words


def test_a_replay_takes_the_answer_from_the_journal():
    ran = SPOT.run("product")
    again = replay(SPOT.settings("product"), ran.history.events)
    assert again.view() == ran.simulation.engine.view()
    assert again.run.instances.weighed == ran.simulation.engine.run.instances.weighed


def test_who_goes_on_with_reliable_machines_alone_pays_the_others_to_the_end_of_what_they_run():
    world = replace(SPOT.world(), found=Situation((Found(100.0, 50.0),) * 10, (), 1.0))
    (ahead,) = estimate(world, [static("AR", world, 0.6, 0.0)], 20)
    (none,) = estimate(replace(world, found=None), [static("AR", world, 0.6, 0.0)], 20)
    (fewer,) = estimate(replace(world, found=None, tasks=50), [static("AR", world, 0.6, 0.0)], 20)
    assert fewer.cost < ahead.cost < none.cost, "ten of sixty tasks are done by cheap machines"


def test_an_estimate_from_the_middle_of_a_bag_agrees_with_one_from_its_beginning():
    """Ten minutes in, on machines that have all just begun, nothing is known but the time."""
    world = SPOT.world()
    strategy = read("N=2 T=2000 D=4000 M_r=0.1").strategy
    (whole,) = estimate(world, [strategy], 200)
    begun = Situation((Found(0.0, 0.0),) * SPOT.machines, (), 1 - SPOT.silent)
    (rest,) = estimate(replace(world, found=begun), [strategy], 200)
    assert rest.seconds == pytest.approx(whole.seconds - SPOT.boot, rel=0.03)
    assert rest.cost == pytest.approx(whole.cost, rel=0.03)


def test_what_a_silent_machine_has_cost_is_spent_and_that_of_those_that_go_on_is_still_to_come():
    spot = Offering(ClusterName("spot"), money(1), 3600.0, 3, reliable=False)
    sure = Offering(ClusterName("sure"), money(30), 3600.0, 3)
    it = Bench(settings(9, spot, sure, tail="ntdmr", strategy="product"))
    it.begin()
    for machine in (1, 2, 3):
        it.join(machine)
    it.done(1, next(iter(it.run.pool.machines[MachineId(1)].active)), at=100.0)
    before = weighing(it.run, "product")
    it(Silent(MachineId(2)), 110.0)
    after = weighing(it.run, "product")
    assert before is not None
    assert after is not None
    assert (before.spent, after.spent) == (0.0, 1.0)

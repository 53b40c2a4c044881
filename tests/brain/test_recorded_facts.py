"""What a store says beside the journal goes before what would be decided today."""

from helpers.workbench import MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, TaskId
from bats.common.money import money
from bats.master.brain.books.machine import MachineState
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Asked, Cause, Closed, GivenUp, Gone

KNOWN = ((10 * MINUTE,) * 30,) * 2


def test_a_machine_that_was_asked_for_is_in_the_books_whatever_would_be_asked_for_today() -> None:
    bench = Bench(settings(90, offering("a", 3), offering("b", 5), budget=300, known=KNOWN))
    bench.begin()
    before = bench.run.ledger.reserved
    bench(Asked(MachineId(40), 1, 0.0), 10)
    assert bench.run.pool.machines[MachineId(40)].cluster == 1
    assert bench.run.ledger.reserved == before + money(5)
    assert sent(bench.join(40, 60))


def test_a_machine_of_that_number_that_was_never_asked_for_costs_nothing() -> None:
    bench = Bench(settings(90, offering("a", 3), offering("b", 5), budget=300, known=KNOWN))
    bench.begin()
    ours = bench.run.pool.machines[MachineId(1)]
    before = bench.run.ledger.reserved
    bench(Asked(MachineId(1), 1, 0.0), 10)
    assert ours.state is MachineState.GONE
    assert bench.run.pool.machines[MachineId(1)].cluster == 1
    assert bench.run.ledger.reserved == before - money(3) + money(5)
    assert bench.run.ledger.settled == 0


def test_the_next_machine_gets_a_number_that_none_had() -> None:
    bench = Bench(settings(90, offering("a", 3, machines=2), budget=300, known=KNOWN[:1]))
    bench.begin()
    bench(Asked(MachineId(40), 0, 0.0), 10)
    out = bench(Gone(MachineId(1), 20, Cause.FAILED), 20)
    out += bench(Gone(MachineId(2), 20, Cause.FAILED), 20)
    numbers = [machine for start in only(do.StartMachines, out) for machine in start.machines]
    assert numbers
    assert min(numbers) > 40


def test_tasks_that_were_given_up_stay_so_and_what_is_done_stays_done() -> None:
    bench = Bench(settings(3, free()))
    bench.begin()
    (done,) = sent(bench.join(1, 0))
    bench.done(1, done, at=10)
    failed = next(task for task in range(3) if task not in (done, *bench.run.tasks.running))
    bench(GivenUp((TaskId(done), TaskId(failed))), 20)
    (running,) = bench.run.tasks.running
    bench.done(1, running, at=30)
    (end,) = [bench.run.outcome]
    assert end is do.BagOutcome.WITH_FAILURES
    assert bench.run.tasks.done == 2


def test_a_bag_that_was_closed_is_closed_again_with_its_own_words() -> None:
    bench = Bench(settings(90, offering(machines=2), budget=300, known=KNOWN[:1]))
    bench.begin()
    out = bench(Closed("out of budget", "as it was told then"), 10)
    assert only(do.EndBag, out) == [do.EndBag(do.BagOutcome.OUT_OF_BUDGET, "as it was told then")]
    assert only(do.EndBag, bench(Closed("cancelled", "told again"), 20)) == []

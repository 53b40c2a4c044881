"""A bag whose first dozen tasks fail alike is paused: nothing is begun or bought until its user
says so; then it goes on, whatever it was doing.
"""

import pytest
from helpers.workbench import HOUR, MINUTE, Bench, free, offering, only, sent, settings

from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import money
from bats.master.brain.books.phase import Phase
from bats.master.brain.books.taskbook import TaskState
from bats.master.brain.engine import replay
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import (
    Announced,
    Cancelled,
    Cause,
    Charged,
    Chosen,
    Collecting,
    Ended,
    Ending,
    Event,
    Found,
    Gone,
    Resumed,
    Retried,
    SetAside,
    Suspended,
    Woken,
)
from bats.master.brain.protocol.journal import event_from, plain, plain_settings, settings_from
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.told.view import view
from bats.master.simulate.driver import Conditions, Simulation

NO_FILE = "exit code 2, 'No such file: mising.py'"


class Failing(Bench):
    """Machines on which every task fails after a second, unless told otherwise."""

    def __init__(self, of: Settings) -> None:
        super().__init__(of)
        self.told: list[tuple[float, Event]] = []
        self.killed: set[int] = set()  # tasks

    def __call__(self, event: Event, at: float | None = None) -> list[do.Command]:
        self.told.append((self.now if at is None else at, event))
        commands = super().__call__(event, at)
        self.killed |= {kill.task for kill in only(do.KillTask, commands)}
        return commands

    def fail(self, why: str = NO_FILE, outcome: Outcome = Outcome.FAILED) -> list[do.Command]:
        """The next running task fails."""
        machine = next(m for m in self.run.pool.alive() if m.active)
        attempt = next(iter(machine.active.values()))
        self.now += 1
        ending = Ending(attempt.task, attempt.attempt, outcome, self.now - attempt.since, why)
        return self(Ended(machine.id, (ending,)))

    def fail_until_paused(self, why: str = NO_FILE) -> list[do.Command]:
        for _ in range(1000):
            out = self.fail(why)
            if self.run.pause is not None:
                return out
        raise AssertionError("it never pauses")

    def clear(self) -> None:
        """All that is paid for ends, and every machine that was told to stop is gone."""
        while machines := self.run.pool.alive():
            if self.run.pool.alarms:
                self(Woken(), max(self.now, self.run.pool.alarms[0][0]))
            for machine in machines:
                if machine.alive and machine.state.value == "stopping":
                    self(Gone(machine.id, self.now, Cause.STOPPED))


def working(tasks: int = 100, **more: object) -> Failing:
    """Four machines of an offering, in the middle of the bag."""
    of = settings(tasks, offering(machines=4), budget=100, known=((600.0,) * 30,), **more)
    bench = Failing(of)
    bench.begin()
    assert bench.run.phase is Phase.EXECUTING
    for machine in list(bench.run.pool.machines):
        bench(Charged(machine, 0.0), 0)
        bench.join(machine, 0)
    return bench


def test_the_first_dozen_tasks_that_fail_alike_pause_the_bag_with_their_own_words() -> None:
    bench = working()
    for _ in range(11):
        bench.fail()
    assert bench.run.pause is None
    (paused,) = only(do.Paused, bench.fail())
    assert paused.pause.reason == f"the first 12 tasks all failed alike: {NO_FILE}"
    assert paused.pause.task in range(100)
    assert bench.run.phase is Phase.EXECUTING


def test_they_are_counted_by_tasks_and_not_by_attempts() -> None:
    bench = working(retries=5)
    tasks: set[int] = set()
    while bench.run.pause is None:
        tasks |= set(bench.run.tasks.running)
        bench.fail()
    assert len(bench.run.tasks.failures) == 12
    assert bench.run.tasks.counts[TaskState.FAILED] == 0


def test_a_task_that_succeeds_shows_that_the_sweep_is_not_broken() -> None:
    bench = working()
    for _ in range(11):
        bench.fail()
    machine = next(m for m in bench.run.pool.alive() if m.active)
    (task, *_) = machine.active
    bench.done(machine.id, task, machine.active[task].attempt, at=bench.now + 1)
    for _ in range(30):
        bench.fail()
    assert bench.run.pause is None


def test_failures_of_several_kinds_are_no_reason_to_pause() -> None:
    bench = working()
    for number in range(40):
        bench.fail(NO_FILE if number % 2 else "ended by signal 11")
    assert bench.run.pause is None


def test_numbers_make_no_difference_and_exit_codes_do() -> None:
    bench = working()
    for number in range(12):
        bench.fail(f"exit code 1, 'line {number}: cannot open /data/{number}.csv at 0x7f{number}'")
    assert bench.run.pause is not None
    bench = working()
    for number in range(40):
        bench.fail(f"exit code {number % 2 + 1}, 'no'")
    assert bench.run.pause is None


def test_failures_of_which_nothing_is_told_are_none_to_judge_by() -> None:
    """As in journals of version 0.1.0: what happened then is replayed as it happened."""
    bench = working()
    for _ in range(40):
        bench.fail("")
    assert bench.run.pause is None


def test_a_bag_smaller_than_a_dozen_ends_as_it_always_did() -> None:
    bench = Failing(settings(11, free(machines=2), retries=1))
    bench.begin()
    bench.join(1)
    while not bench.run.outcome:
        bench.fail()
    assert bench.run.outcome is do.BagOutcome.WITH_FAILURES
    assert "11 failed" in only(do.EndBag, bench.run.out)[0].words


def test_a_dozen_tasks_that_were_the_whole_bag_end_it() -> None:
    bench = Failing(settings(12, free(machines=2), retries=0))
    bench.begin()
    bench.join(1)
    while not bench.run.outcome:
        bench.fail()
    assert bench.run.pause is None


def test_a_paused_bag_begins_nothing_and_buys_nothing() -> None:
    bench = working()
    out = bench.fail_until_paused()
    out += bench.fail() + bench.fail() + bench.fail()
    limit = bench.run.ledger.committed
    for event in (
        SetAside(0, "gone"),
        Announced(MachineId(1), "the provider needs it"),
        Chosen("fastest", money(1000)),
        Woken(),
    ):
        out += bench(event, bench.now + MINUTE)
    bench.clear()
    assert not sent(out)
    assert not only(do.StartMachines, out)
    assert bench.run.ledger.committed <= limit
    assert not bench.run.pool.alive()
    assert bench.run.pause is not None
    assert bench.run.outcome is None
    assert not only(do.WakeAt, bench(Woken(), 9 * HOUR)), "nobody need look at it"


def test_what_runs_may_end_within_its_paid_time_and_machines_leave_with_the_reason() -> None:
    bench = working()
    bench.fail_until_paused()
    running = sum(len(m.active) for m in bench.run.pool.alive())
    assert running == 3
    machine = next(m for m in bench.run.pool.alive() if m.active)
    (task,) = machine.active
    out = bench.done(machine.id, task, machine.active[task].attempt, at=bench.now + MINUTE)
    assert only(do.Record, out)
    assert not only(do.StopMachine, out)
    stops = only(do.StopMachine, bench(Woken(), HOUR))
    assert {stop.machine for stop in stops} == {m.id for m in bench.run.pool.alive()}
    assert {stop.reason for stop in stops} == {"the bag is paused"}


def test_machines_that_cost_nothing_yet_are_called_off_and_free_ones_leave_when_idle() -> None:
    bench = Failing(
        settings(100, free(machines=2), offering(machines=4), budget=100, known=((9.0,) * 30,) * 2)
    )
    bench.begin()
    desks = list(bench.run.pool.living[0])
    asked = list(bench.run.pool.living[1])
    assert len(desks) == 2
    assert asked
    for machine in desks:
        bench.join(machine, 0)
    out = bench.fail_until_paused()
    assert {stop.machine for stop in only(do.StopMachine, out)} >= set(asked)
    out += bench.fail()
    assert {stop.machine for stop in only(do.StopMachine, out)} == {*asked, *desks}


def test_what_is_queued_on_machines_is_called_back() -> None:
    bench = Failing(settings(5000, free(machines=1)))
    bench.begin()
    bench.join(1)
    machine = bench.run.pool.machines[MachineId(1)]
    machine.done_count, machine.done_seconds = 1, 0.001  # as after very short tasks
    bench.fail()
    queued = {attempt.task for attempt in machine.queued}
    assert len(queued) > 20
    bench.fail_until_paused()
    bench(Woken())
    queued = {attempt.task for attempt in machine.queued}
    assert queued
    assert queued <= bench.killed
    for task in queued:
        bench(Ended(MachineId(1), (Ending(TaskId(task), 1, Outcome.KILLED, 0.0),)))
    assert not machine.queued


def test_resumed_it_goes_on_and_tries_again_what_had_failed() -> None:
    bench = working(retries=0)
    bench.fail_until_paused()
    bench.fail()  # one that still ran
    assert bench.run.tasks.counts[TaskState.FAILED] == 13
    bench.clear()
    out = bench(Resumed(), bench.now + 5 * HOUR)
    assert bench.run.pause is None
    assert bench.run.tasks.counts[TaskState.FAILED] == 0
    assert only(do.StartMachines, out)
    assert only(do.WakeAt, out)
    for machine in list(bench.run.pool.alive()):
        out += bench.join(machine.id, bench.now)
    assert sent(out)


def test_tasks_that_failed_and_have_tries_left_are_told_while_they_pause_it() -> None:
    bench = working(retries=1)
    bench.fail_until_paused()
    told = view(bench.run, bench.now)
    assert told.failed + told.failing == 12
    bench(Resumed(), bench.now + 1)
    assert view(bench.run, bench.now).failing == 0


def test_the_time_in_which_it_stood_still_is_told_be_it_paused_or_ended() -> None:
    bench = working()
    bench.fail_until_paused()
    bench(Resumed(), bench.now + 5 * HOUR)
    assert view(bench.run, bench.now).stood_still == 5 * HOUR
    bench(Cancelled("the user had enough"))
    bench.clear()
    ended = bench.run.ended_at
    assert ended is not None
    tasks = [TaskId(k) for k, state in enumerate(bench.run.tasks.states) if state != TaskState.DONE]
    bench(Retried(tuple(tasks)), ended + HOUR)
    assert bench.run.ended_at is None
    assert view(bench.run, bench.now).stood_still == 6 * HOUR


def test_machines_that_are_still_there_are_used_at_once_when_it_is_resumed() -> None:
    bench = working()
    bench.fail_until_paused()
    bench.fail()
    idle = [m.id for m in bench.run.pool.alive() if not m.active]
    assert len(idle) == 2
    out = bench(Resumed(), bench.now + MINUTE)
    assert {command.machine for command in only(do.RunTasks, out)} == set(idle)


def test_after_it_was_resumed_another_dozen_alike_pauses_it_again() -> None:
    bench = working()
    bench.fail_until_paused()
    bench(Resumed())
    assert bench.run.pause is None
    assert len(bench.run.tasks.failures) == 0
    bench.fail_until_paused()
    assert len(bench.run.tasks.failures) == 12


def test_resuming_what_is_not_paused_changes_nothing() -> None:
    bench = working()
    before = bench.run.ledger.committed
    assert not only(do.RunTasks, bench(Resumed()))
    assert bench.run.ledger.committed == before


def test_to_try_tasks_again_is_a_word_to_go_on_too() -> None:
    bench = working(max_failures=3, retries=0)
    bench.fail_until_paused()
    failed = [TaskId(k) for k, state in enumerate(bench.run.tasks.states) if state == 3]
    assert len(failed) == 3
    bench(Retried(tuple(failed)))
    assert bench.run.pause is None
    assert bench.run.tasks.counts[TaskState.FAILED] == 0


def test_a_paused_bag_can_be_cancelled() -> None:
    bench = working()
    bench.fail_until_paused()
    bench(Cancelled("the user had enough"))
    assert bench.run.outcome is do.BagOutcome.CANCELLED
    assert bench.run.pause is None
    bench.clear()
    assert bench.engine.over


@pytest.mark.parametrize("limit", [1, 5])
def test_a_limit_on_failed_tasks_counts_all_of_them_alike_or_not(limit: int) -> None:
    bench = working(max_failures=limit, retries=0)
    machine = next(m for m in bench.run.pool.alive() if m.active)
    (task,) = machine.active
    bench.done(machine.id, task, machine.active[task].attempt, at=bench.now + 1)
    for number in range(limit - 1):
        bench.fail(f"exit code {number + 1}, 'no'")
    assert bench.run.pause is None
    (paused,) = only(do.Paused, bench.fail())
    assert f"{limit} task" in paused.pause.reason
    assert f"max_failures = {limit}" in paused.pause.reason
    assert NO_FILE in paused.pause.reason


def test_a_limit_on_failed_tasks_counts_those_given_up_and_takes_the_place_of_the_dozen() -> None:
    bench = working(max_failures=20, retries=1)
    while bench.run.pause is None:
        bench.fail()
    assert bench.run.tasks.counts[TaskState.FAILED] == 20


def test_resumed_at_its_limit_as_many_more_may_fail_and_what_failed_stays() -> None:
    bench = working(max_failures=4, retries=0)
    bench.fail_until_paused()
    bench(Resumed())
    assert bench.run.tasks.counts[TaskState.FAILED] == 4
    bench.fail_until_paused()
    assert bench.run.tasks.counts[TaskState.FAILED] == 8


def test_a_machine_that_turns_out_to_live_is_paid_for_and_stopped_while_paused() -> None:
    bench = working()
    first = MachineId(1)
    bench(Gone(first, bench.now, Cause.FAILED, "lost"))
    bench.fail_until_paused()
    out = bench(Found(first, unpaid_since=bench.now), bench.now + MINUTE)
    assert [stop.machine for stop in only(do.StopMachine, out)] == [first]
    assert bench.run.ledger.reserved_for(first)


def test_what_is_seen_of_a_paused_run_says_so() -> None:
    bench = working()
    assert view(bench.run, bench.now).paused is None
    bench.fail_until_paused()
    seen = view(bench.run, bench.now)
    assert seen.paused is not None
    assert seen.paused.reason == f"the first 12 tasks all failed alike: {NO_FILE}"
    assert seen.paused.since == bench.now
    assert seen.eta_seconds is None


def test_it_is_paused_anew_when_its_journal_is_replayed() -> None:
    bench = working(retries=0)
    bench.fail_until_paused()
    bench.clear()
    written = [(now, plain(event)) for now, event in bench.told]
    of = settings_from(plain_settings(bench.run.settings))
    again = replay(of, [(now, event_from(event)) for now, event in written])
    assert again.run.pause == bench.run.pause
    again.handle(Resumed(), bench.now)
    bench(Resumed())
    assert view(again.run, bench.now) == view(bench.run, bench.now)


def test_journals_of_version_0_1_0_are_read_as_they_were_written() -> None:
    flat = [3, 1, int(Outcome.FAILED), 2.5, 4, 1, int(Outcome.DONE), 0.5]
    assert event_from([5, 7, flat]) == Ended(
        MachineId(7),
        (
            Ending(TaskId(3), 1, Outcome.FAILED, 2.5, ""),
            Ending(TaskId(4), 1, Outcome.DONE, 0.5, ""),
        ),
    )
    assert plain(event_from([5, 7, flat])) == [5, 7, flat]


def test_a_user_pauses_a_run_and_what_runs_may_end() -> None:
    bench = Bench(settings(10, offering("desk", 0, machines=1)))
    bench.begin()
    (task,) = sent(bench.join(1))
    (paused,) = only(do.Paused, bench(Suspended("lunch"), 5.0))
    assert paused.pause.reason == "lunch"
    assert sent(bench.done(1, task, at=9.0)) == []
    assert bench.run.tasks.done == 1
    assert bench.engine.needs == 0


def test_why_an_attempt_failed_and_that_a_run_was_resumed_is_read_back_from_the_journal() -> None:
    endings = (
        Ending(TaskId(3), 1, Outcome.DONE, 2.5),
        Ending(TaskId(4), 2, Outcome.FAILED, 0.5, NO_FILE),
        Ending(TaskId(5), 1, Outcome.TIMED_OUT, 9.0, "ran longer than its time limit"),
    )
    for event in (Ended(MachineId(7), endings), Suspended("lunch"), Resumed()):
        assert event_from(plain(event)) == event


MENDED = 2 * HOUR


def story(seed: int, *, rule: str, resumed: int = 1) -> Simulation:
    """A bag on two kinds of machines; its user resumes it every two hours, and at last mends it."""

    def error(task: TaskId, now: float) -> str:
        return f"exit code 1, 'NameError in task {task}'" if now < resumed * MENDED else ""

    offerings = (offering("slow", 1, machines=4), offering("fast", 3, machines=4))
    of = settings(
        200, *offerings, budget=None if rule == "ask" else 200, rule=rule, retries=0, seed=seed
    )
    world = Conditions(
        start_seconds=lambda rng, _cluster: rng.uniform(10, 90),
        error=error,
        answers=lambda _schedules, now: (now + MINUTE, Chosen("fastest")),
    )

    def runtimes(task: TaskId, cluster: int) -> float:
        return (300.0 + 17 * (task % 31)) / (1 + cluster)

    simulation = Simulation(of, runtimes, world, seed, keep_events=True,
                            after_event=lambda engine: engine.check())  # fmt: skip
    for k in range(resumed):
        simulation.tell(Resumed(), (k + 1) * MENDED + MINUTE)
    simulation.run()
    return simulation


@pytest.mark.parametrize("rule", ["ask", "fastest"])
@pytest.mark.parametrize("seed", range(5))
def test_a_bag_that_fails_in_its_sample_is_paused_resumed_and_completes(
    seed: int, rule: str
) -> None:
    simulation = story(seed, rule=rule)
    history = simulation.history
    (paused,) = (at for at, words in history.decisions if words.startswith("paused: "))
    assert paused < HOUR
    spent = {machine: at for machine, (_, since, at) in history.uptimes.items() if since < MENDED}
    assert max(spent.values()) <= paused + HOUR, "machines end with the ATU that was paid for"
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE, history.end.words
    observed = simulation.engine.run.clusters
    assert all(c.profile.count for c in observed), "the sample is taken again"
    assert not any(c.line.doubt for c in observed)


def test_a_sample_may_be_resumed_as_often_as_its_user_likes() -> None:
    """Without a budget it is BaTS that limits what a sample may cost: so much each time."""
    history = story(1, rule="ask", resumed=8).history
    assert sum(words.startswith("paused: ") for _, words in history.decisions) == 8
    assert history.end is not None
    assert history.end.outcome is do.BagOutcome.COMPLETE, history.end.words


@pytest.mark.parametrize("seed", range(3))
def test_a_paused_story_is_replayed_step_by_step(seed: int) -> None:
    simulation = story(seed, rule="fastest")
    of = simulation.engine.run.settings
    history = simulation.history
    again = replay(of, [(now, event_from(plain(event))) for now, event in history.events])
    assert view(again.run, again.run.now) == view(simulation.engine.run, again.run.now)


def test_a_bag_that_waits_for_a_choice_can_be_paused_and_chosen_of() -> None:
    """What the sample's machines run on while nobody answers may fail too."""
    bench = Failing(settings(300, offering(machines=8), rule="ask", max_failures=3, retries=0))
    bench.begin()
    for machine in list(bench.run.pool.machines):
        bench(Charged(machine, 0.0), 0)
        bench.join(machine, 0)
    while bench.run.phase is Phase.SAMPLING:
        machine = next(m for m in bench.run.pool.alive() if m.active)
        (task,) = machine.active
        bench.done(machine.id, task, machine.active[task].attempt, at=bench.now + 20)
    assert bench.run.phase is Phase.CHOOSING
    bench.fail_until_paused()
    bench.clear()
    out = bench(Chosen("fastest"), bench.now + HOUR)
    assert bench.run.phase is Phase.EXECUTING
    assert bench.run.choice.name == "fastest"
    assert not only(do.StartMachines, out)
    assert only(do.StartMachines, bench(Resumed(), bench.now + HOUR))


def test_a_sample_of_which_all_fail_goes_on_until_it_pauses() -> None:
    bench = Bench(settings(20, offering(machines=1), rule="fastest", retries=0))
    bench.begin()
    (task,) = sent(bench.join(1, 0))
    for k in range(11):
        ending = Ending(TaskId(task), 1, Outcome.FAILED, 1.0, "exit code 1")
        (task,) = sent(bench(Ended(MachineId(1), (ending,)), k + 1.0))
    ending = Ending(TaskId(task), 1, Outcome.FAILED, 1.0, "exit code 1")
    bench(Ended(MachineId(1), (ending,)), 12.0)
    assert bench.run.pause is not None


@pytest.mark.parametrize("price", [0, 3])
def test_while_files_come_from_a_machine_its_paused_bag_is_not_woken_again_and_again(
    price: int,
) -> None:
    bench = Bench(settings(9, offering(price=price, machines=1, atu=MINUTE), budget=900))
    bench.begin()
    (task,) = sent(bench.join(1, 0))
    bench(Suspended("lunch"), 10)
    bench(Collecting(MachineId(1), ((TaskId(task), 1),)), 2 * MINUTE)
    for _ in range(3):
        for wake in only(do.WakeAt, bench(Woken(), bench.now)):
            assert wake.at > bench.now

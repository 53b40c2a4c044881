"""Tasks that wait for others: none begins too early, what cannot be done any more is cut off."""

import random
import tracemalloc

import msgpack
import pytest
from helpers.workbench import HOUR, Bench, free, offering, only, sent, settings

from bats.common.errors import BrokenInvariantError
from bats.common.messages import MachineId, Outcome, TaskId
from bats.master.brain.books.precedence import Precedence
from bats.master.brain.books.taskbook import TaskBook, TaskState
from bats.master.brain.protocol import commands as do
from bats.master.brain.protocol.events import Cancelled, Cause, Gone, Retried
from bats.master.brain.protocol.graph import Graph, Step, graph, graph_from
from bats.master.brain.protocol.journal import plain_settings, settings_from
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation

DIAMOND = graph(
    [Step("first", 1), Step("middle", 3), Step("last", 1)],
    [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)],
)
THREE_STEPS = graph(
    [Step("prepare", 1), Step("sweep", 4), Step("gather", 1)], barriers=[(0, 1), (1, 2)]
)


def ordered(of: Graph, **more: object) -> Settings:
    return settings(of.tasks, free(), graph=of, replicate=False, **more)


def states(bench: Bench) -> list[str]:
    return [TaskState(state).name for state in bench.run.tasks.states]


@pytest.mark.parametrize("of", [DIAMOND, THREE_STEPS])
def test_a_task_begins_only_when_all_that_it_waits_for_is_done(of: Graph) -> None:
    bench = Bench(ordered(of))
    bench.begin()
    began = sent(bench.join(1, slots=8))
    assert began == [0]
    middle = sent(bench.done(1, 0, at=1))
    assert sorted(middle) == list(range(1, of.tasks - 1))
    for task in middle[:-1]:
        assert sent(bench.done(1, task, at=2)) == []
    assert sent(bench.done(1, middle[-1], at=3)) == [of.tasks - 1]
    (end,) = only(do.EndBag, bench.done(1, of.tasks - 1, at=4))
    assert end.outcome is do.BagOutcome.COMPLETE


def test_what_waits_for_a_task_that_failed_for_good_is_cut_off_and_the_rest_goes_on() -> None:
    two_chains = graph([Step("a", 2), Step("b", 2), Step("c", 2)], [(0, 2), (1, 3), (2, 4), (3, 5)])
    bench = Bench(ordered(two_chains, retries=0))
    bench.begin()
    bench.join(1, slots=2)
    assert sent(bench.end(1, 0, Outcome.FAILED, at=1)) == []
    assert states(bench) == ["FAILED", "RUNNING", "CUT_OFF", "BLOCKED", "CUT_OFF", "BLOCKED"]
    bench.done(1, 1, at=2)
    bench.done(1, 3, at=3)
    (end,) = only(do.EndBag, bench.done(1, 5, at=4))
    assert end.outcome is do.BagOutcome.WITH_FAILURES
    assert end.words == "3 tasks done, 1 failed, 2 cut off"


def test_what_is_tried_again_brings_back_what_it_had_cut_off_and_nothing_else_runs() -> None:
    bench = Bench(ordered(THREE_STEPS, retries=0))
    bench.begin()
    bench.join(1, slots=4)
    bench.done(1, 0, at=1)
    for task in (1, 2, 3):
        bench.done(1, task, at=2)
    bench.end(1, 4, Outcome.FAILED, at=3)
    assert states(bench)[4:] == ["FAILED", "CUT_OFF"]
    bench(Gone(MachineId(1), 5, Cause.STOPPED), 5)
    bench(Retried((TaskId(4),)), 10)
    assert states(bench)[4:] == ["WAITING", "BLOCKED"]
    began = sent(bench.join(bench.run.pool.last_machine, 11, slots=4))
    assert began == [4]
    machine = bench.run.pool.last_machine
    assert sent(bench.done(machine, 4, attempt=2, at=12)) == [5]
    (end,) = only(do.EndBag, bench.done(machine, 5, at=13))
    assert end.outcome is do.BagOutcome.COMPLETE


def test_what_two_tasks_cut_off_comes_back_when_both_are_tried_again() -> None:
    bench = Bench(ordered(DIAMOND, retries=0))
    bench.begin()
    bench.join(1, slots=4)
    bench.done(1, 0, at=1)
    bench.end(1, 1, Outcome.FAILED, at=2)
    bench.end(1, 2, Outcome.FAILED, at=2)
    bench(Retried((TaskId(1),)), 3)
    assert states(bench)[4] == "CUT_OFF"
    bench(Retried((TaskId(2),)), 4)
    assert states(bench)[4] == "BLOCKED"


def test_a_step_says_itself_how_often_its_tasks_are_tried_again() -> None:
    of = graph([Step("a", 1, retries=2), Step("b", 1)], [(0, 1)])
    bench = Bench(ordered(of, retries=0))
    bench.begin()
    bench.join(1)
    for attempt in (1, 2):
        assert sent(bench.end(1, 0, Outcome.FAILED, attempt, at=attempt)) == [0]
    bench.done(1, 0, 3, at=3)
    (end,) = only(do.EndBag, bench.end(1, 1, Outcome.FAILED, at=4))
    assert end.words == "1 tasks done, 1 failed"


def test_a_cancelled_workflow_goes_on_as_a_whole() -> None:
    bench = Bench(ordered(DIAMOND))
    bench.begin()
    bench.join(1)
    bench.done(1, 0, at=1)
    bench(Cancelled("enough"), 2)
    assert states(bench) == ["DONE", *["DROPPED"] * 4]
    bench(Gone(MachineId(1), 2, Cause.STOPPED), 2)
    bench(Retried((TaskId(4),)), 3)
    assert states(bench) == ["DONE", *["WAITING"] * 3, "BLOCKED"]


def test_a_task_says_what_it_waits_for_and_who_cut_it_off() -> None:
    of = graph(
        [Step("project", 3), Step("diff", 2), Step("plot", 1)],
        [(0, 3), (1, 3), (2, 4)],
        barriers=[(1, 2)],
    )
    bench = Bench(ordered(of, retries=0))
    bench.begin()
    bench.join(1, slots=3)
    told = bench.engine.task(TaskId(3), 40.0)
    assert told.waits == "for tasks 0 and 1 of project (0 runs since 40 s)"
    assert bench.engine.task(TaskId(5)).waits == "for all of diff (2 not done)"
    bench.end(1, 1, Outcome.FAILED, at=1)
    for task in (3, 5):
        said = bench.engine.task(TaskId(task)).waits
        assert said == "for task 1 of project, which failed for good"


def test_settings_with_an_order_are_read_back_and_older_ones_have_none() -> None:
    written = plain_settings(ordered(DIAMOND))
    assert settings_from(msgpack.unpackb(msgpack.packb(written))) == ordered(DIAMOND)
    del written["graph"]
    assert settings_from(written).graph is None


def test_half_an_edge_and_a_task_that_is_not_there_are_refused() -> None:
    with pytest.raises(ValueError, match="half an edge"):
        graph_from({"steps": [["a", 2, None]], "barriers": [], "edges": bytes(4)})
    with pytest.raises(BrokenInvariantError, match="not there"):
        Precedence(graph([Step("a", 2)], [(0, 2)]))


@pytest.mark.parametrize("seed", range(4))
def test_the_tail_copies_what_others_wait_for_first(seed: int) -> None:
    of = graph([Step("a", 6), Step("b", 1)], [(3, 6), (4, 6), (5, 6)])
    two = (offering("slow", 0, machines=1, slots=5), offering("fast", 0, machines=1))
    bench = Bench(
        settings(6 + 1, *two, graph=of, tail="stochastic", known=((100.0,), (10.0,)), seed=seed)
    )
    bench.begin()
    slow = sent(bench.join(1, 0, slots=5))
    (fast,) = sent(bench.join(2, 1))
    (copy,) = sent(bench.done(2, fast, at=11))  # all of the others have as much left
    assert copy in slow
    assert copy >= 3 > min(slow)


# --- beside a stupid twin -------------------------------------------------------------------------


def random_graph(rng: random.Random) -> Graph:
    steps = [Step(f"s{k}", rng.randint(1, 4), rng.choice([None, 0, 1])) for k in range(5)]
    of = Graph(tuple(steps))
    starts = of.starts()
    edges, barriers = [], []
    for after in range(1, len(steps)):
        for before in range(after):
            if rng.random() < 0.3:
                barriers.append((before, after))
            else:
                edges += [
                    (parent, child)
                    for parent in range(starts[before], starts[before + 1])
                    for child in range(starts[after], starts[after + 1])
                    if rng.random() < 0.2
                ]
    return graph(steps, edges, barriers)


def parents_of(of: Graph) -> list[set[int]]:
    """Every pair written out."""
    starts = of.starts()
    parents: list[set[int]] = [set() for _ in range(of.tasks)]
    flat = of.pairs()
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        parents[child].add(parent)
    for before, after in of.barriers:
        for child in range(starts[after], starts[after + 1]):
            parents[child].update(range(starts[before], starts[before + 1]))
    return parents


@pytest.mark.parametrize("seed", range(30))
def test_states_are_those_that_follow_from_the_parents_whatever_happens(seed: int) -> None:
    rng = random.Random(seed)
    of = random_graph(rng)
    parents = parents_of(of)
    book = TaskBook(of.tasks, rng, Precedence(of))
    for _ in range(200):
        running = list(book.running)
        failed = [t for t, state in enumerate(book.states) if state == TaskState.FAILED]
        chance = rng.random()
        if running and chance < 0.5:
            task = rng.choice(running)
            book.remove(book.running[task][0])
            rng.choice([book.finish, book.finish, book.finish, book.give_up, book.put_back])(task)
        elif failed and chance < 0.6:
            book.retry(TaskId(rng.choice(failed)))
        elif failed and chance < 0.65:
            book.finish(TaskId(rng.choice(failed)))  # a result that came late
        elif (drawn := book.draw()) is not None:
            book.send(drawn, MachineId(1))
        book.check()
        lost: set[int] = set()
        for task in range(of.tasks):  # parents have lower numbers
            state = book.states[task]
            if state == TaskState.FAILED or (parents[task] & lost and state != TaskState.DONE):
                lost.add(task)
            waits = any(book.states[parent] != TaskState.DONE for parent in parents[task])
            assert (state == TaskState.CUT_OFF) == (task in lost and state != TaskState.FAILED)
            assert (state == TaskState.BLOCKED) == (waits and task not in lost)
    assert book.done


@pytest.mark.parametrize("seed", range(6))
def test_whole_runs_on_unreliable_machines_keep_the_order(seed: int) -> None:
    rng = random.Random(seed)
    of = random_graph(rng)
    parents = parents_of(of)
    world = Conditions(
        start_seconds=lambda r, _c: r.uniform(0, 60),
        life_seconds=lambda r, _c: r.expovariate(1 / 4000),
        task_fails=0.1,
    )
    wanted = settings(
        of.tasks, offering(machines=2), free(), budget=400, graph=of, retries=1, seed=seed
    )
    run = Simulation(wanted, lambda t, c: 60.0 + t + 30 * c, world, seed, keep_events=True)
    history = run.run(until=100 * HOUR)
    run.engine.check()
    assert history.end is not None
    done: set[int] = set()
    for commands in history.commands:
        for command in commands:
            if isinstance(command, do.Record):
                done |= {e.task for e in command.endings if e.outcome is Outcome.DONE}
            elif isinstance(command, do.RunTasks):
                assert all(parents[task] <= done for task, _ in command.orders)
    for task in range(of.tasks):
        if run.engine.task(TaskId(task)).state is TaskState.CUT_OFF:
            assert not history.records.get(TaskId(task))


def test_a_whole_step_behind_another_is_a_counter_and_no_edges() -> None:
    of = graph([Step("a", 100_000), Step("b", 100_000)], barriers=[(0, 1)])
    tracemalloc.start()
    book = TaskBook(of.tasks, random.Random(1), Precedence(of))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 30 * of.tasks
    assert book.counts[TaskState.BLOCKED] == 100_000

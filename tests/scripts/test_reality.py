"""The study `reality`: its matrix, the least money of a bag, and the world's account of a run."""

import csv
import gc
import random
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from figures import Report
from studies import reality, reality_cases
from studies.cells import (
    BILLING,
    MACHINES,
    VALUES,
    Cell,
    covering,
    drawn,
    full,
    matrix,
    quick,
    those,
    workload,
)
from studies.least_money import charges, clairvoyant, least_money, one_task_of_each
from studies.reality_runs import Result, run
from studies.world_account import Account, Attempt, Fate, Uptime, account

from bats.common.billing import charge
from bats.common.messages import MachineId, Outcome, TaskId
from bats.common.money import NOTHING, Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.mix import Mix
from bats.master.brain.protocol.commands import Command, KillTask, RunTasks, StartMachines
from bats.master.brain.protocol.events import (
    Begin,
    Cause,
    Charged,
    Ended,
    Ending,
    Event,
    Gone,
    Joined,
)
from bats.master.simulate.driver import History

SCRIPTS = Path(__file__).parents[2] / "scripts"
EASY = Cell("1h", "30s", "100", "0", "normal", "2")
A, B = MachineId(1), MachineId(2)


def offering(price: str, atu: float = 60.0, machines: int = 2, minimum: float = 0.0) -> Offering:
    name = ClusterName(f"at {price}")
    return Offering(name, money(price), atu, machines, minimum_seconds=minimum)


# --- the matrix -----------------------------------------------------------------------------------


def test_the_full_form_has_every_cell_at_one_and_a_half_times_the_least_money():
    cells = full(1)
    assert set(matrix(("1.5",))) <= set(cells)
    assert len(matrix(("1.5",))) == 5 * 6 * 3 * 3 * 5 * 2
    assert {cell.budget for cell in cells} == set(VALUES["budget"])


@pytest.mark.parametrize("seed", [1, 2])
def test_the_quick_form_has_every_pair_of_values(seed: int):
    cells = quick(seed)
    for one, other in combinations(VALUES, 2):
        there = {(getattr(cell, one), getattr(cell, other)) for cell in cells}
        assert there == set(product(VALUES[one], VALUES[other]))


def test_a_cover_takes_few_cells_and_the_same_ones_every_time():
    cells = matrix()
    assert len(covering(cells, 1)) < 45  # 5 × 6 pairs of an ATU and a length need 30 cells
    assert covering(cells, 1) == covering(cells, 1) != covering(cells, 2)


def test_cells_are_found_by_some_of_their_values():
    found = list(those(matrix(), "atu=1s,1m task=5m N=10"))
    assert {(cell.atu, cell.task, cell.N) for cell in found} == {
        ("1s", "5m", "10"),
        ("1m", "5m", "10"),
    }
    with pytest.raises(ValueError, match="'atu=7s' names no values"):
        list(those(matrix(), "atu=7s"))


def test_budgets_of_the_same_place_meet_the_same_bag_and_machines():
    poor, rich = drawn(replace(EASY, budget="1.25"), 1), drawn(replace(EASY, budget="2"), 1)
    assert np.array_equal(poor.runtimes, rich.runtimes)
    assert (poor.offerings, poor.speeds) == (rich.offerings, rich.speeds)
    other = drawn(EASY, 2)
    assert not np.array_equal(poor.runtimes, other.runtimes)
    assert poor.speeds != other.speeds


def test_what_was_drawn_once_is_drawn_today():
    """Else nothing pairs with the runs of version 0.1.0 any more."""
    what = drawn(EASY, 1)
    assert [o.price for o in what.offerings] == [274_081_422, 188_282_759]
    assert what.runtimes.sum() == pytest.approx(2956.70583612288)


@pytest.mark.parametrize("name", VALUES["runtimes"])
def test_every_distribution_has_the_mean_of_its_cell(name: str):
    runtimes = workload(name, 7.0).draw(400_000, np.random.default_rng(1))
    assert runtimes.mean() == pytest.approx(7.0, rel=0.02)
    assert runtimes.min() > 0
    if name == "levy":
        assert runtimes.max() <= 21.0


def test_any_kind_may_be_the_cheapest_for_the_work_and_prices_are_those_of_clouds():
    cells = [cell for cell in matrix(("1.5",)) if cell.kinds == "3"][::20]
    found = [drawn(cell, 1) for cell in cells]
    cheapest = [what.cheapest for what in found]
    assert all(cheapest.count(kind) > len(found) / 5 for kind in range(3))
    for what in found:
        assert all(0.05 < what.worth(k) * 3600 / 1e9 < 0.2 for k in range(3))
        assert all(o.max_machines == MACHINES for o in what.offerings)


# --- the least money ------------------------------------------------------------------------------


def list_schedule(
    runtimes: list[float], offerings: list[Offering], speeds: list[float], mix: Mix, boot: float
) -> Money:
    """Written as it is told, one task and one machine after the other."""
    machines = [[kind, 0.0] for kind, count in enumerate(mix) for _ in range(count)]
    for seconds in sorted(runtimes, reverse=True):
        first = min(machines, key=lambda m: m[1] + seconds / speeds[int(m[0])])
        first[1] += seconds / speeds[int(first[0])]
    used = [(offerings[int(kind)], busy) for kind, busy in machines if busy]
    return Money(sum(charge(o, boot + busy) for o, busy in used))


@pytest.mark.parametrize("seed", range(30))
def test_the_clairvoyant_pays_what_her_slow_twin_pays(seed: int):
    rng = random.Random(seed)
    atu = rng.choice([1.0, 60.0, 3600.0])
    boot, minimum = rng.choice([0.0, 90.0]), rng.choice([0.0, 60.0])
    kinds = rng.choice([2, 3])
    offerings = [
        offering(f"0.{rng.randint(10, 99)}", atu, rng.randint(1, 3), minimum) for _ in range(kinds)
    ]
    speeds = [rng.uniform(1, 4) for _ in range(kinds)]
    runtimes = [rng.expovariate(1 / rng.choice([1, 100, 5000])) for _ in range(rng.randint(1, 9))]
    mixes = [mix for mix in product(*(range(o.max_machines + 1) for o in offerings)) if any(mix)]
    slow = min(list_schedule(runtimes, offerings, speeds, mix, boot) for mix in mixes)
    fast, mix = clairvoyant(np.array(runtimes), offerings, speeds, boot)
    assert fast == slow == list_schedule(runtimes, offerings, speeds, mix, boot)
    untried = [
        charge(o, boot + float(np.mean(runtimes)) / speed)
        for o, speed, count in zip(offerings, speeds, mix, strict=True)
        if count == 0
    ]
    assert least_money(np.array(runtimes), offerings, speeds, boot) == slow + sum(untried)


@pytest.mark.parametrize("seed", range(10))
def test_no_way_to_deal_the_tasks_is_much_cheaper_than_a_list_schedule(seed: int):
    """One machine of each kind, and every way to deal the tasks to them: the least there is."""
    rng = random.Random(seed)
    offerings, speeds = [offering("0.10"), offering("0.23")], [1.0, 2.0]
    runtimes = np.array([rng.uniform(10, 200) for _ in range(8)])
    deals = [np.array(deal) for deal in product((0, 1), repeat=8)]
    least = min(
        sum(
            charge(offerings[kind], float(runtimes[deal == kind].sum()) / speeds[kind])
            for kind in set(deal.tolist())
        )
        for deal in deals
    )
    hers, _ = clairvoyant(runtimes, offerings, speeds, 0.0)
    assert least <= hers <= 1.1 * least


def test_bills_of_many_machines_are_those_of_each():
    rng = random.Random(1)
    for atu, minimum in BILLING.values():
        kind = offering("0.07", atu, minimum=minimum)
        work = np.array([atu, 3 * atu, 60.0, *(rng.expovariate(1 / 500) for _ in range(200))])
        for boot in (0.0, 90.0):
            each = [charge(kind, boot + seconds) for seconds in work]
            assert charges(kind, work, boot).tolist() == each
    assert charges(kind, np.zeros(1), 90.0).tolist() == [0]


def test_a_kind_that_she_leaves_out_is_tried_with_one_task_and_its_boot():
    cheap, dear = offering("1", 60.0), offering("10", 60.0)
    runtimes = np.full(10, 60.0)
    assert clairvoyant(runtimes, [cheap, dear], [1.0, 1.0], 90.0) == (money(12), (1, 0))
    assert least_money(runtimes, [cheap, dear], [1.0, 1.0], 90.0) == money(12 + 30)
    assert one_task_of_each(runtimes, [cheap, dear], [1.0, 1.0], 90.0) == money(3 + 30)


# --- the world's account --------------------------------------------------------------------------


def story(*told: tuple[float, Event, list[Command]]) -> History:
    return History(
        events=[(at, event) for at, event, _ in told], commands=[after for *_, after in told]
    )


def run_on(machine: MachineId, *tasks: int, attempt: int = 1) -> RunTasks:
    return RunTasks(machine, tuple((TaskId(task), attempt) for task in tasks))


def ended(
    machine: MachineId, task: int, outcome: Outcome = Outcome.DONE, attempt: int = 1
) -> Ended:
    return Ended(machine, (Ending(TaskId(task), attempt, outcome, 0.0),))


BEGINNING: list[tuple[float, Event, list[Command]]] = [
    (0.0, Begin(), [StartMachines(0, (A, B))]),
    (0.0, Charged(A, 0.0), []),
    (0.0, Charged(B, 0.0), []),
    (30.0, Joined(A, 1), [run_on(A, 1, 2)]),
    (30.0, Joined(B, 1), [run_on(B, 3)]),
]


def accounted(*rest: tuple[float, Event, list[Command]]) -> Account:
    history = story(*BEGINNING, *rest)
    return account(history, (offering("0.01"),), rest[-1][0])


def fates(found: Account) -> list[tuple[int, float, float, Fate]]:
    return sorted((int(a.task), a.begun, a.ended, a.fate) for a in found.attempts)


def test_a_task_that_is_cut_short_and_run_again_was_stopped():
    found = accounted(
        (40.0, ended(A, 1), []),
        (70.0, Gone(A, 70.0, Cause.STOPPED, "why not"), [run_on(B, 2, attempt=2)]),
        (90.0, ended(B, 3), []),
        (150.0, ended(B, 2, attempt=2), []),
        (150.0, Gone(B, 150.0, Cause.STOPPED), []),
    )
    assert fates(found) == [
        (1, 30.0, 40.0, Fate.DONE),
        (2, 40.0, 70.0, Fate.STOPPED),
        (2, 90.0, 150.0, Fate.DONE),
        (3, 30.0, 90.0, Fate.DONE),
    ]
    assert found.done == 3
    assert found.ran(Fate.STOPPED) == 30.0
    assert found.spent == money("0.05")
    assert found.paid == 5 * 60.0
    assert found.booting == 60.0
    assert found.learned_by == 40.0


def test_a_copy_that_another_result_made_needless_was_not_stopped_work():
    found = accounted(
        (50.0, ended(B, 3), [run_on(B, 1, attempt=2)]),
        (60.0, ended(A, 1), [KillTask(B, TaskId(1), 2)]),
        (60.0, ended(B, 1, Outcome.KILLED, 2), []),
        (70.0, ended(A, 2), []),
    )
    assert (1, 50.0, 60.0, Fate.COPY) in fates(found)
    assert found.ran(Fate.STOPPED) == 0.0


def test_of_two_attempts_cut_short_the_last_is_stopped_work():
    found = accounted(
        (50.0, ended(B, 3), [run_on(B, 1, attempt=2)]),
        (60.0, Gone(A, 60.0, Cause.STOPPED), []),
        (80.0, Gone(B, 80.0, Cause.STOPPED), []),
    )
    assert [one for one in fates(found) if one[0] == 1] == [
        (1, 30.0, 60.0, Fate.COPY),
        (1, 50.0, 80.0, Fate.STOPPED),
    ]


def test_a_second_result_is_late_and_a_task_killed_in_its_queue_ran_nowhere():
    found = accounted(
        (40.0, ended(B, 3), [run_on(B, 1, attempt=2), KillTask(A, TaskId(2), 1)]),
        (40.0, ended(A, 2, Outcome.KILLED), []),
        (60.0, ended(A, 1), []),
        (80.0, ended(B, 1, attempt=2), []),
    )
    assert fates(found) == [
        (1, 30.0, 60.0, Fate.DONE),
        (1, 40.0, 80.0, Fate.LATE),
        (3, 30.0, 40.0, Fate.DONE),
    ]


def test_learning_costs_what_machines_cost_until_the_choice_less_what_their_work_is_worth():
    def ran(machine: MachineId, begun: float, end: float, fate: Fate = Fate.DONE) -> Attempt:
        return Attempt(TaskId(int(begun) * 10 + int(machine)), machine, begun, end, fate)

    cheap, dear = offering("1"), offering("6")
    speeds, worth = (1.0, 2.0), float(money(1)) / 60  # of a second of work, where it is cheapest
    first = Uptime(A, 0, 0.0, 0.0, 30.0, 240.0, "", [ran(A, 30, 90), ran(A, 90, 240)])
    second = Uptime(B, 1, 0.0, 0.0, 0.0, 30.0, "", [ran(B, 0, 10), ran(B, 10, 30, Fate.LATE)])
    later = Uptime(B, 1, 0.0, 200.0, 200.0, 230.0, "", [ran(B, 200, 230)])
    found = Account((cheap, dear), (first, second, later), 240.0)
    # The first: $4 for 240 s, half of it until 120 s, when it has worked for 90 s. The second: $6
    # for its minute; 10 of the 30 s that it was up are results that count, at speed 2.
    expected = money(2) + money(6) - (90 + 2 * 10) * worth
    assert found.learning(120.0, worth, speeds) == pytest.approx(expected)
    # When the last task has begun, there is nothing left to learn for.
    ending = replace(found, machines=(first, second))
    assert ending.learned_by == 90.0
    assert ending.learning(120.0, worth, speeds) == ending.learning(90.0, worth, speeds)


@pytest.mark.parametrize("start", VALUES["start"])
def test_the_account_of_a_run_agrees_with_the_engines_books(start: str):
    ran = run(replace(EASY, start=start, kinds="3"), 1)
    found, offerings = ran.account, ran.drawn.offerings
    assert ran.result.finished
    assert ran.result.done == EASY.tasks == len(ran.history.records)
    uptimes = ran.history.uptimes
    assert found.spent == sum(charge(offerings[k], end - at) for k, at, end in uptimes.values())
    assert NOTHING < found.spent <= ran.result.budget
    assert found.booting == pytest.approx(90.0 * len(uptimes) if start == "billed" else 0.0)
    for attempt in found.attempts:
        kind = ran.history.uptimes[attempt.machine][0]
        if attempt.fate in (Fate.DONE, Fate.LATE):
            lasted = ran.drawn.seconds(attempt.task, kind)
            assert attempt.ended - attempt.begun == pytest.approx(lasted)


def test_a_run_that_computes_for_too_long_is_broken_off_and_has_not_finished():
    found = run(replace(EASY, N="1000"), 1, longest=0.01).result
    assert found.broke_off == "it computed for 0.01 s"
    assert not found.finished
    assert found.computing < 1.0


def test_a_run_is_broken_off_though_a_callback_swallows_what_comes_first():
    def once(_phase: str, _facts: dict[str, int]) -> None:
        gc.callbacks.remove(once)
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass

    gc.callbacks.append(once)
    found = run(replace(EASY, N="1000"), 1, longest=0.01).result
    assert once not in gc.callbacks
    assert found.broke_off == "it computed for 0.01 s"


def test_the_same_cell_comes_out_the_same():
    one, again = (run(EASY, 1).result for _ in range(2))
    assert replace(one, computing=0.0) == replace(again, computing=0.0)


# --- the report -----------------------------------------------------------------------------------


def results(**changed: object) -> list[Result]:
    """Of runs that leave nothing to wish for, but for what is changed."""
    made = []
    for cell in matrix(("1.5",))[::7]:
        one = Result(
            cell.name, True, cell.tasks, 100.0, money(2), money(1), 0.01, 0.9, 1.0, "", False, ""
        )
        made.append(replace(one, **changed))  # type: ignore[arg-type]
    return made


def bars(found: list[Result], *, complete: bool = True) -> dict[str, bool]:
    report = Report("reality")
    reality.tell(report, found, full=complete)
    return {bar["bar"]: bar["ok"] for bar in report.bars}


def test_every_bar_holds_where_nothing_is_wrong():
    assert all(bars(results()).values())
    assert len(bars(results())) >= 5 * 4 + 5


@pytest.mark.parametrize(
    ("changed", "short"),
    [
        ({"spent": money("2.01")}, "runs that spent more"),
        ({"stopped": 0.03}, "work stopped, median"),
        ({"stopped": 0.11}, "work stopped, at most"),
        ({"learning": 1.1}, "learning"),
        ({"computing": 2.1}, "computing"),
        ({"finished": False}, "finished, N = 10"),
        ({"finished": False}, "finished, N ≥ 100"),
    ],
)
def test_every_bar_can_fall_short(changed: dict[str, object], short: str):
    held = bars(results(**changed))
    assert not any(ok for bar, ok in held.items() if bar.startswith(short))
    assert any(bar.startswith(short) for bar in held)


def test_a_bag_that_is_mostly_one_task_counts_for_no_bar():
    held = bars(results(finished=False, hard=True))
    assert not any(bar.startswith("finished") for bar in held)


def test_makespans_are_held_against_those_of_the_same_cell_and_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    found = results()
    written = tmp_path / "before.csv"
    with written.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow([*VALUES, "money", "seconds"])
        for number, one in enumerate(found):
            rows.writerow([*one.cell.values, one.budget, "" if number % 2 else 95.0])
    monkeypatch.setattr(reality, "BASELINE", written)
    means = [ok for bar, ok in bars(found).items() if "geometric mean" in bar]
    assert means == [True] * 5
    slower = [replace(one, seconds=one.seconds * 1.1) for one in found]
    means = [ok for bar, ok in bars(slower).items() if "geometric mean" in bar]
    assert means == [False] * 5
    others = [replace(one, budget=money(3)) for one in found]
    assert not any("geometric mean" in bar for bar in bars(others))


def test_what_version_0_1_0_did_is_of_the_cells_that_are_drawn_today():
    known = reality.before()
    places = {name for name, _ in known}
    assert places <= {cell.name for cell in matrix(("1.5",))}
    assert len(places) >= 2500
    for cell in matrix(("1.5",))[::97]:
        if cell.name in places:
            what = drawn(cell, 1)
            least = least_money(what.runtimes, what.offerings, what.speeds, cell.boot_seconds)
            assert (cell.name, Money(least * 3 // 2)) in known


def test_a_case_of_equal_tasks_is_simulated_as_bats_simulate_does():
    report = Report("reality")
    easy = reality_cases.Shown(60, 720.0, "hour", ("0.205", "0.82"), (1.0, 2.0), money(5))
    hopeless = replace(easy, budget=money("0.50"))
    reality_cases.tell(report, [easy, hopeless])
    assert [bar["ok"] for bar in report.bars] == [True, False]
    assert all(o.boundary_seconds > 0 for o in easy.offerings)


def test_single_cells_are_listed_and_told():
    def reality_of(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(SCRIPTS / "reality.py"), *arguments],
            capture_output=True,
            text=True,
            check=False,
        )

    where = "atu=1h task=30s N=10 start=0 runtimes=normal"
    listed = reality_of("--where", where)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("atu=1h task=30s N=10") == 2
    told = reality_of("--where", where, "--number", "0", "--tell")
    assert "× the cheapest for the work" in told.stdout
    assert "machine 1 gone after" in told.stdout
    wrong = reality_of("--where", "atu=never")
    assert wrong.returncode == 2
    assert "names no values of the matrix" in wrong.stderr

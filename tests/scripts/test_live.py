"""`scripts/live.py` runs an experiment with real workers and tells of it in print and on a page."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from experiments import chapter6, lab, reality
from experiments.apps import SARSA
from experiments.compressed import Compressed
from experiments.decisions import compare, decisions
from experiments.recorded_workflows import wfformat_of
from numpy.random import default_rng
from studies.cells import drawn
from studies.least_money import least_money
from studies.table2_1 import settings
from studies.two_clusters import SCENARIOS, sleep_bag

from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.master.brain.graphs.ranks import longest_way
from bats.master.brain.protocol.graph import worked_off
from bats.master.brain.protocol.settings import Settings
from bats.master.client import sweep
from bats.master.clouds.clouds_reading import clouds
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workflows.scientific import SCIENTIFIC
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation

SCRIPT = Path(__file__).parents[2] / "scripts" / "live.py"


def test_a_small_experiment_with_real_workers_keeps_its_budget_and_leaves_one_page(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "table2.1", "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Published, simulated and live: makespan" in ended.stdout, ended.stderr
    assert "live runs within the budget: 1 (bar: 1)" in ended.stdout
    told = json.loads((tmp_path / "live-table2.1.json").read_text())
    assert [bar["ok"] for bar in told["bars"] if "budget" in bar["bar"]] == [True]
    page = (tmp_path / "live.html").read_text()
    assert "Published, simulated and live" in page
    assert page.count("<svg") >= 3
    assert not re.search('(?:src|href)="(?!#)', page), "the page needs another file"


def test_bags_billed_by_the_second_and_the_minute_are_done_by_real_workers_for_their_money(
    tmp_path: Path,
):
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "reality", "--quick", "--out", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "Live and simulated" in ended.stdout, ended.stderr
    told = json.loads((tmp_path / "live-reality.json").read_text())
    values = {bar["bar"]: bar["value"] for bar in told["bars"]}
    assert values["live runs that do all tasks"] == 2
    assert values["live runs within their budget"] == 2
    assert values["machines that ended with their lease"] == 0
    assert values["longest makespan, live to simulated"] < 5, "one run each, beside other tests"


def test_the_live_cells_have_every_value_of_the_matrix():
    cells = [Compressed(place, seconds, 1) for place, seconds in reality.CELLS]
    assert len(cells) == 12
    assert reality.values_without(cells) == 0
    assert reality.values_without(cells[1:]) > 0


def test_a_compressed_cell_is_its_cell_in_another_unit_of_time():
    place, seconds = reality.CELLS[4]
    cell = Compressed(place, seconds, 1)
    whole = drawn(place, 1)
    assert cell.drawn.runtimes / cell.factor == pytest.approx(whole.runtimes)
    assert [o.price for o in cell.drawn.offerings] == [o.price for o in whole.offerings]
    assert [o.atu_seconds for o in cell.drawn.offerings] == [pytest.approx(cell.factor)] * 2
    least = least_money(whole.runtimes, whole.offerings, whole.speeds, place.boot_seconds)
    assert cell.budget == pytest.approx(1.5 * least, rel=0.1), "a little more: real processes"


def test_its_clouds_file_says_what_is_simulated(tmp_path: Path):
    for place, seconds in reality.CELLS:
        cell = Compressed(place, seconds, 1)
        path = tmp_path / "clouds.toml"
        path.write_text(cell.clouds_file)
        assert clouds(path).offerings == cell.drawn.offerings


def test_what_the_real_tasks_of_a_run_computed_can_be_told():
    small = sweep(argv=[*SARSA.argv], grid={**SARSA.grid, "epochs": [5], "rate": ["0.1"]})
    free = Offering(ClusterName("here"), NOTHING, 60.0, 2)
    live = lab.run(small, Settings(small.count, (free,)))
    assert live.complete
    computed = chapter6.results(live)
    assert len(computed) == small.count == 18
    assert {one["program"] for one in computed} == {"sarsa"}
    assert "times as long as with cars sent anywhere" in chapter6.in_words(SARSA, computed)


def journal(boot_seconds: float):
    asked = replace(settings("S4-1", 400, seed=1), tasks=200)
    runtimes = sleep_bag(200, 1)
    simulation = Simulation(
        asked,
        lambda task, cluster: float(runtimes[task]) / (1.0, SCENARIOS["S4-1"].speed)[cluster],
        Conditions(boot_seconds=boot_seconds),
        keep_events=True,
    )
    return asked, simulation.run().events


def test_two_runs_of_the_same_journal_decide_the_same():
    asked, events = journal(boot_seconds=0.0)
    first, second = decisions(asked, events), decisions(asked, events)
    found = compare(("cluster0", "cluster1"), first, second, 60.0)
    assert found
    assert not any(one.why for one in found)


def test_where_two_runs_part_it_is_said_what_they_were_decided_from():
    (asked, prompt), (_, late) = journal(boot_seconds=0.0), journal(boot_seconds=1500.0)
    found = compare(("cluster0", "cluster1"), decisions(asked, prompt), decisions(asked, late), 60)
    parted = [one for one in found if one.why]
    assert parted
    assert any("against" in one.why or "only there" in one.why for one in parted)


def test_an_unknown_experiment_is_refused_with_those_there_are():
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), "chapter7"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "chapter6" in ended.stderr


def test_a_generated_workflow_is_read_back_from_wfformat_as_it_was(tmp_path: Path):
    made = SCIENTIFIC["montage"](60, default_rng(3))
    file = tmp_path / "montage.json"
    file.write_text(json.dumps(wfformat_of("montage", made.graph, made.seconds)))
    work = foreign_workflow(file, Emulation())
    assert work is not None
    assert (work.count, sorted(work.seconds)) == (made.graph.tasks, sorted(made.seconds))
    order = worked_off(work.graph)
    assert longest_way(work.graph, order, work.seconds) == pytest.approx(
        longest_way(made.graph, worked_off(made.graph), made.seconds)
    )

"""`bats simulate` answers what a bag would cost: without a master, and for nothing."""

import json
from pathlib import Path

import pytest
from helpers.user import User

from bats.master.cli.main import main

CLOUDS = """
[[offering]]
name = "slow"
backend = "local"
price = "0.10"
max = 6
[[offering]]
name = "fast"
price = "0.30"
max = 6
[offering.local]
speed = 2
"""
FEW = ("--runs", "3", "--workers", "1")


def test_the_six_schedules_of_a_sweep_are_told_with_what_they_come_to(user: User) -> None:
    user.write("clouds.toml", CLOUDS)
    user.write("sweep.toml", 'command = "echo {n}"\n[grid]\nn = "1:120"\n')
    words = ("simulate", "sweep.toml", "--clouds", "clouds.toml", "--runtimes", "11m", *FEW)
    facts = user.facts(*words)
    assert facts["tasks"] == 120
    assert [one["speed"] for one in facts["clusters"]] == [1.0, 2.0]
    assert [one["name"] for one in facts["cases"]][::5] == ["cheapest", "fastest"]
    said = user.bats(*words).stdout
    assert "90 % of runs" in said
    assert "tail saves" in said
    assert not user.state.exists()


def test_budgets_a_deadline_and_a_page(user: User) -> None:
    user.write("clouds.toml", CLOUDS)
    user.write("runs.csv", "host,seconds\na,600\nb,700\nc,900\n")
    facts = user.facts(
        "simulate", "--clouds", "clouds.toml", "--runtimes", "runs.csv", "--column", "seconds",
        "--tasks", "60", "--speed", "fast=4", "--start", "30s", "--budget", "0.2", "--budget", "6",
        "--deadline", "4h", "--tail", "none", "--html", "study.html", *FEW,
    )  # fmt: skip
    poor, rich = facts["cases"]
    assert (poor["finished_share"], rich["finished_share"]) == (0, 1)
    assert poor["seconds"] is None
    assert rich["budget"] == "6"
    assert float(rich["high_cost"]) <= 6
    assert rich["in_time_share"] == 1
    page = (user.folder / "study.html").read_text()
    assert "<svg" in page
    assert "$6.00" in page


def test_a_finished_bag_tells_how_long_its_tasks_take(user: User) -> None:
    user.write("sweep.toml", 'command = "sleep 0.0{n}"\n[grid]\nn = "1:8"\n')
    user.bats("run", "sweep.toml")
    user.write("clouds.toml", CLOUDS)
    facts = user.facts("simulate", "--bag", "last", *FEW)
    assert (facts["tasks"], len(facts["cases"])) == (8, 1)
    facts = user.facts("simulate", "--bag", "1", "--clouds", "clouds.toml", "--tasks", "50", *FEW)
    assert (facts["tasks"], len(facts["cases"])) == (50, 6)


MISTAKES = [
    ([], "Say how long tasks take"),
    (["--runtimes", "1m", "--bag", "1"], "Say how long tasks take"),
    (["--runtimes", "norml"], "distributions are"),
    (["--runtimes", "no.csv", "--column", "a"], "no.csv"),
    (["--bag", "1"], "There is no store"),
    (["--runtimes", "1m", "--tasks", "0"], "--tasks"),
    (["--runtimes", "1m", "--runs", "0"], "--runs"),
    (["--runtimes", "1m", "--tail", "head"], "stochastic"),
    (["--runtimes", "1m", "--pick", "quickest"], "quickest"),
    (["--runtimes", "1m", "--budget", "lots"], "not an amount"),
    (["--runtimes", "1m", "--budget", "-5"], "0 or more"),
    (["--runtimes", "1m", "--deadline", "soon"], "--deadline"),
    (["--runtimes", "1m", "--start", "soon"], "--start"),
    (["--runtimes", "1m", "--speed", "there=2"], "there are here"),
    (["--runtimes", "1m", "--speed", "here=fast"], "above 0"),
    (["--runtimes", "1m", "--clouds", "no.toml"], "no.toml is not there"),
    (["no.toml", "--runtimes", "1m"], "no.toml is not there"),
    (
        ["--runtimes", "1m", "--html", "no/where.html", "--tasks", "1", "--runs", "1"],
        "No such file",
    ),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_mistake_is_told_in_one_sentence(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BATS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["simulate", *words, *FEW[2:]]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("bats: ")
    assert err.count("\n") == 1
    assert said in err
    assert not out


LOSING = """
[[offering]]
name = "spot"
price = "0.001"
atu = "minute"
max = 6
reliable = false
[offering.local]
lost_per_hour = 60
lost = "silent"
[[offering]]
name = "sure"
price = "0.01"
atu = "minute"
max = 3
[offering.local]
"""


def test_machines_that_may_be_lost_are_shown_with_the_strategies_for_them(user: User) -> None:
    user.write("clouds.toml", LOSING)
    words = ("simulate", "--clouds", "clouds.toml", "--runtimes", "normal:mean=10s,sigma=3s",
             "--tasks", "60", "--tail", "ntdmr", "--runs", "2", "--workers", "1")  # fmt: skip
    said = user.bats(*words).stdout
    assert "of what is sent there returns" in said
    assert '--tail ntdmr --strategy "' in said
    assert "the sample's" not in said
    assert "the strategy's" in said
    facts = user.facts(*words)
    assert len(facts["cases"]) == 1, "there are no schedules to choose from"
    frontier = facts["frontier"]
    assert len(frontier["strategies"]) > 1
    assert 0.6 < frontier["reliability"] < 0.98, "e^(-1/6)"


STEPS = """
[[step]]
name = "prepare"
command = "true"
[[step]]
name = "sweep"
command = "echo {n}"
after = "prepare"
grid = { n = "1:20" }
[[step]]
name = "gather"
command = "true"
after = "sweep"
"""


def test_the_steps_of_a_workflow_wait_for_one_another_and_have_runtimes_of_their_own(
    user: User,
) -> None:
    user.write(
        "clouds.toml",
        '[[offering]]\nname = "here"\nprice = 0\nmax = 4\nslots = 5\n[offering.local]\n',
    )
    user.write("steps.toml", STEPS)
    words = ("simulate", "steps.toml", "--clouds", "clouds.toml", *FEW)
    alike = user.facts(*words, "--runtimes", "1m")
    assert alike["cases"][-1]["seconds"]["median"] == pytest.approx(180)
    own = user.facts(*words, "--runtimes", "1m", "--runtimes", "gather=10m")
    assert own["cases"][-1]["seconds"]["median"] == pytest.approx(720)
    assert own["runtimes"].endswith("gather: every task 10 min 0 s")


def test_runtimes_of_a_workflow_that_was_run_serve_work_of_another_shape(user: User) -> None:
    user.write("steps.toml", STEPS.replace("1:20", "1:3"))
    user.bats("run", "steps.toml")
    user.write("sweep.toml", 'command = "echo {n}"\n[grid]\nn = "1:50"\n')
    user.write("larger.toml", STEPS)
    for file, tasks in ("sweep.toml", 50), ("larger.toml", 22), ("steps.toml", 5):
        facts = user.facts("simulate", file, "--bag", "last", *FEW)
        assert (facts["tasks"], facts["cases"][-1]["finished_share"]) == (tasks, 1)


def test_a_workflow_of_others_takes_as_long_as_recorded_and_needs_no_commands(user: User) -> None:
    tasks = [
        {"name": k, "id": k, "parents": up, "children": down, "type": "compute"}
        for k, up, down in (("a", [], ["b"]), ("b", ["a"], ["c"]), ("c", ["b"], []))
    ]
    ran = [{"id": "a", "runtimeInSeconds": 30}, {"id": "b", "runtimeInSeconds": 12}]
    flow = {"specification": {"tasks": tasks}, "execution": {"tasks": ran}}
    user.write("flow.json", json.dumps({"schemaVersion": "1.5", "name": "f", "workflow": flow}))
    facts = user.facts("simulate", "flow.json", *FEW)
    assert facts["cases"][-1]["seconds"]["median"] == pytest.approx(42 + 21), "one is not recorded"
    assert "1 not recorded" in facts["runtimes"]
    told = user.facts("simulate", "flow.json", "--runtimes", "5s", *FEW)
    assert told["cases"][-1]["seconds"]["median"] == pytest.approx(15)

"""How the scheduler decides can be said on the command line, which wins over the sweep file."""

from pathlib import Path

import pytest
from helpers.user import User

from bats.master.cli.main import main

SWEEP = 'command = "echo {n}"\n[grid]\nn = "1:4"\n[policy]\ntail = "none"\nmonitor = "5m"\n'
CLOUDS = '[[offering]]\nname = "a"\nbackend = "local"\nprice = "0.10"\nmax = 4\n'
FEW = ("--runs", "3", "--workers", "1", "--runtimes", "levy")


def test_a_dry_run_says_which_policies_would_decide(user: User) -> None:
    user.write("sweep.toml", SWEEP)
    words = ("run", "sweep.toml", "--dry-run")
    assert user.facts(*words)["policy"] == {"tail": "none", "monitor_seconds": 300.0}
    options = ("--tail", "random", "--provisioner", "paper", "--planner", "milp",
               "--sampling", "none", "--prudence", "0", "--seed", "7")  # fmt: skip
    assert user.facts(*words, *options)["policy"] == {
        "tail": "random", "provisioner": "paper", "planner": "milp", "sampling": "none",
        "prudence": 0.0, "seed": 7, "monitor_seconds": 300.0,
    }  # fmt: skip
    assert "policy: tail none, monitor_seconds 300" in user.bats(*words).stdout
    assert "policy" not in user.bats("run", "--dry-run", "--", "true").stdout


def test_a_bag_runs_under_the_policies_named(user: User) -> None:
    user.write("sweep.toml", SWEEP)
    words = ("--tail", "stochastic", "--sampling", "none", "--prudence", "0", "--seed", "7")
    assert "4 of 4 tasks done" in user.bats("run", "sweep.toml", *words).stdout


def test_a_master_refuses_what_only_the_simulator_can_know(user: User) -> None:
    user.write("sweep.toml", SWEEP)
    user.write("clouds.toml", CLOUDS)
    said = user.bats("run", "sweep.toml", "--tail", "perfect", exit_code=2).stderr
    assert "`perfect` knows how long every task will take" in said
    words = ("simulate", "sweep.toml", "--clouds", "clouds.toml", *FEW)
    assert user.facts(*words, "--tail", "perfect")["tail"] == "perfect"


def test_simulate_takes_the_table_and_the_options(user: User) -> None:
    user.write("clouds.toml", CLOUDS)
    user.write("plain.toml", SWEEP.partition("[policy]")[0])
    user.write("sweep.toml", SWEEP + 'prudence = 0\nsampling = "none"\nseed = 9\n')
    words = ("--clouds", "clouds.toml", "--tasks", "60", "--budget", "4", *FEW)
    usual = user.facts("simulate", "plain.toml", *words)
    assert (usual["tail"], usual["policy"]) == ("stochastic+random", {})
    table = user.facts("simulate", "sweep.toml", *words)
    assert table["tail"] == "none"
    assert table["policy"] == {"monitor_seconds": 300.0, "prudence": 0.0, "sampling": "none"}
    assert table["cases"] != usual["cases"]
    options = ("--tail", "none", "--prudence", "0", "--sampling", "none")
    assert user.facts("simulate", "plain.toml", *words, *options)["cases"] == table["cases"]
    other = user.facts("simulate", "sweep.toml", *words, "--sampling", "regression",
                       "--prudence", "1", "--tail", "stochastic+random")  # fmt: skip
    assert other["policy"] == {"monitor_seconds": 300.0, "prudence": 1.0, "sampling": "regression"}


@pytest.mark.parametrize("command", ["run", "submit", "simulate"])
@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--tail", "head", "'head' is not one of none, random, stochastic, stochastic+random"),
        ("--provisioner", "mine", "'mine' is not one of timetable, paper, cost-blind"),
        ("--planner", "greedy", "'greedy' is not one of knapsack, milp, prob, average, worst-case"),
        ("--sampling", "some", "'some' is not one of regression, implicit, none"),
        ("--prudence", "-1", "-1"),
        ("--prudence", "nan", "nan"),
        ("--seed", "-1", "-1"),
    ],
)
def test_a_mistake_names_the_option(
    command: str,
    option: str,
    value: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "sweep.toml").write_text(SWEEP)
    more = ["--runtimes", "1m"] if command == "simulate" else []
    assert main([command, "sweep.toml", option, value, *more]) == 2
    said = capsys.readouterr().err
    assert option in said
    assert says in said
    assert said.count("\n") == 1

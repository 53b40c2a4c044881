"""`bats run` does everything in one process tree, and says what came of it."""

import csv
import io
import signal
import subprocess

import pytest
from helpers.user import BATS, User
from helpers.waiting import until

TWENTY = """
command = 'test $BATS_INDEX != {bad} && echo square {n} $(({n} * {n}))'
retries = 0
[grid]
bad = [%s]
n = "1:20"
"""


def test_twenty_tasks_run_here_and_now_for_nothing(user: User) -> None:
    sweep = user.write("squares.toml", TWENTY % "-1")
    done = user.facts("run", sweep)
    assert (done["state"], done["done"], done["spent"]) == ("complete", 20, "0")


def test_what_ran_can_be_looked_at_afterwards(user: User) -> None:
    sweep = user.write("squares.toml", TWENTY % "-1")
    said = user.bats("run", sweep).stdout
    assert "done: 20 of 20 tasks" in said
    assert user.facts("status", "last")["done"] == 20
    rows = list(csv.DictReader(io.StringIO(user.bats("results", "--csv").stdout)))
    assert [row["n"] for row in rows] == [str(n) for n in range(1, 21)]
    assert {row["outcome"] for row in rows} == {"done"}
    assert user.bats("logs", "last", "6").stdout == "square 7 49\n"
    assert "a task takes" in user.bats("explain").stdout
    assert "attempt 1: done with exit code 0" in user.bats("explain", "last", "3").stdout


def test_a_failed_task_is_told_by_the_exit_code_and_in_words(user: User) -> None:
    sweep = user.write("squares.toml", TWENTY % "4")
    done = user.bats("run", sweep, exit_code=1)
    assert "19 of 20 tasks done, 1 failed" in done.stdout
    failed = user.bats("results", "--failed", "-q").stdout
    assert failed == "4\n"


def test_the_schedules_of_a_paid_bag_are_shown_and_the_budget_is_kept(user: User) -> None:
    clouds = user.write(
        "clouds.toml",
        '[[offering]]\nname = "rented"\nbackend = "local"\nprice = "0.10"\nper = "20s"\n'
        'atu = "20s"\nboundary = "6s"\nmax = 2\n',
    )
    sweep = user.write("naps.toml", 'command = "sleep 0.1"\n[grid]\nn = "1:60"\n')
    done = user.bats("run", sweep, "--clouds", clouds, "--budget", "6")
    assert "schedule" in done.stdout
    assert "cost" in done.stdout
    last = user.facts("status", "last")
    assert 0 < float(last["spent"]) <= 6
    rows = list(csv.DictReader(io.StringIO(user.bats("results", "--csv").stdout)))
    shares = [float(row["cost_share"]) for row in rows]
    assert sum(shares) == pytest.approx(float(last["spent"]), rel=0.3)
    assert "cost" in user.bats("results").stdout.partition("\n")[0]


def test_paid_machines_are_not_started_when_nobody_can_choose(user: User) -> None:
    clouds = user.write(
        "clouds.toml", '[[offering]]\nname = "dear"\nbackend = "local"\nprice = 1\nmax = 1\n'
    )
    sweep = user.write("naps.toml", 'command = "true"\n')
    done = user.bats("run", sweep, "--clouds", clouds, exit_code=2)
    assert "--budget, --deadline, --pick or --yes" in done.stderr


def test_an_interrupted_run_stops_in_order_and_keeps_what_is_done(user: User) -> None:
    clouds = user.write(
        "c.toml", '[[offering]]\nname = "a"\nbackend = "local"\nprice = 0\nslots = 3\n'
    )
    sweep = user.write(
        "slow.toml", 'command = "touch at-{s}; sleep {s}"\n[grid]\ns = [0, 600, 601]\n'
    )
    with user.started("run", sweep, "--clouds", clouds) as process:
        until(lambda: len(list(user.folder.glob("at-*"))) == 3)
        until(lambda: _recorded(user))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopping in order" in err
    assert "cancelled: 1 of 3 tasks done" in out
    assert not user.machines()


def _recorded(user: User) -> bool:
    return user.bats("results", "-q").stdout == "0\n"


def test_a_second_interrupt_stops_at_once(user: User) -> None:
    sweep = user.write("slow.toml", "command = \"trap '' INT TERM; touch at; sleep 600\"\n")
    with user.started("run", sweep) as process:
        until((user.folder / "at").exists)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert "in order" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    until(lambda: not user.machines())


def test_a_closed_pipe_is_no_error(user: User) -> None:
    sweep = user.write("squares.toml", TWENTY % "-1")
    shell = f'"{BATS}" submit {sweep} --dry-run | head -n 1'
    done = subprocess.run(
        ["bash", "-c", shell],
        cwd=user.folder,
        env=user.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("squares: 20 tasks\n", "")

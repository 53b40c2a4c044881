"""Master, submission and questions live in different shells and find each other."""

import os
import signal

import pytest
from helpers.user import User
from helpers.waiting import until

SWEEP = 'command = "echo {n}"\n[grid]\nn = "1:30"\n'


def test_a_master_is_found_through_its_state_folder(user: User) -> None:
    with user.master():
        bag = user.bats("submit", "-q", user.write("s.toml", SWEEP)).stdout.strip()
        assert bag == "1"
        assert user.bats("watch", "-q", bag).returncode == 0
        status = user.facts("status", bag)
        assert (status["state"], status["done"]) == ("complete", 30)
        assert user.bats("logs", bag, "29").stdout == "30\n"
        named = ("--access", str(user.state / "access.json"), "--state", str(user.folder / "no"))
        assert user.facts(*named, "status", "last")["bag"] == 1
        assert "here" in user.bats("machines").stdout


def test_tasks_from_the_command_line_and_from_standard_input(user: User) -> None:
    with user.master():
        user.bats("submit", "-p", "x=1,2", "-p", "y=a,b", "--", "echo", "{x}{y}")
        user.bats("watch", "-q")
        assert user.bats("logs", "last", "3").stdout == "2b\n"
        user.bats("submit", "-", "--", "echo", "<{line}>", text="one\ntwo\n")
        user.bats("watch", "-q")
        assert user.bats("logs", "last", "1").stdout == "<two>\n"
        user.bats("submit", "echo {}; echo {}.png", "-", text="one\ntwo\n")
        user.bats("watch", "-q")
        assert user.bats("logs", "last", "1").stdout == "two\ntwo.png\n"


def test_a_failed_task_is_tried_again_when_its_cause_is_gone(user: User) -> None:
    sweep = user.write("s.toml", 'command = "cat wanted.txt"\nretries = 0\n')
    with user.master():
        user.bats("submit", sweep)
        user.bats("watch", "-q", exit_code=1)
        assert "No such file" in user.bats("explain", "last", "0").stdout
        user.write("wanted.txt", "here\n")
        user.bats("retry", "--failed")
        user.bats("watch", "-q", exit_code=0)
        assert user.bats("logs", "last", "0").stdout == "here\n"


def test_a_cancelled_bag_is_over(user: User) -> None:
    with user.master():
        user.bats("submit", user.write("s.toml", 'command = "sleep 600"\n'))
        until(user.machines)
        user.bats("cancel", "--reason", "wrong seed")
        user.bats("watch", "-q", exit_code=130)
        assert "wrong seed" in user.bats("status", "last").stdout


def test_a_worker_killed_in_mid_bag_costs_no_result(user: User) -> None:
    sweep = user.write(
        "s.toml",
        'command = "echo x >> ran-{n}; sleep 0.1"\nretries = 0\n[grid]\nn = "1:40"\n',
    )
    clouds = user.write(
        "c.toml", '[[offering]]\nname = "two"\nbackend = "local"\nprice = 0\nmax = 2\n'
    )
    with user.master():
        user.bats("submit", sweep, "--clouds", clouds)
        until(lambda: user.facts("status", "last")["done"] >= 5)
        victim = min(user.machines().items())[1]
        os.kill(victim, signal.SIGKILL)
        user.bats("watch", "-q")
        done = user.facts("status", "last")
        assert (done["done"], done["failed"]) == (40, 0)
        rows = user.bats("results", "--csv").stdout.splitlines()[1:]
        assert [row.split(",")[1] for row in rows] == [str(task) for task in range(40)]


def test_a_worker_started_by_hand_takes_part(user: User) -> None:
    clouds = user.write("c.toml", '[[offering]]\nname = "desk"\nbackend = "local"\nprice = 0\n')
    with user.master("--clouds", clouds):
        access = str(user.state / "worker.json")
        with user.started("worker", "--access", access, "--slots", "1"):
            user.bats("submit", user.write("s.toml", SWEEP))
            user.bats("watch", "-q")
    assert user.bats("status", "last").stdout.count("30 of 30") == 1


@pytest.mark.parametrize("file", ["worker.json", "nobody.json"])
def test_a_wrong_access_file_is_told_in_a_sentence(user: User, file: str) -> None:
    with user.master():
        done = user.bats("status", "--access", str(user.state / file), exit_code=2)
    assert done.stderr.startswith("bats: ")
    assert len(done.stderr.splitlines()) == 1


def test_no_master_is_told_in_a_sentence(user: User) -> None:
    done = user.bats("submit", user.write("s.toml", SWEEP), exit_code=4)
    assert "bats master" in done.stderr
    with user.master():
        pass
    assert "bats master" in user.bats("submit", "s.toml", exit_code=4).stderr
    assert user.bats("status").stdout.startswith("No bag")


def test_a_worker_started_by_hand_is_locked_out_alone(user: User) -> None:
    sweep = user.write("s.toml", 'command = "sleep 0.2"\n[grid]\nn = "1:10"\n')

    def joined(before: int) -> None:
        until(lambda: len([one for one in keys() if one["there"]]) > before)

    def keys() -> list[dict[str, object]]:
        return list(user.facts("access", "list")["workers"])

    def worker(folder: str) -> tuple[str, ...]:
        access = str(user.state / "worker.json")
        return ("worker", "--access", access, "--slots", "1", "--folder", str(user.folder / folder))

    with user.master(), user.started(*worker("a")) as bad:
        joined(0)
        with user.started(*worker("b")):
            joined(1)
            user.bats("submit", sweep)
            machine = str(keys()[0]["machine"])
            assert f"Machine {machine} on " in user.bats("access", "revoke", machine).stdout
            assert bad.wait(20) == 4
            assert user.bats("watch", "-q").returncode == 0
            (left,) = keys()
            assert left["there"]

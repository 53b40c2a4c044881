"""`bats logs -f` prints what a task writes while it runs, and ends with it, or with the bag."""

import signal

from helpers.user import User

SLOW = """
command = 'echo begins; until [ -e {name}.go ]; do sleep 0.02; done; echo ends; echo oops >&2'
[grid]
name = ["a", "b"]
"""


def test_a_running_task_is_followed_to_its_end(user: User) -> None:
    sweep = user.write("slow.toml", SLOW)
    with user.master():
        user.bats("submit", sweep)
        with user.started("logs", "-f", "last", "1") as process:
            assert process.stdout
            assert process.stdout.readline() == "begins\n", "said while the task runs"
            assert process.poll() is None
            user.write("b.go", "")
            assert process.stdout.read() == "ends\n"
            assert process.wait(20) == 0
        assert user.bats("logs", "-f", "last", "1", "--err").stdout == "oops\n"
        user.write("a.go", "")


def test_a_bag_is_followed_task_by_task(user: User) -> None:
    sweep = user.write("slow.toml", SLOW)
    with user.master():
        user.bats("submit", sweep)
        with user.started("logs", "-f") as process:
            assert process.stdout
            user.write("b.go", "")
            assert [process.stdout.readline() for _ in range(2)] == ["1: begins\n", "1: ends\n"]
            user.write("a.go", "")
            assert process.stdout.read() == "0: begins\n0: ends\n"
            assert process.wait(20) == 0
    assert len(user.bats("logs", "-f").stdout.splitlines()) == 4, "also when the master is gone"


def test_a_second_attempt_is_followed_after_the_first(user: User) -> None:
    command = "echo try $BATS_ATTEMPT; until [ -e go ]; do sleep 0.02; done; test $BATS_ATTEMPT = 2"
    sweep = user.write("again.toml", f"command = '{command}'\n")
    with user.master():
        user.bats("submit", sweep)
        with user.started("logs", "-f", "last", "0") as process:
            assert process.stdout
            assert process.stdout.readline() == "try 1\n"
            user.write("go", "")
            assert process.stdout.read() == "try 2\n"
            assert process.wait(20) == 0


def test_an_interrupt_only_ends_the_following(user: User) -> None:
    sweep = user.write("slow.toml", SLOW)
    with user.master():
        user.bats("submit", sweep)
        with user.started("logs", "-f", "last", "0") as process:
            assert process.stdout
            assert process.stdout.readline() == "begins\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130
            assert process.stderr
            assert process.stderr.read() == ""
        for name in "ab":
            user.write(f"{name}.go", "")
        assert user.bats("watch", "-q").returncode == 0

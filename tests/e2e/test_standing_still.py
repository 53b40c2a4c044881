"""A bag that no master serves says so, and goes on at one command."""

import re
import signal

from helpers.user import User
from helpers.waiting import until

SWEEP = 'command = "until test {n} -lt 5 || test -e gate; do sleep 0.1; done"\n[grid]\nn = "1:5"\n'


def _done(user: User) -> int:
    return len(user.bats("results", "-q").stdout.split())


def test_after_a_kill_status_says_that_nothing_runs_and_resume_goes_on(user: User) -> None:
    sweep = user.write("s.toml", SWEEP)
    with user.started("run", sweep) as process:
        user.begun(process)
        until(lambda: _done(user) == 4)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    row = user.bats("status").stdout.splitlines()[1]
    assert re.search(r"1  s  +stands still +4 +0 +5 ", row)
    words = r"no master runs; the last wrote at \d\d:\d\d \([\d.]+ s ago\); `bats resume 1` or "
    assert re.search(words, row)
    assert re.search(rf"bag 1 \(s\): stands still: {words}", user.bats("status", "1").stdout)
    said = user.bats("watch", exit_code=4).stderr
    assert said.endswith("Until then nothing runs; `bats resume 1` goes on with bag 1 here.\n")
    said = user.bats("watch", "--all", exit_code=4).stderr
    assert said.endswith("`bats resume BAG` goes on with it here.\n")
    user.write("gate", "")
    said = user.bats("resume").stdout
    assert said.startswith("bag 1 (s) goes on\n")
    assert "done: 5 of 5 tasks done" in said
    assert "nothing" not in user.bats("status").stdout
    assert "5 of 5 done" in user.bats("watch").stdout, "it has ended, with a master or without"


def test_after_an_interrupt_the_last_screen_says_how_to_go_on(user: User) -> None:
    sweep = user.write("s.toml", SWEEP)
    with user.started("run", sweep) as process:
        user.begun(process)
        until(lambda: _done(user) == 4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert "next      `bats resume 1` goes on with what is not done\n" in out
    user.write("gate", "")
    assert "done: 5 of 5 tasks done" in user.bats("resume", "1").stdout
    said = user.bats("resume", "1", exit_code=2).stderr
    assert said == "bats: Bag 1 has ended: complete; all is done.\n"


def test_failed_tasks_are_tried_again_where_no_master_runs(user: User) -> None:
    sweep = user.write("s.toml", 'command = "test {n} -lt 3 || test -e gate"\n[grid]\nn = "1:5"\n')
    assert "2 of 5 tasks done, 3 failed" in user.bats("run", sweep, exit_code=1).stdout
    user.write("gate", "")
    said = user.bats("retry").stdout
    assert said.startswith("Bag 1: 3 tasks to be tried again.\n")
    assert "done: 5 of 5 tasks done" in said
    said = user.bats("retry", exit_code=2).stderr
    assert said == "bats: Bag 1 has no failed task to try again.\n"


def test_watch_outlives_its_master_and_joins_the_next(user: User) -> None:
    sweep = user.write("s.toml", SWEEP)
    with user.master() as master:
        user.bats("submit", sweep)
        with user.started("watch") as watching, user.started("watch", "--all") as all_of_them:
            until(lambda: _done(user) == 4)
            master.send_signal(signal.SIGKILL)
            master.communicate()
            assert watching.stderr
            assert "waiting for the next one" in watching.stderr.readline()
            with user.master():
                assert watching.stderr.readline() == "bats: a master is there again.\n"
                user.write("gate", "")
                out, _ = watching.communicate(timeout=60)
                last, _ = all_of_them.communicate(timeout=60)
    assert watching.returncode == all_of_them.returncode == 0
    assert re.search(r"1  s +complete +5 ", last)
    assert "5 of 5 done" in out
    assert out.count("executing: ") == len(set(re.findall("executing: .*", out)))

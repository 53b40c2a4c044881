"""A sweep that is broken pauses for a few cents, and completes once it is mended."""

from helpers.user import User
from helpers.waiting import until

CLOUDS = """
[[offering]]
name = "slow"
backend = "local"
price = "0.04"
per = "3s"
atu = "3s"
boundary = "1s"
max = 2

[[offering]]
name = "fast"
backend = "local"
price = "0.10"
per = "3s"
atu = "3s"
boundary = "1s"
max = 2
"""
BROKEN = """
command = "sleep 0.1; if ! test -e fixed; then echo No such file: mising.py >&2; exit 2; fi"
[grid]
n = "1:40"
"""
REASON = "the first 12 tasks all failed alike: exit code 2, 'No such file: mising.py'"


def test_a_script_is_told_by_exit_code_and_words_and_the_bag_can_be_resumed(user: User) -> None:
    sweep, clouds = user.write("s.toml", BROKEN), user.write("c.toml", CLOUDS)
    words = ("--clouds", clouds, "--budget", "5", "--term", "3s")
    done = user.bats("run", sweep, *words, exit_code=1)
    assert f"because   {REASON}" in done.stdout
    assert "`bats resume 1` goes on and tries them again, `bats cancel 1` ends it" in done.stdout
    assert not user.machines(), "nothing is left running"
    before = user.facts("status", "last")
    assert (before["state"], before["done"], before["over"]) == ("paused", 0, False)
    assert before["paused"]["reason"] == REASON
    assert 0 < float(before["spent"]) <= 4 * 0.14, "two ATUs of each machine at most"
    assert REASON in user.bats("status").stdout
    assert REASON in user.bats("explain").stdout
    assert "No such file" in user.bats("explain", "1", str(before["paused"]["task"])).stdout
    with user.master():
        assert user.bats("watch", "-q", exit_code=1), "who waits for it is told"
        assert user.facts("status", "last")["spent"] == before["spent"]
        user.write("fixed", "")
        assert user.bats("resume").stdout == "Bag 1 goes on.\n"
        user.bats("watch")
        until(lambda: user.facts("status", "last")["over"])
    status = user.facts("status", "last")
    assert (status["state"], status["done"], status["failed"]) == ("complete", 40, 0)
    assert status["paused"] is None
    assert float(status["spent"]) <= 5
    finished = user.bats("resume", exit_code=2).stderr  # nobody is there, and nothing is left
    assert finished == "bats: Bag 1 has ended: complete; all is done.\n"


def test_max_failures_is_a_whole_number_from_1(user: User) -> None:
    sweep = user.write("s.toml", f"max_failures = 0\n{BROKEN}")
    said = user.bats("run", sweep, exit_code=2).stderr
    assert said == "bats: s.toml, line 1: `max_failures`: should be 1 or more, not 0.\n"
    said = user.bats("run", "--max-failures", "-3", "--", "true", exit_code=2).stderr
    assert said == "bats: --max-failures: should be 1 or more, not -3.\n"

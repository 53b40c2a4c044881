"""`bats run -k` prints what tasks wrote, in the order of the tasks, and nothing else."""

from helpers.user import User


def test_outputs_come_in_the_order_of_the_values_whichever_ends_first(user: User) -> None:
    done = user.bats("run", "-k", "sleep 0.{}; echo {}", ":::", "6", "1", "4", "2")
    assert done.stdout == "6\n1\n4\n2\n"
    assert "4 of 4 tasks done" in done.stderr


def test_of_a_task_that_is_tried_again_the_attempt_that_counts_is_printed(user: User) -> None:
    again = "test -e {}.was && echo second {} && exit; echo first {}; touch {}.was; exit 1"
    assert user.bats("run", "-k", again, ":::", "a", "b").stdout == "second a\nsecond b\n"


def test_what_failed_is_printed_too_and_told_in_the_end(user: User) -> None:
    line = "echo says {}; test {} != b"
    done = user.bats("run", "-k", line, ":::", "a", "b", "c", exit_code=1)
    assert done.stdout == "says a\nsays b\nsays c\n"
    assert "1 failed" in done.stderr


def test_facts_and_outputs_are_not_mixed(user: User) -> None:
    said = user.bats("run", "-k", "--json", "echo {}", ":::", "a", exit_code=2).stderr
    assert said == "bats: -k prints what tasks wrote, --json facts; give one of them.\n"

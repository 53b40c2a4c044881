"""A workflow as its user runs it: order is kept, what a failure cuts off is taken up by retry."""

import re

from helpers.user import User

TOUR = """
[[step]]
name = "prepare"
command = "seq 1 4 > numbers"

[[step]]
name = "square"
command = "n=$(sed -n {line}p numbers); test $n != 3 -o -e mended && echo $((n * n)) > sq-{line}"
after = "prepare"
retries = 0
grid = { line = "1:4" }

[[step]]
name = "twice"
command = "echo $(( 2 * $(cat sq-{line}) )) > twice-{line}"
after = { step = "square", each = "line" }
grid = { line = "1:4" }

[[step]]
name = "gather"
command = "cat twice-* | paste -sd+ | sed 's/^/sum=$((/; s/$/))/' | sh -c 'eval echo $(cat)'"
after = "twice"
"""


def test_a_failure_cuts_off_exactly_what_waits_for_it_and_retry_completes_exactly_that(
    user: User,
) -> None:
    flow = user.write("flow.toml", TOUR)
    drawn = user.bats("run", flow, "--dry-run").stdout
    assert "flow: 10 tasks in 4 steps\n  prepare         1 task\n" in drawn
    assert "      └ twice     4 tasks  after square (4 pairs)\n" in drawn
    said = user.bats("run", flow, exit_code=1).stdout
    assert "with failures: 7 of 10 tasks done, 1 failed, 2 cut off in" in said
    status = user.facts("status", "1", exit_code=0)
    assert (status["done"], status["failed"], status["cut_off"]) == (7, 1, 2)
    assert "square   3 of 4 done, 1 failed" in user.bats("status", "1").stdout
    told = user.bats("explain", "1", "9").stdout
    assert told.startswith("task 9 of bag 1: cut off\n")
    assert told.endswith("it waits for task 3 of square, which failed for good\n")
    with user.master():
        user.write("mended", "")
        user.bats("retry", "1")
        said = user.bats("watch", "1", exit_code=0).stdout
    status = user.facts("status", "1")
    assert (status["state"], status["done"], status["failed"]) == ("complete", 10, 0)
    assert "sum=60" in user.bats("results", "1", "--output").stdout
    table = user.bats("results", "1").stdout
    assert not re.search(r"\d{6}", table)  # machines are called by their names
    assert table.splitlines()[0].split()[:3] == ["task", "step", "line"]

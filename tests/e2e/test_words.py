"""What a user is told is true: the amount that would do, a missed deadline, what holds."""

import re
from decimal import Decimal

import pytest
from helpers.user import User
from helpers.waiting import until

CLOUDS = """
[[offering]]
name = "slow"
backend = "local"
price = "0.04"
per = "5s"
atu = "5s"
boundary = "1s"
max = 2

[[offering]]
name = "fast"
backend = "local"
price = "0.10"
per = "5s"
atu = "5s"
boundary = "1s"
max = 2
"""
NAPS = 'command = "sleep 0.4"\n[grid]\nn = "1:%d"\n'


@pytest.fixture
def clouds(user: User) -> str:
    return user.write("c.toml", CLOUDS)


def test_a_budget_that_pays_for_no_machine_is_refused_with_an_amount(
    user: User, clouds: str
) -> None:
    sweep = user.write("naps.toml", NAPS % 100)
    said = user.bats("run", sweep, "--clouds", clouds, "--budget", "0.01", exit_code=3).stderr
    found = re.search(r"pays for no machine: the cheapest, slow, is had for \$([\d.]+)\.", said)
    assert found, said
    user.bats("run", sweep, "--clouds", clouds, "--budget", found[1], exit_code=3)
    ended = user.facts("status", "last")
    assert ended["state"] == "out of budget"
    assert 0 < Decimal(ended["spent"]) <= Decimal(found[1])


def test_the_amount_that_is_named_is_taken_and_stays(user: User, clouds: str) -> None:
    """That it then suffices is shown in virtual time: a busy computer starts machines late.

    It stops them late, too: what that takes is known once they are gone.
    """
    sweep = user.write("naps.toml", NAPS % 150)

    def only_the_choice_is_missing() -> bool:
        facts = user.facts("status", "last")
        return facts.get("phase") == "choosing" and not facts["machines"]

    with user.master():
        user.bats("submit", sweep, "--clouds", clouds)
        until(only_the_choice_is_missing)
        line = user.bats("status").stdout.splitlines()[-1]
        assert re.search(r"choosing +\d+ +0 +150 +\$0\.\d+  a choice is wanted: `bats sch", line), (
            line
        )
        assert "limit" not in user.bats("status", "last").stdout
        refused = user.bats("choose", "1", "--budget", "0.01", exit_code=3).stderr
        found = re.search(
            r"needs \$([\d.]+) in all, more than the budget of \$0.01; \$[\d.]+ are", refused
        )
        assert found, refused
        told = user.bats("choose", "--budget", found[1]).stdout
        assert told == f"Bag 1 goes on with the limits given, within its budget of ${found[1]}.\n"
        told = user.bats("choose", "fastest").stdout
        assert f"within its budget of ${found[1]}." in told or "which is less than" in told
        user.bats("watch", exit_code=None)
    ended = user.facts("status", "last")
    assert ended["over"]
    assert Decimal(ended["budget"]) == Decimal(ended["limit"]) == Decimal(found[1])
    assert Decimal(ended["spent"]) <= Decimal(found[1])


def test_a_missed_deadline_is_said_at_the_end_and_in_the_exit_code(user: User, clouds: str) -> None:
    sweep = user.write("naps.toml", NAPS % 60)
    words = (sweep, "--clouds", clouds, "--deadline", "3s")
    assert "deadline  missed by " in user.bats("run", *words, exit_code=3).stdout
    assert "deadline  missed by " in user.bats("status", "last").stdout
    assert user.facts("status", "last")["deadline_missed"]
    user.bats("report", "--html", "report.html")
    assert ", missed<" in (user.folder / "report.html").read_text()


def test_a_deadline_that_was_kept_is_said_too(user: User) -> None:
    sweep = user.write("naps.toml", NAPS % 3)
    told = user.bats("run", sweep, "--deadline", "5m").stdout
    assert re.search(r"^deadline  kept, with 4 min \d+ s to spare$", told, re.MULTILINE)


def test_a_task_that_waits_is_told_why(user: User, clouds: str) -> None:
    sweep = user.write("naps.toml", 'command = "sleep 60"\n[grid]\nn = "1:9"\n')
    with user.master():
        user.bats("submit", sweep, "--clouds", clouds, "--budget", "9")
        until(lambda: user.facts("status", "last").get("running"))
        waiting = next(
            said for k in range(9)
            if "waiting" in (said := user.bats("explain", "last", str(k)).stdout)
        )  # fmt: skip
        assert re.search(r"it waits: (every slot is taken, of|no machine is there yet)", waiting)
        user.bats("cancel")

"""What was offered, told and decided is answered from the store when no master runs."""

import json

from helpers.user import User

CLOUDS = """
[[offering]]
name = "here"
backend = "local"
price = "0.01"
per = "1s"
atu = "1s"
max = 2
"""


def test_schedules_and_reasons_are_told_without_a_master_as_they_were_with_one(user: User) -> None:
    user.write("c.toml", CLOUDS)
    sweep = user.write("naps.toml", 'command = "sleep 0.05"\n[grid]\nn = "1:60"\n')
    words = user.bats("run", sweep, "--clouds", "c.toml", "--budget", "5").stdout
    shown = user.bats("schedules").stdout.strip()
    assert shown in words, "the table that was printed at the choice"
    facts = json.loads(user.bats("schedules", "--json").stdout)
    (one,) = facts["schedules"]
    assert one["name"] == facts["chosen"]
    assert one["bounds"] is not None
    explained = user.bats("explain").stdout
    assert "here      a task takes" in explained
    assert "chosen" in explained
    assert json.loads(user.bats("explain", "--json").stdout)["plan"] is not None


def test_of_a_bag_that_never_began_there_is_nothing_to_choose_yet(user: User) -> None:
    sweep = user.write("naps.toml", 'command = "sleep 0.05"\n[grid]\nn = "1:6"\n')
    with user.master() as master:
        user.bats("submit", sweep)
        user.bats("submit", sweep, "--after", "1")
        user.bats("watch", "1")
        user.bats("watch", "2")
        master.terminate()
        master.communicate()
    assert "no schedule is offered" in user.bats("schedules", "2").stdout


def test_a_bag_that_has_ended_is_judged_by_the_measures_of_autoscalers(user: User) -> None:
    user.write("c.toml", CLOUDS)
    sweep = user.write("naps.toml", 'command = "sleep 0.05"\n[grid]\nn = "1:40"\n')
    user.bats("run", sweep, "--clouds", "c.toml", "--budget", "5")
    told = json.loads(user.bats("elasticity", "--json").stdout)
    assert told["most"] == 2
    assert 0 < told["mean_supply"] <= 2
    assert 0 < told["hours_on"] <= told["hours_charged"]
    words = user.bats("elasticity", "--most", "40").stdout
    assert "of at most 40 places" in words
    assert "left out" not in words
    late = user.bats("elasticity", "--since", "2h", exit_code=2)
    assert "there is nothing to measure" in late.stderr

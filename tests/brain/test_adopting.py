"""A timetable becomes machines that come, stay or leave."""

from workbench import Bench, offering, settings

from bats.common.money import NOTHING
from bats.master.brain.planning.timetable import Group, Timetable
from bats.master.brain.rules import adopting
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.prospects import Ahead


def test_a_plan_that_may_ask_for_no_more_leaves_what_was_asked_for_this_moment() -> None:
    bench = Bench(settings(100, offering(), budget=100))
    bench.begin()
    asked = bench.run.staying(0)
    assert asked
    none_more = Group(0, bench.run.clusters[0].offering, 0, 60.0, 0.0, 0.0, 1, fresh=True)
    ahead = Ahead(Timetable(60.0, NOTHING, ()), [(none_more, [])], 0.0, 0.0)
    adopting.follow(bench.run, ahead, Outlook(100, 0, 0.0, 0.0), "")
    assert bench.run.staying(0) == asked

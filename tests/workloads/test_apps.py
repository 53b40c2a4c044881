"""A bag of real tasks takes the time on each machine that the thesis measured there."""

import os
from statistics import fmean

import pytest
from experiments.apps import KOHONEN, SARSA, App, Bag, bag

from bats.common.errors import UsageError
from bats.common.messages import TaskId

APPS = pytest.mark.parametrize("app", [KOHONEN, SARSA], ids=lambda app: app.name)


def seconds_at_speed_1(fitted: Bag) -> list[float]:
    """Of each task, as its command has it."""
    commands = [fitted.sweep.preview(index).split() for index in range(fitted.sweep.count)]
    return [
        float(words[words.index(f"--{fitted.app.size}") + 1])
        * float(words[words.index("--pace") + 1])
        for words in commands
    ]


@APPS
def test_a_task_takes_as_many_minutes_on_each_machine_as_published(app: App):
    fitted = bag(app, 1000.0)
    mean = fmean(seconds_at_speed_1(fitted))
    speeds = [float(offering.settings["speed"]) for offering in fitted.offerings]
    assert [mean / speed / 1000 for speed in speeds] == pytest.approx(app.minutes, rel=1e-5)


@APPS
@pytest.mark.parametrize("cores", [2, 16, 256])
def test_the_fastest_machine_has_time_to_spare_for_its_shortest_task(
    app: App, cores: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    fitted = bag(app, None)
    shortest = min(seconds_at_speed_1(fitted)) / max(app.speeds())
    assert shortest > 2 * fitted.cpu_seconds  # of a task in the middle


def test_a_minute_in_which_the_cores_cannot_pass_for_all_machines_is_refused():
    with pytest.raises(UsageError, match=r"A model minute of 0\.001 s is too short for \d+ cores"):
        bag(SARSA, 0.001)


@APPS
def test_how_long_a_task_takes_is_known_from_its_command(app: App):
    fitted = bag(app, 1000.0)
    for cluster, speed in enumerate(app.speeds()):
        known = [fitted.seconds(TaskId(k), cluster) for k in range(fitted.sweep.count)]
        assert known == pytest.approx([s / speed for s in seconds_at_speed_1(fitted)], rel=1e-4)

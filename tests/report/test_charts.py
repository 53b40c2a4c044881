"""Drawings say what they show, and no words hide others."""

import re
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.brain.protocol.graph import Step, graph
from bats.master.report.charts import scatter
from bats.master.report.step_spans import order_drawn
from bats.master.report.svg import duration
from bats.master.report.value_plot import value_plot

offers = st.builds(
    lambda name, cost, seconds: {"name": name, "cost": cost, "makespan_seconds": seconds},
    st.sampled_from(["cheapest", "cheapest+10%", "fastest-20%", "fastest-10%", "fastest"]),
    st.integers(1, 10**10),
    st.floats(0.1, 1e6),
)


@given(st.lists(offers, min_size=1, max_size=6), st.sampled_from([280.0, 430.0, 600.0]))
def test_names_of_schedules_stay_apart_and_inside(found: list[dict[str, object]], width: float):
    drawn = scatter(found, "", width, "$")
    places = [
        (float(x), float(y), 5.0 * len(words))
        for x, y, words in re.findall(
            r'<text x="([\d.]+)" y="([\d.-]+)"[^>]*class="label">([^<]*)<', drawn
        )
    ]
    assert drawn.count("<circle") >= len(places)
    for k, (x, y, wide) in enumerate(places):
        assert x >= 0
        assert x + wide <= width
        for x2, y2, wide2 in places[:k]:
            assert abs(y - y2) > 10 or x + wide < x2 or x2 + wide2 < x


def test_a_few_values_say_what_they_are_when_pointed_at():
    drawn = value_plot([(k, k * k) for k in range(9)], "n", "loss", 600)
    assert drawn.count("<circle") == 9
    assert "<title>n = 3: loss = 9</title>" in drawn


def test_thousands_of_values_are_one_shape_which_a_browser_draws_without_a_stutter():
    points = [(k % 50, k) for k in range(5000)]
    drawn = value_plot([*points, *points], "n", "loss", 600)
    assert "<circle" not in drawn
    assert drawn.count("<") < 60
    (marks,) = re.findall(r'd="((?:M[\d. ]+h0)+)"', drawn)
    assert 1000 < marks.count("M") <= 5000  # those in one place are one


@pytest.mark.parametrize("width", [280, 600, 1200])
def test_numbers_below_a_plot_do_not_touch(width: int):
    drawn = value_plot([(k, k) for k in range(2000)], "n", "loss", width)
    ticks = re.findall(r'<text x="([\d.]+)"[^>]*"middle"[^>]*>([^<]+)<', drawn)
    places = [float(x) for x, _ in ticks]
    assert len(places) >= 2
    letter = 6.5
    for (left, words), right in zip(ticks, places[1:], strict=False):
        assert float(left) + len(words) * letter < right


def test_short_times_are_told_in_units_that_fit_them():
    told = [duration(seconds) for seconds in (0, 4.7e-5, 0.0006, 0.015, 0.0994, 0.25, 12.0)]
    assert told == ["0 s", "47 µs", "600 µs", "15 ms", "99.4 ms", "0.25 s", "12 s"]


def test_the_order_of_steps_is_drawn_with_a_way_from_each_to_what_waits_for_it() -> None:
    steps = [Step("gather", 1), Step("prepare", 2), Step("sim<1>", 4)]
    of = graph(steps, [(1, 3), (2, 4)], [(1, 0), (2, 0)])
    drawn = order_drawn(of, 280)
    svg = fromstring(drawn)
    names = [one.text or "" for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert names == ["prepare  · 2 tasks", "sim<1>  · 4 tasks", "gather  · 1 task"]
    ways = [one.get("class") for one in svg.iter("{http://www.w3.org/2000/svg}path")]
    assert sorted(map(str, ways)) == ["way", "way every", "way every"]
    assert "sim&lt;1&gt;: after prepare" in drawn


def test_tasks_of_a_step_that_wait_for_one_another_draw_no_way_to_itself() -> None:
    drawn = order_drawn(graph([Step("task", 3)], [(0, 1), (1, 2)]), 280)
    assert "<path" not in drawn
    assert "task  · 3 tasks" in drawn

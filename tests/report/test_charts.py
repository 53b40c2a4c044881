"""Drawings say what they show, and no words hide others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.report.charts import scatter
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

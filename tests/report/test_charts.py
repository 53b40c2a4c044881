"""Drawings say what they show, and no words hide others."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bats.master.report.charts import scatter

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

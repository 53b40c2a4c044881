"""The picture of prices and times stays within its room and hides no schedule."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bats.master.cli.display.offers import offers
from bats.master.cli.display.scatter import scatter

DOLLAR = 10**9
SCHEDULES = [
    {"cost": 1 * DOLLAR, "makespan_seconds": 7200.0},
    {"cost": 1 * DOLLAR, "makespan_seconds": 7200.0},
    {"cost": 3 * DOLLAR, "makespan_seconds": 3600.0},
    {"cost": 5 * DOLLAR, "makespan_seconds": 600.0},
]

PICTURE = """\
 2 h 00 min │ 1,2
            │
            │               3
            │
10 min 00 s │                             4
       time └──────────────────────────────
              $1.00                   $5.00  price"""


def test_what_is_dear_lies_right_and_what_is_fast_below() -> None:
    assert scatter(SCHEDULES, "$", width=50, height=5) == PICTURE


@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.floats(0.1, 1e6, allow_nan=False)),
        min_size=1,
        max_size=8,
    ),
    st.integers(30, 200),
    st.integers(0, 20),
)
def test_every_schedule_is_to_be_seen(
    found: list[tuple[int, float]], width: int, height: int
) -> None:
    facts = [{"cost": cost, "makespan_seconds": seconds} for cost, seconds in found]
    drawn = scatter(facts, "$", width=width, height=height)
    if not drawn:
        return
    lines = drawn.split("\n")
    assert len(lines) == height + 2
    assert max(map(len, lines)) <= width
    plane = " ".join(line.partition("│")[2] for line in lines[:height])
    assert sorted(map(int, re.findall(r"\d+", plane))) == list(range(1, len(found) + 1))


def test_there_is_none_of_a_single_point_or_without_room() -> None:
    assert not scatter(SCHEDULES[:2], "$", width=80)
    assert not scatter(SCHEDULES, "$", width=20)
    assert not scatter(SCHEDULES, "$", width=80, height=2)


def test_a_narrow_terminal_shortens_the_mixes_and_nothing_else() -> None:
    facts = {
        "phase": "choosing",
        "chosen": "",
        "currency": "$",
        "committed": DOLLAR,
        "at": 12.0,
        "clusters": ["m1.extralarge", "c5.doublelarge"],
        "schedules": [
            {**one, "name": "cheapest+10%", "mix": [10, 20], "delta_n": 0, "cushion": 0}
            for one in SCHEDULES
        ],
    }
    wide, narrow = offers(facts), offers(facts, width=60)
    assert "10 m1.extralarge + 20 c5.doublelarge" in wide
    assert max(map(len, narrow.split("\n"))) <= 60
    assert narrow.count("…") == 4
    assert "2 h 00 min" in narrow


def test_the_whole_is_told_apart_from_the_rest_of_the_schedule_that_was_chosen() -> None:
    bounds = {
        "cost": 3 * DOLLAR, "makespan_seconds": 90.0, "chance_in_budget": 0.9,
    }  # fmt: skip
    one = {"name": "budget", "mix": [1], "delta_n": 0, "cushion": 0, "bounds": bounds}
    said = offers(
        {
            "phase": "executing",
            "chosen": "budget",
            "currency": "$",
            "committed": DOLLAR,
            "at": 12.0,
            "clusters": ["slow"],
            "schedules": [{**one, "cost": 2 * DOLLAR, "makespan_seconds": 60.0}],
        }
    )
    assert said.split("\n")[-2:] == [
        "Until it was chosen: $1.00 and 12 s; the table is of the rest.",
        "All of it by budget: $3.00 (90 %: $4.00) in 1 min 12 s (90 %: 1 min 42 s).",
    ]


def test_what_it_took_so_far_goes_on_while_its_user_thinks_it_over() -> None:
    facts = {
        "phase": "choosing",
        "chosen": "",
        "currency": "$",
        "committed": DOLLAR,
        "at": 38.0,
        "clusters": ["slow", "fast"],
        "schedules": [
            {**one, "name": "cheapest", "mix": [1, 2], "delta_n": 0, "cushion": 0}
            for one in SCHEDULES
        ],
    }
    assert "\nSo far: $1.00 and 38 s; the table is of the rest." in offers(facts)

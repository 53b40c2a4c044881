"""What was told of a bag and how it moved, drawn with words for those who cannot see it."""

import re
from xml.etree import ElementTree as ET

from bats.common.money import Money, money
from bats.master.brain.views.told.promises import ToldView
from bats.master.report.promise_chart import costs, ends


def look(at: float, seconds: float, cost: str) -> ToldView:
    price = Money(money(cost))
    return ToldView("fastest", at, seconds, 1.2 * seconds, price, Money(price * 11 // 10))


LOOKS = (look(10, 100, "1.00"), look(40, 110, "1.20"), look(70, 90, "0.90"))


def test_the_promise_and_what_it_came_to_by_now_are_told_in_words() -> None:
    assert (
        'aria-label="Time of all of it: told 1m 40s, at most 2m; by now 1m 30s, at most 1m 48s"'
        in (ends(LOOKS, 75, None, 400))
    )
    said = costs(LOOKS, 95, money("0.95"), 400, "$")
    assert 'aria-label="Price of all of it: told $1.00, at most $1.10; came to $0.95"' in said


def test_each_look_is_a_dot_and_all_lies_within_the_picture() -> None:
    drawn = ends(LOOKS, 75, 95.0, 400)
    ET.fromstring(drawn)
    dots = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"|cx="([\d.]+)"', drawn)
    assert drawn.count("<circle") == len(LOOKS) + 1, dots
    for number in re.findall(r'(?:cx|x|x1|x2)="(-?[\d.]+)"', drawn):
        assert 0 <= float(number) <= 400
    for number in re.findall(r'(?:cy|y|y1|y2)="(-?[\d.]+)"', drawn):
        assert 0 <= float(number) <= 170


def test_a_promise_that_nobody_looked_at_since_is_a_level_line() -> None:
    assert "by now" not in ends(LOOKS[:1], 50, None, 400)
    assert ends((), 50, None, 400) == ""
    assert costs(LOOKS[:1], 0.0, None, 400, "$")

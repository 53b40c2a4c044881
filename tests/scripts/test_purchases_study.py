"""The study of purchases: stories where a machine was bought for nothing, each for one reason."""

import pytest
from studies.purchases import dominated, story


@pytest.mark.parametrize(
    "number",
    [
        24,  # a machine that was there and idle had the money's task
        147,  # a copy whose task was done elsewhere counted as work
        501,  # again and again one was bought that the money let begin nothing
        654,  # what is reserved for a task was more than a purchase counted on
    ],
)
def test_no_machine_is_bought_for_nothing(number: int) -> None:
    assert story((1, number)).idle == 0


def test_no_offer_of_random_worlds_dominates_another() -> None:
    found, shown = dominated((1, 0))
    assert (found, shown > 100) == (0, True)

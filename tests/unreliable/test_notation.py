"""Strategies as users write them."""

import pytest

from bats.master.brain.unreliable.notation import read
from bats.master.brain.unreliable.strategy import Strategy


def test_times_are_seconds_or_times_of_the_mean():
    assert read("N=3 T=2066 D=4132 M_r=0.02")[:2] == (Strategy(3, 2066.0, 4132.0, 0.02), False)
    assert read("N=3 T=1x D=2x M_r=.02")[:2] == (Strategy(3, 1.0, 2.0, 0.02), True)
    assert read("N=∞ T=10 D=20 M_r=0").strategy.N is None


@pytest.mark.parametrize("name", ["AR", "TRR", "TR", "AUR", "CN∞", "CNinf", "CN1T0", "B=7.5"])
def test_static_strategies_have_names(name: str):
    assert read(name).relative


@pytest.mark.parametrize(
    "text",
    ["", "ABC", "N=1", "N=1.5 T=1 D=2 M_r=0", "N=1 T=1x D=2 M_r=0", "N=1 T=3 D=2 M_r=0",
     "N=1 T=1 D=inf M_r=0", "N=1x T=1 D=2 M_r=0", "N=1 T=1 D=2 M_r=0 X=1", "B=", "N=1 N=1 T=1 D=2"],
)  # fmt: skip
def test_what_is_no_strategy_is_refused_with_an_example(text: str):
    with pytest.raises(ValueError, match="`"):
        read(text)

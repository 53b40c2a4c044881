"""Amazon's prices, asked through the real SDK, come into the clouds file with their day."""

from datetime import UTC, datetime

import pytest
from helpers.beds import Bed
from helpers.user import User

pytestmark = pytest.mark.backend("ec2")
CLOUDS = """
[[offering]]
name = "{name}"
price = 1 # to be looked up
max = 2
[offering.ec2]
image = "{image}"
instance_type = "t3.large"
worker = ["bats", "worker"]
{more}
"""


def test_prices_are_looked_up_compared_and_written_with_their_day(user: User, ec2_bed: Bed) -> None:
    user.environment |= ec2_bed.environment
    image = ec2_bed.environment["BATS_EC2_AMI"]
    kinds = {"ondemand": "", "spot": "spot = true"}
    parts = [CLOUDS.format(name=name, image=image, more=more) for name, more in kinds.items()]
    file = user.write("c.toml", "".join(parts))
    prices = ec2_bed.state / "prices.json"
    prices.write_text('{"t3.large": {"ondemand": 0.0832, "spot": 0.031}}')
    try:
        told = user.facts("clouds", "prices", file)["offerings"]
        assert [(one["price"], one["found"]["price"]) for one in told] == [
            ("1", "0.0832"),
            ("1", "0.031"),
        ]
        assert "priced" not in (user.folder / file).read_text()
        days = {f"{datetime.now(UTC):%F}"}
        user.bats("clouds", "prices", file, "--write")
        days.add(f"{datetime.now(UTC):%F}")
        shown = user.facts("clouds", "show", file)["offerings"]
    finally:
        prices.unlink()
    assert [one["price"] for one in shown] == ["0.0832", "0.031"]
    for one, source in zip(shown, ("Price List", "spot price history"), strict=True):
        day, _, said = one["priced"].partition(", ")
        assert day in days
        assert said.startswith(source)


def test_where_nothing_can_be_looked_up_a_sentence_says_so(user: User) -> None:
    done = user.bats("clouds", "prices", exit_code=2)
    assert "No offering there is of a provider that tells its prices" in done.stderr

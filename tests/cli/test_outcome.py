"""At the end of a run what was promised stands above what came of it, and the money adds up."""

import re
from decimal import Decimal

from helpers.user import User

CLOUDS = """
[[offering]]
name = "here"
backend = "local"
price = "0.05"
per = "3s"
atu = "3s"
boundary = "0.5s"
max = 2
"""


def test_what_the_sample_took_and_the_rest_took_is_the_cost(user: User) -> None:
    user.write("c.toml", CLOUDS)
    sweep = user.write("naps.toml", 'command = "sleep 0.1"\n[grid]\nn = "1:120"\n')
    words = (
        "--clouds",
        "c.toml",
        "--pick",
        "cheapest",
        "--budget",
        "5",
    )  # else it may ask for more
    told = user.bats("run", sweep, *words, exit_code=None).stdout  # a busy computer may need more
    facts = user.facts("status", "last")

    def dollars(pattern: str) -> Decimal:
        found = re.search(pattern, told, re.MULTILINE)
        assert found, told
        return Decimal(found[1])

    sample = dollars(r"^Until it was chosen: \$(\S+) and ")
    assert sample == Decimal(facts["chosen_committed"]) >= Decimal("0.05")
    rest = dollars(r"^took +\$(\S+) and .* s after the sample$")
    assert rest > 0
    assert sample + rest == dollars(r"^cost +\$(\S+) of ") == Decimal(facts["spent"])

"""A ticket survives its trip to the machine, and a wrong one says what is wrong with it."""

import json

import pytest

from bats.common.errors import UsageError
from bats.common.messages import MachineId
from bats.common.ticket import Ticket, from_json, to_json
from bats.common.wire.keys import new_pair

PAIR = new_pair()
TICKET = Ticket(
    MachineId(3),
    ("tcp://a:1", "tcp://b:2"),
    PAIR.public,
    PAIR.public,
    PAIR.secret,
    2,
    600.0,
    speed=0.5,
)


def test_a_ticket_comes_back_as_written() -> None:
    assert from_json(to_json(TICKET), "stdin") == TICKET
    assert to_json(TICKET).count("\n") == 1
    assert PAIR.secret not in repr(TICKET)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("slots", 0, "`slots` must be a whole number from 1"),
        ("slots", True, "`slots` must be"),
        ("lease_seconds", float("nan"), "`lease_seconds` must be"),
        ("master", [], "`master` must be a list"),
        ("secret_key", "short", "`secret_key` must be a key"),
        ("colour", "red", "unknown keys: colour"),
        ("version", 2, "Install the same release"),
    ],
)
def test_a_wrong_ticket_says_what_is_wrong(key: str, value: object, said: str) -> None:
    text = json.dumps({**json.loads(to_json(TICKET)), key: value})
    with pytest.raises(UsageError, match=f"t.json.*{said}"):
        from_json(text, "t.json")


def test_a_ticket_that_lacks_something_names_it() -> None:
    held = json.loads(to_json(TICKET))
    del held["server_key"]
    with pytest.raises(UsageError, match=r"t\.json lacks server_key"):
        from_json(json.dumps(held), "t.json")

"""What `bats machines` says of machines that bags lend each other."""

from typing import cast

from bats.master.cli.commands.machines import Shown, _text


def test_a_borrowed_machine_is_called_as_in_the_table_of_its_owner() -> None:
    loan = {
        "machine": 2_000_001, "offering": "small", "paid_by": 2, "used_by": 1,
        "tasks": 3, "seconds": 4.0,
    }  # fmt: skip
    facts = {"machines": [], "borrowed": [loan], "lent": [], "orphans": [], "mute": {}}
    words = _text(cast("Shown", facts), quiet=False)
    assert "small 1            2      3   4.0 s" in words

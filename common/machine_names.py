"""Names of machines, as people say them: `large 4`. Its number, 1000004, also says whose it is."""

from typing import Final

BLOCK: Final = 1_000_000
"""The numbers that a bag, or all machines of no bag, may give."""
OLD: Final = 500_000
"""No number of today is lower in the first block: version 0.1.0 counted from 1."""


def within_block(machine: int) -> int:
    """Counts from 1; with its offering's name it is what people call a machine of one bag."""
    return machine % BLOCK % OLD


def machine_name(offering: str, machine: int) -> str:
    return f"{offering} {within_block(machine)}"

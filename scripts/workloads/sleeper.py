"""Sleeps for as long as one task of the sleep bag runs: N(15, √5²) model minutes (T §2.3)."""

import argparse
from collections.abc import Sequence
from random import Random

from task_program import parser, positive_float, report, rest_until_age

MEAN_MINUTES = 15.0
DEVIATION_MINUTES = 5**0.5


def runtime_minutes(
    seed: int, index: int, mean: float = MEAN_MINUTES, deviation: float = DEVIATION_MINUTES
) -> float:
    """The runtime of one task of the bag on a machine of speed 1, the same whoever runs it."""
    chance = Random(f"{seed}/{index}")
    while (runtime := chance.gauss(mean, deviation)) <= 0:
        pass  # only a bag as wide as its mean gets here
    return runtime


def read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    arguments = parser(__doc__)
    arguments.add_argument("--index", type=int, required=True, help="which task of the bag")
    arguments.add_argument(
        "--mean", type=positive_float, default=MEAN_MINUTES, help="model minutes"
    )
    arguments.add_argument(
        "--deviation", type=positive_float, default=DEVIATION_MINUTES, help="model minutes"
    )
    arguments.add_argument(
        "--minute-seconds",
        type=positive_float,
        default=1.0,
        help="how many real seconds a model minute lasts (default: 1)",
    )
    arguments.add_argument("--dry-run", action="store_true", help="only tell the runtime")
    return arguments.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    arguments = read_arguments(words)
    runtime = runtime_minutes(arguments.seed, arguments.index, arguments.mean, arguments.deviation)
    seconds = runtime * arguments.minute_seconds / arguments.speed
    if not arguments.dry_run:
        rest_until_age(seconds)
    report(
        {
            "program": "sleeper",
            "seed": arguments.seed,
            "index": arguments.index,
            "runtime_minutes": runtime,
            "speed": arguments.speed,
            "seconds": seconds,
        },
        arguments.out,
    )


if __name__ == "__main__":
    main()

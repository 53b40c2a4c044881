"""Does water find a way from the top of a random grid to its bottom? Prints the answer as JSON."""

import argparse
import json
import random


def percolates(density: float, size: int, chance: random.Random) -> tuple[bool, int]:
    """True if the bottom is reached, and the number of cells that got wet."""
    is_open = [[chance.random() < density for _ in range(size)] for _ in range(size)]
    wet = {(0, column) for column in range(size) if is_open[0][column]}
    edge = list(wet)
    while edge:
        row, column = edge.pop()
        for near in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= near[0] < size and 0 <= near[1] < size
            if inside and near not in wet and is_open[near[0]][near[1]]:
                wet.add(near)
                edge.append(near)
    return any((size - 1, column) in wet for column in range(size)), len(wet)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--density", type=float, required=True)
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--size", type=int, default=60)
    given = options.parse_args()
    through, wet = percolates(given.density, given.size, random.Random(given.seed))
    print(json.dumps({**vars(given), "through": through, "wet": wet}))


if __name__ == "__main__":
    main()

"""Trains a self-organising map on iris-like flowers; results in the species per cell (T §6.1)."""

import argparse
import math
import os
from collections.abc import Sequence
from random import Random
from typing import Any

# A task is meant for one core; it also spares starting the threads. To be set before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from task_program import (
    at_least,
    check_pace,
    computing_parser,
    keep_pace,
    positive_float,
    report,
    scaled,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

# The least and the greatest value of each class in Fisher's data, in centimetres.
#   sepal length, sepal width, petal length, petal width
SPECIES = {
    1: ((4.3, 5.8), (2.3, 4.4), (1.0, 1.9), (0.1, 0.6)),  # setosa
    2: ((4.9, 7.0), (2.0, 3.4), (3.0, 5.1), (1.0, 1.8)),  # versicolor
    3: ((4.9, 7.9), (2.2, 3.8), (4.5, 6.9), (1.4, 2.5)),  # virginica
}
SMALLEST_RADIUS = 0.5  # at the end a flower moves little more than its own cell


def draw_flowers(per_species: int, chance: Random) -> tuple[Floats, Ints]:
    """Flowers (one per row) drawn evenly within the ranges, and their species, in random order."""
    drawn = [
        ([chance.uniform(*limits) for limits in ranges], species)
        for species, ranges in SPECIES.items()
        for _ in range(per_species)
    ]
    chance.shuffle(drawn)
    flowers, species = zip(*drawn, strict=True)
    return np.array(flowers), np.array(species, dtype=np.intp)


def squared_distances(flowers: Floats, weights: Floats) -> Floats:
    """One row per flower, one column per cell."""
    apart = flowers[:, None, :] - weights[None, :, :]
    squares: Floats = np.einsum("fcd,fcd->fc", apart, apart)
    return squares


def lattice_distances(rows: int, columns: int) -> Floats:
    """The squared distance on the map between each two cells, numbered row by row."""
    places = np.array([(row, column) for row in range(rows) for column in range(columns)], float)
    return squared_distances(places, places)


def initial_weights(cells: int, chance: Random) -> Floats:
    """Anywhere among the flowers of all species, without order."""
    limits = [
        (min(least for least, _ in ranges), max(most for _, most in ranges))
        for ranges in zip(*SPECIES.values(), strict=True)
    ]
    return np.array([[chance.uniform(*limit) for limit in limits] for _ in range(cells)])


def train(
    flowers: Floats,
    weights: Floats,
    lattice: Floats,
    iterations: int,
    rate: float,
    radius: float,
    chance: Random,
) -> None:
    """Show one flower per iteration; the cell nearest to it and its neighbours move towards it.

    Rate and radius shrink with the iterations that remain.
    """
    for iteration in range(iterations):
        remaining = 1 - iteration / iterations
        apart = flowers[chance.randrange(len(flowers))] - weights
        best = np.einsum("cd,cd->c", apart, apart).argmin()
        reach = max(SMALLEST_RADIUS, radius * remaining)
        pull = rate * remaining * np.exp(lattice[best] / (-2 * reach * reach))
        weights += pull[:, None] * apart


def quantisation_error(distances: Floats) -> float:
    """The distance of a flower from its cell, on average, in centimetres."""
    return float(np.sqrt(distances.min(axis=1)).mean())


def topographic_error(distances: Floats, lattice: Floats) -> float:
    """The share of flowers whose two best cells do not touch on the map, not even by a corner."""
    best, second = np.argsort(distances, axis=1)[:, :2].T
    return float((lattice[best, second] > 2).mean())


def species_of_cells(distances: Floats, species: Ints) -> Ints:
    """Most of a cell's flowers decide; a cell without any takes the species of the nearest."""
    votes = np.zeros((distances.shape[1], len(SPECIES) + 1), dtype=np.intp)
    np.add.at(votes, (distances.argmin(axis=1), species), 1)
    nearest = species[distances.argmin(axis=0)]
    cells: Ints = np.where(votes.any(axis=1), votes.argmax(axis=1), nearest)
    return cells


def purity(distances: Floats, species: Ints, cells: Ints) -> float:
    """The share of flowers that lie in a cell of their own species."""
    return float((cells[distances.argmin(axis=1)] == species).mean())


def learn_map(
    rows: int,
    columns: int,
    iterations: int,
    rate: float,
    radius: float,
    flowers_per_species: int,
    seed: int,
) -> dict[str, Any]:
    chance = Random(seed)
    flowers, species = draw_flowers(flowers_per_species, chance)
    fresh_flowers, fresh_species = draw_flowers(flowers_per_species, chance)
    lattice = lattice_distances(rows, columns)
    weights = initial_weights(rows * columns, chance)
    train(flowers, weights, lattice, iterations, rate, radius, chance)
    distances = squared_distances(flowers, weights)
    cells = species_of_cells(distances, species)
    fresh = squared_distances(fresh_flowers, weights)
    return {
        "map": cells.reshape(rows, columns).tolist(),
        "quantisation_error": quantisation_error(distances),
        "topographic_error": topographic_error(distances, lattice),
        "purity": purity(distances, species, cells),
        "fresh_purity": purity(fresh, fresh_species, cells),
    }


def read_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    arguments = computing_parser(__doc__, "an iteration")
    arguments.add_argument("--iterations", type=at_least(1), default=10_000, help="flowers shown")
    arguments.add_argument("--rows", type=at_least(2), default=10)
    arguments.add_argument("--columns", type=at_least(2), default=10)
    arguments.add_argument("--rate", type=positive_float, default=0.5, help="of learning, at first")
    arguments.add_argument(
        "--radius", type=positive_float, help="at first, in cells (default: half the map)"
    )
    arguments.add_argument("--flowers", type=at_least(1), default=150, help="of each species")
    return arguments.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    arguments = read_arguments(words)
    check_pace(arguments)
    iterations = scaled(arguments.iterations, arguments.scale)
    radius = arguments.radius or math.hypot(arguments.rows, arguments.columns) / 2
    result = learn_map(
        arguments.rows,
        arguments.columns,
        iterations,
        arguments.rate,
        radius,
        arguments.flowers,
        arguments.seed,
    )
    keep_pace(arguments, iterations)
    parameters = {"iterations": iterations, "seed": arguments.seed}
    report({"program": "kohonen"} | parameters | result, arguments.out)


if __name__ == "__main__":
    main()

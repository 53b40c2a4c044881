"""The map of flowers shows what is known of them: setosa apart, the other two side by side."""

from random import Random
from typing import Any

import kohonen
import numpy as np
import pytest
from helpers.workload import run

SETOSA, VERSICOLOR, VIRGINICA = 1, 2, 3


def trained(iterations: int, seed: int = 0, rate: float = 0.5) -> dict[str, Any]:
    return kohonen.learn_map(
        rows=10,
        columns=10,
        iterations=iterations,
        rate=rate,
        radius=7,
        flowers_per_species=150,
        seed=seed,
    )


def test_flowers_stay_within_what_fisher_measured():
    flowers, species = kohonen.draw_flowers(200, Random(1))
    for number, ranges in kohonen.SPECIES.items():
        of_species = flowers[species == number]
        assert len(of_species) == 200
        least, most = np.array(ranges).T
        assert (of_species >= least).all()
        assert (of_species <= most).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_trained_map_tells_flowers_it_has_not_seen(seed: int):
    # Petals of versicolor and virginica overlap in a corner, so that nobody gets them all right.
    assert trained(3000, seed)["fresh_purity"] > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_setosa_lies_apart_from_the_others(seed: int):
    chance = Random(seed)
    flowers, species = kohonen.draw_flowers(150, chance)
    lattice = kohonen.lattice_distances(10, 10)
    weights = kohonen.initial_weights(100, chance)
    kohonen.train(flowers, weights, lattice, 3000, 0.5, 7, chance)
    distances = kohonen.squared_distances(flowers, weights)
    setosa = kohonen.species_of_cells(distances, species) == SETOSA
    assert (setosa[distances.argmin(axis=1)] == (species == SETOSA)).all()
    # A third of the flowers has about a third of the map, and no cell of it stands alone.
    touching = (lattice <= 2) & (lattice > 0)
    assert 20 <= setosa.sum() <= 50
    assert (touching[setosa][:, setosa].sum(axis=1) >= 2).all()


def test_the_map_shows_each_species_by_its_number():
    cells = np.array(trained(3000)["map"])
    assert cells.shape == (10, 10)
    assert set(cells.ravel().tolist()) == {SETOSA, VERSICOLOR, VIRGINICA}


@pytest.mark.parametrize("seed", range(3))
def test_the_longer_the_training_the_closer_the_cells(seed: int):
    errors = [trained(n, seed)["quantisation_error"] for n in (1, 100, 1000, 10_000)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.6 * errors[0]


@pytest.mark.parametrize("seed", range(3))
def test_training_brings_order_to_the_map(seed: int):
    assert trained(1, seed, rate=1e-9)["topographic_error"] > 0.7
    assert trained(3000, seed)["topographic_error"] < 0.15


def test_quality_figures_of_a_map_that_can_be_worked_out_by_hand():
    lattice = kohonen.lattice_distances(1, 3)
    weights = np.array([[0.0], [10.0], [4.0]])
    flowers = np.array([[1.0], [9.0], [3.0]])  # in cells 0, 1 and 2, each 1 away
    distances = kohonen.squared_distances(flowers, weights)
    assert kohonen.quantisation_error(distances) == 1
    # The next best cells are 2, 2 and 0; of the three pairs only 1 and 2 touch.
    assert kohonen.topographic_error(distances, lattice) == pytest.approx(2 / 3)


def test_the_majority_of_its_flowers_names_a_cell_and_the_nearest_flower_an_empty_one():
    weights = np.array([[0.0], [10.0], [20.0]])
    flowers = np.array([[0.0], [0.1], [0.2], [11.0]])
    species = np.array([1, 2, 2, 3])
    distances = kohonen.squared_distances(flowers, weights)
    cells = kohonen.species_of_cells(distances, species)
    assert cells.tolist() == [2, 3, 3]
    assert kohonen.purity(distances, species, cells) == 3 / 4


def test_one_flower_shown_moves_its_cell_by_the_rate_and_a_neighbour_by_less():
    weights = np.array([[0.0], [1.0]])
    kohonen.train(
        np.array([[-1.0]]), weights, kohonen.lattice_distances(1, 2), 1, 0.5, 1.0, Random(0)
    )
    assert weights.ravel().tolist() == pytest.approx([-0.5, 1 - 0.5 * np.exp(-0.5) * 2])


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    first, again, other = (
        run("kohonen", "--iterations", 300, "--seed", seed).stdout for seed in (7, 7, 8)
    )
    assert first == again != ""
    assert other not in ("", first)

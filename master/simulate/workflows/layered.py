"""Random graphs in layers, by the rules of daggen (Suter): width, regularity, density, jumps."""

import math
from typing import Final

from numpy.random import Generator

from bats.master.simulate.workflows.generated import Generated, Growing

JUMPS: Final = (1, 2, 3)
REGULAR: Final = (0.2, 0.8)
FAT: Final = (0.2, 0.8)
DENSITY: Final = 0.1
"""Values that the thesis draws from, with equal chance (§3.4.1)."""

_SPEED: Final = 1e9  # operations in a second; only what runtimes are to one another matters


def layered(
    size: int,
    rng: Generator,
    *,
    jump: int,
    regular: float,
    fat: float,
    density: float = DENSITY,
    one_end: bool = False,
) -> Generated:
    """About n^fat tasks in a layer; each has parents up to `jump` layers above."""
    perfect = max(1, int(size**fat))
    made = Growing()
    layers: list[list[int]] = []
    while len(made) < size:
        wanted = perfect * (1 + rng.uniform(-1, 1) * (1 - regular))
        many = min(max(1, round(wanted)), size - len(made))
        layer = [
            made.add("task", _seconds(rng), _parents(rng, layers, jump, density))
            for _ in range(many)
        ]
        layers.append(layer)
    return made.grown(one_end=one_end)


def drawn(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """One of the shapes that the thesis has, drawn with equal chance."""
    jump, regular, fat = (values[rng.integers(len(values))] for values in (JUMPS, REGULAR, FAT))
    return layered(size, rng, jump=int(jump), regular=regular, fat=fat, one_end=one_end)


def _parents(rng: Generator, layers: list[list[int]], jump: int, density: float) -> set[int]:
    if not layers:
        return set()
    above = len(layers[-1])
    many = min(1 + int(rng.uniform(0, density * above)), above)
    parents = set()
    for _ in range(many):
        layer = layers[max(0, len(layers) - int(rng.integers(1, jump + 1)))]
        parents.add(layer[int(rng.integers(len(layer)))])
    return parents


def _seconds(rng: Generator) -> float:
    """The work on data of a random size: as much for each item, n·log n, or as for matrices."""
    side = rng.uniform(4 * 2**20, 121 * 2**20) / 8
    data, times = math.sqrt(side), rng.uniform(64, 512)
    kind = int(rng.integers(3))
    square = data**2
    operations = (times * square, 2 * times * square * math.log2(data), data**3)[kind]
    return operations / _SPEED

"""Reads a planet's name, semi-major axis and eccentricity; prints its year and its speeds."""

import math
import sys

AU_KM = 149_597_870.7
SUN_KM3_S2 = 1.327_124_4e11  # gravitational parameter


def main() -> None:
    name, axis, eccentricity = sys.stdin.readline().split()
    a, e = float(axis), float(eccentricity)
    nearest, farthest = a * (1 - e), a * (1 + e)
    fast, slow = (
        math.sqrt(SUN_KM3_S2 / AU_KM * (2 / distance - 1 / a)) for distance in (nearest, farthest)
    )
    print(f"{name}: a year of {a**1.5:.3f} years, {slow:.1f} to {fast:.1f} km/s")


if __name__ == "__main__":
    main()

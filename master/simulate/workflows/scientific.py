"""Workflows of science by size: Montage, LIGO, SIPHT, CyberShake, Epigenomics.

The first three follow the rules of the generator of Bharathi et al. (2008) as they are described
(Ilyushkin's workloads are made with it). Of CyberShake and Epigenomics only the shapes are theirs:
the lengths of their tasks are round numbers of the same order, checked against nothing.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Final

from numpy.random import Generator

from bats.master.simulate.workflows.generated import (
    Generated,
    Growing,
    normal_near,
    parts_near,
)

Generate = Callable[[int, Generator], Generated]
"""Makes a workflow of about so many tasks."""


def montage(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """Exactly so many tasks: p images, and q of their overlaps."""
    p = max(2, round((size - 6) / 6))
    while math.comb(p, 2) < size - 6 - 2 * p:
        p += 1
    q = size - 6 - 2 * p
    degrees = math.sqrt(p / 50)
    made = Growing()
    projects = [made.add("mProject", normal_near(rng, 13.59, 0.06)) for _ in range(p)]
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < q:
        one, other = rng.integers(p, size=2).tolist()
        pairs.add((one, other))
    diffs = [
        made.add("mDiffFit", normal_near(rng, 10.59, 0.01), {projects[one], projects[other]})
        for one, other in sorted(pairs)
    ]
    fit = made.add("mConcatFit", 0.08 * q, diffs)
    model = made.add("mBgModel", normal_near(rng, 0.13, 0.01) * q, [fit])
    backgrounds = [
        made.add("mBackground", normal_near(rng, 10.74, 0.03), [model, project])
        for project in projects
    ]
    table = made.add("mImgTbl", normal_near(rng, 0.37, 0.01) * p, backgrounds)
    mosaic = made.add("mAdd", normal_near(rng, 30.11, 0.05) * degrees**2, [table])
    shrunk = made.add("mShrink", 12.21 * degrees, [mosaic])
    made.add("mJPEG", 3.16 * degrees, [shrunk])
    return made.grown(one_end=one_end)


def ligo(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """Exactly so many tasks, an even number above 20: two rounds of searches in b groups."""
    most = max(3, int(0.05 * size))
    b = int(rng.integers(1, most))
    if b == 1 and (size - 2) % 4:
        b = 2
    n0, n1 = sorted(parts_near(rng, 2, (size - 2 * b) // 2, 0.1))
    sizes = _group_sizes(rng, b, n0, n1)
    made = Growing()

    def round_of(first: str, many: int, waits: list[list[int]]) -> list[int]:
        banks = [
            made.add(
                first,
                normal_near(rng, *((18.14, 0.18) if first == "TmpltBank" else (5.11, 0.1))),
                waits[k],
            )
            for k in range(many)
        ]
        searches = [
            made.add("Inspiral", normal_near(rng, 460.21, 297397), [bank]) for bank in banks
        ]
        return [
            made.add("Thinca", normal_near(rng, 5.37, 0.06), [searches[k] for k in group])
            for group in _groups(sizes, many)
        ]

    thincas = round_of("TmpltBank", n0, [[] for _ in range(n0)])
    waits: list[list[int]] = [[] for _ in range(n1)]
    for thinca, group in zip(thincas, _groups(sizes, n1), strict=True):
        for k in group:
            waits[k].append(thinca)
    round_of("TrigBank", n1, waits)
    return made.grown(one_end=one_end)


def _group_sizes(rng: Generator, b: int, n0: int, n1: int) -> list[int]:
    """A random composition of slightly more than n1 into b parts of at most n0, largest first."""
    most = max(n1 + 1, int(1.05 * n1))
    edges = min(int(rng.integers(n1, most)), b * n0)
    for _ in range(1000):
        cuts = sorted(rng.choice(edges - 1, b - 1, replace=False).tolist()) if b > 1 else []
        ends = [0, *(cut + 1 for cut in cuts), edges]
        sizes = [after - before for before, after in itertools.pairwise(ends)]
        if max(sizes) <= n0:
            return sorted(sizes, reverse=True)
    return sorted((edges // b + (k < edges % b) for k in range(b)), reverse=True)


def _groups(sizes: list[int], members: int) -> list[range]:
    """Consecutive members, group by group; at the end they overlap."""
    groups, at = [], 0
    for size in sizes:
        first = max(0, min(at, members - size))
        groups.append(range(first, min(members, first + size)))
        at += size
    return groups


def sipht(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """As many tasks but one in 31: k independent parts of x_i Patser and twelve others."""
    k = max(1, round(size / 31))
    made = Growing()
    for x in parts_near(rng, k, size - 13 * k, 0.2):
        patsers = [made.add("Patser", normal_near(rng, 1.27, 0.11)) for _ in range(x)]
        concate = made.add("Patser_concate", 0.08, patsers)
        found = [
            made.add("Findterm", normal_near(rng, 1349.47, 635206)),
            made.add("RNAMotif", normal_near(rng, 36.42, 78)),
            made.add("Transterm", normal_near(rng, 55.78, 2356)),
            made.add("Blast", normal_near(rng, 2350.58, 1033835)),
        ]
        srna = made.add("SRNA", normal_near(rng, 361.33, 117451), found)
        parse = made.add("FFN_parse", 1.64, [srna])
        candidate = made.add("Blast_candidate", 5.18, [srna])
        qrna = made.add("Blast_QRNA", normal_near(rng, 1412.09, 9702), [srna])
        paralogues = made.add("Blast_paralogues", 4.99, [srna])
        synteny = made.add("Blast_synteny", 33.0, [srna, parse])
        made.add("SRNA_annotate", 1.68, [srna, concate, candidate, qrna, synteny, paralogues])
    return made.grown(one_end=one_end)


def cybershake(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """Two extractions, seismograms and their peaks in pairs, everything zipped twice."""
    pairs = max(2, (size - 4) // 2)
    made = Growing()
    extracted = [made.add("ExtractSGT", normal_near(rng, 110.0, 2000.0)) for _ in range(2)]
    seismograms, peaks = [], []
    for k in range(pairs):
        one = made.add("SeismogramSynthesis", normal_near(rng, 48.0, 100.0), [extracted[k % 2]])
        seismograms.append(one)
        peaks.append(made.add("PeakValCalc", normal_near(rng, 1.0, 0.04), [one]))
    made.add("ZipSeis", 0.3 * pairs, seismograms)
    made.add("ZipPSA", 0.3 * pairs, peaks)
    return made.grown(one_end=one_end)


def epigenomics(size: int, rng: Generator, *, one_end: bool = False) -> Generated:
    """Lanes that are split, taken through four programs piece by piece, and merged."""
    lanes = max(1, round(size / 100))
    pieces = max(lanes, (size - 2 * lanes - 3) // 4)
    made = Growing()
    merged = []
    for many in parts_near(rng, lanes, pieces, 0.2):
        split = made.add("fastqSplit", normal_near(rng, 35.0, 80.0))
        mapped = []
        for _ in range(many):
            task = made.add("filterContams", normal_near(rng, 2.5, 0.2), [split])
            task = made.add("sol2sanger", normal_near(rng, 0.5, 0.02), [task])
            task = made.add("fast2bfq", normal_near(rng, 1.4, 0.06), [task])
            mapped.append(made.add("map", normal_near(rng, 200.0, 450.0), [task]))
        merged.append(made.add("mapMerge", normal_near(rng, 11.0, 9.0), mapped))
    every = made.add("mapMergeAll", 11.0, merged)
    index = made.add("maqIndex", 44.0, [every])
    made.add("pileup", 56.0, [index])
    return made.grown(one_end=one_end)


SCIENTIFIC: Final[Mapping[str, Generate]] = {
    "montage": montage,
    "ligo": ligo,
    "sipht": sipht,
    "cybershake": cybershake,
    "epigenomics": epigenomics,
}

"""The law of runtimes beside a stupid twin that leaves every runtime out in turn."""

import math
import subprocess
import sys

import numpy as np
import pytest

from bats.master.brain.learning.foreseen import LawSeeker
from bats.master.brain.learning.runtime_law import (
    BEYOND,
    DIFFERS,
    FEWEST,
    FOLDS,
    LESSENS,
    MOST_TERMS,
    Kind,
    change_in_words,
    design,
    in_words,
    law_of,
)
from bats.master.brain.protocol.parameters import Parameter, parameters_of

N = 60


def chance(seed: int) -> np.random.Generator:
    return np.random.default_rng([15, 6, seed])


def swept(seed: int = 1) -> dict[str, list[float]]:
    rng = chance(seed)
    return {
        "n": [float(2 ** rng.integers(3, 9)) for _ in range(N)],
        "k": [float(rng.integers(1, 9)) for _ in range(N)],
        "method": [float(rng.integers(0, 3)) for _ in range(N)],
        "seed": [float(task) for task in range(N)],
    }


def parameters(columns: dict[str, list[float]]) -> tuple[Parameter, ...]:
    levels = {"method": ("plain", "careful", "thorough")}
    return tuple(
        Parameter(name, tuple(values), levels.get(name, ())) for name, values in columns.items()
    )


def runtimes(columns: dict[str, list[float]], law: str, noise: float, seed: int = 1) -> list[float]:
    rng = chance(100 + seed)
    cost = {"plain": 1.0, "careful": 4.0, "thorough": 16.0}
    found = []
    for n, k, m in zip(columns["n"], columns["k"], columns["method"], strict=True):
        t = {
            "power": n**1.5 / 10,
            "growth": 2.0**k,
            "product": n * k,
            "method": n * list(cost.values())[int(m)],
            "none": 30.0,
        }[law]
        found.append(t * math.exp(rng.normal(0.0, noise)))
    return found


# --- the twin -------------------------------------------------------------------------------------


def twin_beta(rows: list[list[float]], y: list[float]) -> list[float]:
    """The normal equations, by Gauss and Jordan."""
    X = [[1.0, *row] for row in rows]
    m = len(X[0])
    A = [[sum(x[i] * x[j] for x in X) for j in range(m)] for i in range(m)]
    b = [sum(x[i] * one for x, one in zip(X, y, strict=True)) for i in range(m)]
    for i in range(m):
        pivot = max(range(i, m), key=lambda r: abs(A[r][i]))
        A[i], A[pivot], b[i], b[pivot] = A[pivot], A[i], b[pivot], b[i]
        for r in range(m):
            if r != i:
                f = A[r][i] / A[i][i]
                A[r] = [p - f * q for p, q in zip(A[r], A[i], strict=True)]
                b[r] -= f * b[i]
    return [b[i] / A[i][i] for i in range(m)]


def twin_error(beta: list[float], row: list[float], y: float) -> float:
    return y - beta[0] - sum(b * x for b, x in zip(beta[1:], row, strict=True))


def twin_press(rows: list[list[float]], y: list[float], chosen: list[int]) -> float:
    total = 0.0
    for out in range(len(y)):
        kept = [[row[k] for k in chosen] for at, row in enumerate(rows) if at != out]
        beta = twin_beta(kept, [one for at, one in enumerate(y) if at != out])
        total += twin_error(beta, [rows[out][k] for k in chosen], y[out]) ** 2
    return total


def twin_chosen(rows: list[list[float]], y: list[float]) -> list[int]:
    chosen: list[int] = []
    press = twin_press(rows, y, [])
    for _ in range(min(MOST_TERMS, len(y) // 4)):
        if press / len(y) < DIFFERS**2:
            break
        left = [k for k in range(len(rows[0])) if k not in chosen]
        errors = {k: twin_press(rows, y, [*chosen, k]) for k in left}
        best = min(errors, key=lambda k: errors[k])
        if errors[best] > LESSENS * press:
            break
        chosen.append(best)
        press = errors[best]
    return chosen


def twin_explained(rows: list[list[float]], y: list[float]) -> float:
    by_mean = by_law = 0.0
    folds = min(FOLDS, len(y))
    for fold in range(folds):
        kept = [at for at in range(len(y)) if at % folds != fold]
        chosen = twin_chosen([rows[at] for at in kept], [y[at] for at in kept])
        beta = twin_beta([[rows[at][k] for k in chosen] for at in kept], [y[at] for at in kept])
        mean = sum(y[at] for at in kept) / len(kept)
        for at in range(fold, len(y), folds):
            by_mean += (y[at] - mean) ** 2
            by_law += twin_error(beta, [rows[at][k] for k in chosen], y[at]) ** 2
    return 1 - by_law / by_mean


@pytest.mark.parametrize("law", ["power", "growth", "product"])
@pytest.mark.parametrize("seen", [14, 24])
def test_it_chooses_and_foretells_as_a_twin_that_leaves_out_each_runtime(law: str, seen: int):
    columns = {name: values for name, values in swept().items() if name != "method"}
    known = design(parameters(columns))
    seconds = runtimes(swept(), law, 0.3)
    found = law_of(known, range(seen), seconds[:seen])
    rows, y = known.matrix[:seen].tolist(), [math.log(t) for t in seconds[:seen]]
    chosen = twin_chosen(rows, y)
    assert found is not None
    assert found[0].terms == tuple(known.terms[k] for k in chosen)
    assert found[0].slopes == pytest.approx(
        twin_beta([[r[k] for k in chosen] for r in rows], y)[1:]
    )
    assert found[0].explained == pytest.approx(twin_explained(rows, y))
    assert sum(found[0].ratios) == pytest.approx(seen)


# --- what it finds --------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["power", "growth", "product", "method"])
def test_a_law_is_found_in_thirty_runtimes_and_foretells_the_others(law: str):
    columns = swept(2)
    seconds = runtimes(columns, law, 0.2, 2)
    found = law_of(design(parameters(columns)), range(30), seconds[:30])
    assert found is not None
    off = [math.log(a / b) for a, b in zip(found[1][30:], seconds[30:], strict=True)]
    assert math.sqrt(sum(one**2 for one in off) / len(off)) < 0.45
    assert found[0].error < 0.5


def test_parameters_that_say_nothing_are_told_so_but_for_one_time_in_twenty():
    found = 0
    for seed in range(100):
        columns = swept(seed)
        seconds = runtimes(columns, "none", (0.05, 0.5, 1.0)[seed % 3], seed)
        seen = (FEWEST, 15, 30)[seed % 3]
        found += law_of(design(parameters(columns)), range(seen), seconds[:seen]) is not None
    assert found <= 5


def test_no_law_is_looked_for_in_few_runtimes_or_in_equal_ones():
    columns = swept()
    known = design(parameters(columns))
    seconds = runtimes(columns, "power", 0.0)
    assert law_of(known, range(FEWEST - 1), seconds[: FEWEST - 1]) is None
    assert law_of(known, range(N), [30.0] * N) is None
    assert law_of(design(()), range(N), seconds) is None


def test_where_one_term_says_it_all_no_other_is_said():
    """A tenth of next to no error is soon explained, by chance."""
    for seed in range(20):
        columns = swept(seed)
        seconds = runtimes(columns, "power", 0.01, seed)
        found = law_of(design(parameters(columns)), range(9), seconds[:9])
        assert found is None or in_words(found[0]) == "runtime grows with n: × 2.8 per doubling"


def test_nothing_is_foretold_far_beyond_what_was_seen():
    n = [10.0 * (1 + task % 5) for task in range(30)] + [1e6]
    found = law_of(design((Parameter("n", tuple(n)),)), range(30), [x**2 for x in n[:30]])
    assert found is not None
    assert found[1][30] == pytest.approx(BEYOND * 50.0**2)


def test_a_word_that_was_seen_once_decides_nothing():
    values = [0.0] * 29 + [1.0] + [1.0] * 30
    odd = Parameter("method", tuple(values), ("plain", "careful"))
    rng = chance(3)
    seconds = [math.exp(rng.normal(0, 0.3)) for _ in range(29)] + [500.0]
    assert law_of(design((odd,)), range(30), seconds) is None


def test_what_was_found_is_said_in_words():
    columns = swept(2)
    known = design(parameters(columns))
    found = law_of(known, range(N), runtimes(columns, "method", 0.01, 2))
    assert found is not None
    law = found[0]
    assert {term.parameter for term in law.terms} == {"n", "method"}
    assert "grows with n: × 2 per doubling" in in_words(law)
    assert change_in_words(None, law).endswith("runtimes differ: the longest tasks go first")
    assert change_in_words(law, law) == change_in_words(None, None) == ""
    assert change_in_words(law, None) == "parameters foretell runtimes no more: chance picks tasks"
    grown = law_of(known, range(N), runtimes(columns, "growth", 0.01, 2))
    assert grown is not None
    assert grown[0].terms[0].kind is Kind.GROWTH
    assert in_words(grown[0]) == "runtime grows with k: × 1.3e+02 from 1 to 8"


# --- what is foreseen of a task -------------------------------------------------------------------


def test_what_has_run_for_long_should_take_as_long_as_those_that_took_longer():
    columns = swept(4)
    seconds = runtimes(columns, "power", 0.3, 4)
    seeker = LawSeeker(parameters(columns))
    for task in range(40):
        seeker.see(task, 0, seconds[task])
    assert seeker.due
    seeker.look(lambda _cluster, there: there)
    assert not seeker.due
    foreseen = seeker.found
    assert foreseen is not None
    expected = float(foreseen.seconds[50])
    assert foreseen.lasts(50, 0.0) == pytest.approx(expected)
    longer = [expected * r for r in foreseen.law.ratios if expected * r > 1.1 * expected]
    assert foreseen.lasts(50, 1.1 * expected) == pytest.approx(sum(longer) / len(longer))
    assert foreseen.lasts(50, 99 * expected) == 99 * expected
    assert foreseen.share_within(50, 1.1 * expected) == 1 - len(longer) / 40
    whole, error = foreseen.of([task >= 40 for task in range(N)])
    assert whole == pytest.approx(float(foreseen.seconds[40:].sum()))
    assert 0 < error < foreseen.law.error
    assert foreseen.of([False] * N) == (0.0, 0.0)


# --- which parameters are looked at ---------------------------------------------------------------


def test_numbers_and_few_words_are_looked_at_and_nothing_else():
    found = parameters_of(
        {
            "n": ["10", "1e2", "10"],
            "method": ["plain", "careful", "plain"],
            "same": ["3", "3", "3"],
            "file": [f"{k}.txt" for k in range(3)] * 3,
            "strange": ["1", "nan", "inf"],
        }
    )
    assert found[0] == Parameter("n", (10.0, 100.0, 10.0))
    assert found[1] == Parameter("method", (0.0, 1.0, 0.0), ("plain", "careful"))
    assert [one.name for one in found] == ["n", "method", "file", "strange"]
    many = [f"{k}.txt" for k in range(30)]
    assert parameters_of({"file": many}) == ()


def test_numpy_is_loaded_when_a_law_is_looked_for_not_when_a_bag_begins() -> None:
    program = (
        "import sys\n"
        "from bats.master.brain.learning.foreseen import LawSeeker\n"
        "from bats.master.brain.protocol.parameters import Parameter\n"
        "seeker = LawSeeker((Parameter('n', (1.0, 2.0)),))\n"
        "print('numpy' in sys.modules)\n"
        "seeker.look(lambda cluster, seconds: seconds)\n"
        "print('numpy' in sys.modules)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["False", "True"]

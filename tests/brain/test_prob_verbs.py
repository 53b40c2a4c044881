"""The verbs for planners of one's own, and the page that shows one."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from bats import prob
from bats.master.brain.probability import prob_verbs
from bats.master.brain.probability.combination import (
    Evaluation,
    InOrder,
    Operations,
    Task,
    operations,
)
from bats.master.brain.probability.histogram import constant, from_samples, is_more, maximum
from bats.master.brain.probability.prob_verbs import (
    bundled,
    clustered,
    partially_evaluated,
    preprocessed,
)

PAGE = Path(__file__).parents[2] / "master/brain/probability/README.md"
FORK = [[], [0], [0], [1, 2]]


@pytest.mark.checkout
def test_the_planner_on_the_page_runs_and_means_tell_too_short_a_time() -> None:
    page = PAGE.read_text()
    said = StringIO()
    with redirect_stdout(said):
        exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})  # type: ignore[index]
    told, truth = re.search(r"by means: ([\d.]+) s, in truth ([\d.]+) s", said.getvalue()).groups()  # type: ignore[union-attr]
    assert float(told) < 0.97 * float(truth)
    assert "by distributions:" in said.getvalue()


@pytest.mark.checkout
def test_the_page_names_all_seven_verbs() -> None:
    named = set(re.findall(r"^\| \w+ \| `(\w+)\(", PAGE.read_text(), re.MULTILINE))
    assert named == set(prob_verbs.__all__)


def test_the_door_tells_of_all_seven_verbs_and_has_them() -> None:
    told = set(re.findall(r"^    (\w+)  +\w", prob.__doc__ or "", re.MULTILINE))
    assert told == set(prob_verbs.__all__)
    assert told <= set(prob.__all__)
    assert all(getattr(prob, verb) is getattr(prob_verbs, verb) for verb in told)


def test_the_example_of_the_door_runs() -> None:
    lines = [line[4:] for line in (prob.__doc__ or "").splitlines() if line.startswith("    ")]
    code = "\n".join(line for line in lines if re.match(r"from|\w+, \w+ =|\w+ =|print", line))
    said = StringIO()
    known: dict[str, object] = {}
    with redirect_stdout(said):
        exec(code, known)
    assert [float(one) for one in said.getvalue().split()] == pytest.approx([66.85, 44.0])
    assert known["makespan"].mean > 3 * 33.425  # type: ignore[attr-defined]


def test_what_lies_between_two_tasks_is_taken_alone() -> None:
    graph = [[], [0], [1], [0], [2, 3], [4]]
    between = preprocessed(graph, source=1, target=4)
    assert operations(between) == Operations(additions=2)
    times = {task: constant(10.0**task) for task in range(6)}
    assert Evaluation(times).of(between, lambda task: task).mean == pytest.approx(10_110)


def test_tasks_in_a_row_on_one_kind_are_bundled_and_take_the_same_time() -> None:
    chain = preprocessed([[], [0], [1], [2]])
    kinds = ["a", "a", "b", "b"]
    both = bundled(chain, kinds.__getitem__)
    assert isinstance(both, InOrder)
    assert len(both.parts) == 2
    times = {task: constant(task + 1.0) for task in range(4)}
    assert Evaluation(times).of(both, lambda task: task).mean == pytest.approx(10)


def test_tasks_that_share_a_machine_take_as_long_as_all_of_them() -> None:
    wide = preprocessed([[], [0], [0], [0], [0], [0], [1, 2, 3, 4, 5]])
    pairs = clustered(wide, lambda task: "alike", together=2)
    assert operations(pairs) == Operations(additions=2, maxima=2)
    times = {"alike": constant(10.0)}
    assert Evaluation(times).of(pairs, lambda task: "alike").mean == pytest.approx(40)


def test_two_plans_are_told_apart_by_what_differs() -> None:
    rng = np.random.default_rng(1)
    runtimes = {
        "slow": from_samples(rng.gamma(9, 3, 999)),
        "fast": from_samples(rng.gamma(9, 2, 999)),
    }
    first = ["slow", "slow", "slow", "slow"]
    second = ["slow", "slow", "slow", "fast"]
    part, other = partially_evaluated(
        Evaluation(runtimes), preprocessed(FORK), first.__getitem__, second.__getitem__
    )
    assert part.points == pytest.approx(runtimes["slow"].points)
    assert other.points == pytest.approx(runtimes["fast"].points)
    assert is_more(part, other)


def test_beside_a_longer_branch_a_better_part_gains_nothing() -> None:
    worse, better, longer = constant(5.0), constant(3.0), constant(60.0)
    assert is_more(worse, better)
    assert not is_more(maximum(worse, longer), maximum(better, longer))  # the paper's lemma 2 fails


def test_a_task_alone_is_its_own_combination() -> None:
    assert isinstance(preprocessed([[]]), Task)


def test_what_cannot_be_meant_is_refused_in_a_sentence() -> None:
    took = from_samples([31.0, 28.5, 44.0])
    assert repr(took) == "Histogram(mean 34.5; 10 % 28.5, 50 % 31, 90 % 44)"
    with pytest.raises(ValueError, match="1 of 2 samples"):
        from_samples([1.0, float("nan")])
    with pytest.raises(ValueError, match="Task 1 waits for 5"):
        preprocessed([[], [5]])
    with pytest.raises(ValueError, match="'fast'; those that are known: 'slow'"):
        Evaluation({"slow": took}).of(preprocessed([[], [0]]), lambda task: "fast")

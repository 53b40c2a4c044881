"""The study of plans with distributions: its shapes, and one of its cells."""

from pathlib import Path

import numpy as np
import pytest
from studies import distributions_planned as study
from studies.study import Options


def test_q9_has_two_levels_for_each_of_seven_jobs_and_a_map_for_each_block() -> None:
    job = study.chained("Q9", study.Q9_READS)
    widths = np.bincount(job.order.step)
    assert len(widths) == 14
    assert widths[0] == 3  # 700 MB
    assert widths[2] == 1485  # 380 GB


def test_the_spread_is_that_with_which_the_first_level_takes_so_much_longer() -> None:
    job = study.chained("Q9", study.Q9_READS[:1])
    found = study.calibrated(lambda vary: study.levels_short(job, vary)[0], 0.048, 1)
    assert study.levels_short(job, study.spreads(found, 1))[0] == pytest.approx(0.048, abs=0.002)


def test_a_tight_budget_is_kept_by_prob_and_not_by_average(tmp_path: Path) -> None:
    options = Options(quick=True, workers=1, out=tmp_path, seed=1)
    job = study.chained("Q1", study.Q1_READS)
    vary = study.spreads(0.3, 1)
    problem = study.problem_of(job, vary, "tight")
    prob, average = (
        study.planned(name, job, vary, problem, options) for name in ("Prob", "Average")
    )
    assert prob is not None
    assert average is not None
    assert prob.kept(problem.budget) >= 0.98
    assert average.kept(problem.budget) <= 0.85
    assert average.plan.cost.mean < problem.budget

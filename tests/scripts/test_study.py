"""Studies run in parts: what there is already is not run again."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from studies.reliability import Outcome, _curve
from studies.study import Options, run_all


def test_who_resumes_runs_only_what_is_missing(tmp_path: Path) -> None:
    ran: list[tuple[str, int]] = []

    def work(job: tuple[str, int]) -> str:
        ran.append(job)
        return f"{job[0]}\t{job[1]}\n"

    first = Options(False, 1, tmp_path, 1)
    again = Options(False, 1, tmp_path, 1, resume=True)
    assert run_all(work, [("a\tb", 1), ("c", 2)], first, "part") == ["a\tb\t1\n", "c\t2\n"]
    assert run_all(work, [("c", 2), ("d", 3)], again, "part") == ["c\t2\n", "d\t3\n"]
    assert ran == [("a\tb", 1), ("c", 2), ("d", 3)]
    run_all(work, [("c", 2)], first, "part")
    assert ran[-1] == ("c", 2), "without being told to resume it begins anew"


def test_the_number_of_bags_is_the_studys_own_unless_it_is_told(tmp_path: Path) -> None:
    assert list(Options(True, 1, tmp_path, 5).seeds(10, 2)) == [5, 6]
    assert len(Options(False, 1, tmp_path, 5).seeds(10, 2)) == 10
    assert len(Options(False, 1, tmp_path, 5, bags=3).seeds(10, 2)) == 3


def test_a_curve_has_a_point_for_each_fifth_that_holds_some() -> None:
    told = [(0.1, False), (0.15, True), (0.95, True), (1.0, True)]
    curve = _curve([Outcome(chance, finished, 1.0, 1.1) for chance, finished in told])
    assert curve == [(0.125, 0.5, 2), (0.975, 1.0, 2)]

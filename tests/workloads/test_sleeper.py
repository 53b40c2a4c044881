"""The sleep bag is N(15, √5²), the same whoever runs it, and sleeps as long as it says."""

import json
import time
from pathlib import Path
from statistics import fmean, stdev

import pytest
import sleeper
from helpers.workload import result, run


def test_the_bag_has_the_published_mean_and_deviation():
    runtimes = [sleeper.runtime_minutes(seed=4, index=index) for index in range(1000)]
    assert fmean(runtimes) == pytest.approx(15, abs=0.25)
    assert stdev(runtimes) == pytest.approx(5**0.5, rel=0.1)
    within = sum(abs(r - 15) < 5**0.5 for r in runtimes) / len(runtimes)
    assert within == pytest.approx(0.683, abs=0.04)


def test_tasks_differ_and_so_do_bags():
    runtimes = {sleeper.runtime_minutes(seed, index) for seed in range(10) for index in range(100)}
    assert len(runtimes) == 1000


def test_no_task_takes_less_than_nothing():
    assert min(sleeper.runtime_minutes(0, i, mean=1, deviation=5) for i in range(200)) > 0


def test_a_dry_run_tells_the_runtime_at_once():
    began = time.monotonic()
    answer = result("sleeper", "--index", 3, "--seed", 9, "--minute-seconds", 60, "--dry-run")
    assert time.monotonic() - began < 60
    assert answer["runtime_minutes"] == sleeper.runtime_minutes(9, 3)


def test_a_task_lasts_its_runtime_in_compressed_minutes_its_start_included():
    began = time.monotonic()
    answer = result("sleeper", "--index", 3, "--minute-seconds", 0.05)
    lasted = time.monotonic() - began
    assert answer["seconds"] == pytest.approx(sleeper.runtime_minutes(0, 3) * 0.05)
    assert answer["seconds"] - 0.02 <= lasted  # its age is known to a hundredth of a second


def test_the_machine_says_how_fast_it_is_and_the_command_has_the_last_word():
    told = result("sleeper", "--index", 3, "--dry-run", speed="4")
    overruled = result("sleeper", "--index", 3, "--speed", 2, "--dry-run", speed="4")
    assert told["seconds"] == pytest.approx(told["runtime_minutes"] / 4)
    assert overruled["seconds"] == pytest.approx(told["runtime_minutes"] / 2)


def test_the_result_goes_to_a_file_as_well(tmp_path: Path):
    out = tmp_path / "result.json"
    done = run("sleeper", "--index", 3, "--dry-run", "--out", out)
    assert out.read_text() == done.stdout
    assert json.loads(done.stdout)["index"] == 3
    assert list(tmp_path.iterdir()) == [out]

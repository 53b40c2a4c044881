"""A program that computes takes the time that the machine it passes for would need."""

import subprocess
import sys
import time
from resource import RUSAGE_CHILDREN, getrusage

import pytest
from run_workload import WORKLOADS, result, run


def processor_seconds() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize(("program", "size"), [("kohonen", "--iterations"), ("sarsa", "--epochs")])
def test_a_slow_machine_is_emulated_by_rest_and_changes_no_result(program: str, size: str):
    plain = result(program, size, 20)
    began, used = time.monotonic(), processor_seconds()
    slow = result(program, size, 20, "--slowdown", 3, speed="0.5")
    lasted, worked = time.monotonic() - began, processor_seconds() - used
    assert slow == plain
    assert lasted > 3 / 0.5 * worked * 0.6  # the end of the process takes some of its time, too


@pytest.mark.parametrize(("program", "size"), [("kohonen", "iterations"), ("sarsa", "epochs")])
def test_one_factor_makes_a_task_smaller_without_making_it_vanish(program: str, size: str):
    assert result(program, f"--{size}", 500, "--scale", 0.02) == result(program, f"--{size}", 10)
    assert result(program, f"--{size}", 500, "--scale", 1e-9)[size] == 1


def test_a_machine_faster_than_this_one_is_refused_before_the_work():
    done = run("sarsa", "--epochs", 10**9, "--slowdown", 2, speed="3")
    assert done.returncode == 1
    assert "set --slowdown to 3 or more" in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("sarsa", "--epochs", "0"), "0 is not 1 or more"),
        (("sarsa", "--arrivals", "1.5"), "1.5 is not between 0 and 1"),
        (("kohonen", "--rate", "-1"), "-1 is not a number above 0"),
        (("sleeper", "--index", "1", "--speed", "inf"), "inf is not a number above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...], complaint: str):
    done = run(*words)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_speed_in_the_environment_that_makes_no_sense_is_refused():
    done = run("sleeper", "--index", 1, "--dry-run", speed="fast")
    assert done.returncode == 2
    assert "fast" in done.stderr


def test_a_process_knows_its_age():
    ask = "import time, task_program; print(task_program.age_seconds(), time.process_time())"
    began = time.monotonic()
    answer = subprocess.run(
        [sys.executable, "-c", ask], cwd=WORKLOADS, capture_output=True, text=True, check=True
    )
    lived = time.monotonic() - began
    age, worked = map(float, answer.stdout.split())
    assert worked - 0.02 <= age <= lived + 0.02  # known to a hundredth of a second

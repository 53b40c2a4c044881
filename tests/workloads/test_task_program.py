"""A program that computes takes the time that the machine it passes for would need."""

import re
import subprocess
import sys
import time

import pytest
from helpers.workload import WORKLOADS, result, run

SIZES = [("kohonen", "--iterations"), ("sarsa", "--epochs")]


@pytest.mark.parametrize(("program", "size"), SIZES)
def test_another_machine_is_emulated_by_rest_and_changes_no_result(program: str, size: str):
    plain = result(program, size, 20)
    began = time.monotonic()
    emulated = result(program, size, 40, "--scale", 0.5, "--pace", 0.08, speed="1.6")
    lasted = time.monotonic() - began
    assert emulated == plain
    # The start of a process is known to a hundredth of a second; its end may wait for a core.
    assert 20 * 0.08 / 1.6 - 0.02 < lasted < 20 * 0.08 / 1.6 + 3


@pytest.mark.parametrize(("program", "size"), [("kohonen", "iterations"), ("sarsa", "epochs")])
def test_one_factor_makes_a_task_smaller_without_making_it_vanish(program: str, size: str):
    assert result(program, f"--{size}", 500, "--scale", 0.02) == result(program, f"--{size}", 10)
    assert result(program, f"--{size}", 500, "--scale", 1e-9)[size] == 1


@pytest.mark.parametrize(
    ("program", "size", "step"),
    [("kohonen", "--iterations", "an iteration"), ("sarsa", "--epochs", "an epoch")],
)
def test_another_speed_without_a_pace_is_refused_before_the_work(
    program: str, size: str, step: str
):
    done = run(program, size, 10**9, speed="3")
    assert done.returncode == 1
    assert done.stderr == (
        f"Set --pace, the seconds that {step} takes on a machine of speed 1, "
        "to pass for one of speed 3.\n"
    )


@pytest.mark.parametrize(("program", "size"), SIZES)
def test_a_machine_too_fast_to_pass_for_gets_no_result_but_the_pace_that_gives_one(
    program: str, size: str
):
    done = run(program, size, 20, "--pace", 1e-6, speed="3")
    assert (done.returncode, done.stdout) == (1, "")
    assert "a machine of speed 3 has 6.67e-06 s" in done.stderr
    advice = re.search(r"Set --pace to (\S+) or more", done.stderr)
    assert advice is not None
    more = 4 * float(advice[1])  # beside other programs the work takes more processor time
    assert result(program, size, 20, "--pace", more, speed="3") == result(program, size, 20)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("sarsa", "--epochs", "0"), "0 is not 1 or more"),
        (("sarsa", "--arrivals", "1.5"), "1.5 is not between 0 and 1"),
        (("kohonen", "--rate", "-1"), "-1 is not a number above 0"),
        (("kohonen", "--pace", "-1"), "-1 is not a number of 0 or more"),
        (("sarsa", "--pace", "nan"), "nan is not a number of 0 or more"),
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

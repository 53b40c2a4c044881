"""The Slurm bed is a real cluster: it runs, fails, cancels, pre-empts and loses jobs."""

import re
from pathlib import Path

import pytest
from helpers.beds import Bed
from helpers.waiting import until

pytestmark = pytest.mark.backend("slurm")
QUIET = ("--parsable", "--output=/dev/null")


def submit(bed: Bed, *options: str, run: str) -> str:
    return bed.run("sbatch", *QUIET, *options, "--wrap", run)


def state(bed: Bed, job: str) -> str:
    shown = bed.run("scontrol", "show", "job", job)
    found = re.search(r"JobState=(\w+)", shown)
    assert found, shown
    return found[1]


def wait(bed: Bed, job: str, *states: str) -> None:
    until(lambda: state(bed, job) in states)


def test_a_job_runs_on_a_node_and_leaves_its_output(slurm_bed: Bed, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = slurm_bed.run(
        "sbatch", "--parsable", f"--output={out}", "--wrap", "echo on $SLURMD_NODENAME"
    )
    wait(slurm_bed, job, "COMPLETED")
    assert re.fullmatch(r"on n[1-4]\n", out.read_text())


def test_a_job_that_fails_and_a_job_that_is_cancelled_are_told_apart(slurm_bed: Bed) -> None:
    failing = submit(slurm_bed, run="exit 3")
    endless = submit(slurm_bed, run="sleep 999")
    wait(slurm_bed, endless, "RUNNING")
    slurm_bed.run("scancel", endless)
    wait(slurm_bed, endless, "CANCELLED")
    wait(slurm_bed, failing, "FAILED")


def test_each_task_of_an_array_is_a_job(slurm_bed: Bed) -> None:
    job = submit(slurm_bed, "--array=0-3", run="exit $((SLURM_ARRAY_TASK_ID % 2))")
    until(lambda: not slurm_bed.run("squeue", "-h", "-j", job))
    shown = slurm_bed.run("scontrol", "show", "job", job)
    assert sorted(re.findall(r"JobState=(\w+)", shown)) == ["COMPLETED"] * 2 + ["FAILED"] * 2


def test_an_urgent_job_pre_empts_another(slurm_bed: Bed) -> None:
    modest = submit(slurm_bed, "--nodelist=n1", "--exclusive", "--no-requeue", run="sleep 999")
    wait(slurm_bed, modest, "RUNNING")
    urgent = submit(slurm_bed, "--partition=urgent", "--nodelist=n1", "--exclusive", run="true")
    wait(slurm_bed, modest, "PREEMPTED")
    wait(slurm_bed, urgent, "COMPLETED")


def test_a_node_that_goes_down_takes_its_job_with_it(slurm_bed: Bed) -> None:
    job = submit(slurm_bed, "--nodelist=n2", "--no-requeue", run="sleep 999")
    wait(slurm_bed, job, "RUNNING")
    slurm_bed.run("scontrol", "update", "nodename=n2", "state=down", "reason=test")
    wait(slurm_bed, job, "NODE_FAIL")
    until(lambda: slurm_bed.run("sinfo", "-h", "-n", "n2", "-o", "%T").strip("*") == "idle")

"""The Grid Engine bed is a real cell: it runs, deletes and limits jobs, and keeps accounts."""

import re
import subprocess

import pytest
from helpers.beds import Bed
from helpers.waiting import until

pytestmark = pytest.mark.backend("sge")


def submit(bed: Bed, *words: str) -> str:
    options = ("-terse", "-j", "y", "-o", "/dev/null", "-cwd", "-N", "smoke", "-b", "y")
    return bed.run("qsub", *options, *words).partition(".")[0]


def known(bed: Bed, job: str) -> bool:
    return re.search(rf"^ *{job} ", bed.run("qstat", "-u", "*"), re.MULTILINE) is not None


def account(bed: Bed, job: str) -> dict[str, str]:
    """The job's record, once it has ended and Grid Engine has written one."""

    def look() -> str:
        try:
            return "" if known(bed, job) else bed.run("qacct", "-j", job)
        except AssertionError:
            return ""

    lines = (line.split(None, 1) for line in until(look, 90).splitlines())
    return {words[0]: words[1].strip() for words in lines if len(words) == 2}


def test_jobs_end_in_the_accounts_with_their_exit_status(sge_bed: Bed) -> None:
    good, bad = submit(sge_bed, "true"), submit(sge_bed, "sh", "-c", '"exit 3"')
    assert account(sge_bed, good)["exit_status"] == "0"
    assert account(sge_bed, bad)["exit_status"] == "3"


def test_a_running_job_can_be_deleted(sge_bed: Bed) -> None:
    job = submit(sge_bed, "sleep", "999")
    until(lambda: re.search(rf"^ *{job} ", sge_bed.run("qstat", "-s", "r"), re.MULTILINE))
    sge_bed.run("qdel", job)
    assert account(sge_bed, job)["exit_status"].startswith("137")


def test_a_job_over_its_time_limit_is_killed_and_the_accounts_say_so(sge_bed: Bed) -> None:
    job = submit(sge_bed, "-l", "h_rt=1", "sleep", "999")
    assert account(sge_bed, job)["failed"].startswith("37")


def test_an_array_runs_in_as_many_slots_as_there_are(sge_bed: Bed) -> None:
    job = submit(sge_bed, "-t", "1-8", "sleep", "999")
    running = rf"^ *{job} .* r .*$"
    until(lambda: len(re.findall(running, sge_bed.run("qstat"), re.MULTILINE)) == 8)
    sge_bed.run("qdel", job)
    until(lambda: not known(sge_bed, job))


def test_nothing_of_the_cell_can_be_asked_without_its_environment(sge_bed: Bed) -> None:
    del sge_bed
    lost = subprocess.run(["qstat"], check=False, env={"PATH": "/usr/bin"}, capture_output=True)
    assert lost.returncode != 0

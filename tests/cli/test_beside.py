"""Work in a child: its value comes back, its failure is this process's own."""

import os
import subprocess
import sys
import time

import pytest
from helpers.waiting import until

from bats.common.errors import UsageError
from bats.master.cli.beside import Beside


def test_the_value_comes_from_another_process() -> None:
    outcome = Beside(lambda: (os.getpid(), "x" * 1_000_000))
    child, text = outcome()
    assert child != os.getpid()
    assert len(text) == 1_000_000


def test_what_fails_there_fails_here() -> None:
    def fail() -> None:
        raise UsageError("There is no such file.")

    with pytest.raises(UsageError, match="no such file"):
        Beside(fail)()


def test_a_failure_is_known_before_it_is_waited_for() -> None:
    def fail() -> None:
        raise UsageError("There is no such file.")

    failing = Beside(fail)
    until(failing.failed)
    with pytest.raises(UsageError, match="no such file"):
        failing()
    fine = Beside(lambda: 7)
    time.sleep(0.2)
    assert not fine.failed()
    assert fine() == 7


def test_what_cannot_be_sent_is_made_here() -> None:
    made = Beside(lambda: lambda: [os.getpid()])
    assert made()() == [os.getpid()]


def test_who_runs_a_sweep_that_a_child_has_read_loads_nothing_that_reads_it() -> None:
    program = (
        "import sys\n"
        "from bats.master.cli.main import bats\n"
        "from bats.master.cli.commands import run\n"
        "context = run.run.make_context('run', ['-p', 'i=1,2', '--', 'true', '{i}'])\n"
        "words = context.params.pop('words')\n"
        "want = run._read(words, context.params)\n"
        "print(want.sweep.count, want.clouds.offerings[0].name, 'pydantic' in sys.modules)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout == "2 here False\n"


def test_who_reads_a_sweep_loads_nothing_that_is_said_to_workers() -> None:
    program = (
        "import sys, bats.master.clouds.clouds_reading, bats.master.sweep.arguments\n"
        "heavy = {'asyncio', 'zmq', 'numpy', 'bats.common.messages', 'bats.deploy.protocol'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"

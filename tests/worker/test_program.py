"""`bats worker` starts light, answers at once, and never takes a secret on its command line."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

LIGHT = "import sys; sys.argv[1:] = ['worker', '--help']; from bats.common.program import main"


def _run(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bats.worker", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_a_worker_loads_no_heavy_package() -> None:
    program = (
        "import sys; from bats.worker.command_line import main, _daemon\n"
        "try: _daemon(None, 'json', None)\n"
        "except AttributeError: pass\n"
        "print(*{m.partition('.')[0] for m in sys.modules if sys.modules[m]})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "scipy", "click", "rich", "pydantic", "starlette", "uvicorn", "boto3"}
    assert not heavy & set(loaded.stdout.split())
    assert {"bats", "zmq", "structlog"} <= set(loaded.stdout.split())


def test_help_is_given_before_anything_is_loaded() -> None:
    program = f"{LIGHT}\ntry: main()\nexcept SystemExit: print('zmq' in sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "--access FILE" in said.stdout
    assert said.stdout.endswith("False\n")
    fastest = min(_seconds_for_help() for _ in range(5))
    assert fastest < 0.3


def _seconds_for_help() -> float:
    before = time.perf_counter()
    _run("--help")
    return time.perf_counter() - before


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ([], "", "one of --ticket --access is required"),
        (["--ticket", "/no/such"], "", "There is no ticket /no/such"),
        (["--ticket", "-"], "{}", "standard input is not a ticket"),
        (["--ticket", "-"], "", "standard input is not a ticket"),
        (["--access", "/no/such"], "", "There is no access file /no/such"),
        (["--ticket", "-", "--slots", "0"], "", "'0' is not a number from 1"),
        (["--ticket", "-", "--name", "x"], "", "`--name` goes with `--access`"),
    ],
)
def test_a_users_mistake_is_told_in_one_sentence(
    arguments: list[str], stdin: str, said: str
) -> None:
    ended = _run(*arguments, stdin=stdin)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_ticket_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ticket = tmp_path / "ticket"
    ticket.write_text("{}")
    ticket.chmod(0o644)
    ended = _run("--ticket", str(ticket))
    assert ended.returncode == 2
    assert "chmod 600" in ended.stderr

"""Commands answer fast, load little, and explain themselves with examples."""

import json
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from helpers.user import BATS, User

from bats.master.cli.display.formatting import amount, duration, runtime, table
from bats.master.cli.main import COMMANDS, bats, main


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "worker"])
def test_help_teaches_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    said = capsys.readouterr().out
    assert "Examples:" in said
    assert f"bats {name}" in said


def test_every_command_in_the_list_is_there_and_begins_its_help_as_listed() -> None:
    context = click.Context(bats)
    for name, sentence in COMMANDS.items():
        command = bats.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=200) == sentence


def test_commands_are_listed_without_loading_them() -> None:
    code = (
        "import sys; from bats.master.cli.main import main; main(['--help'])\n"
        "print([name for name in sys.modules if name.startswith('bats.master.cli.commands.')"
        " or name in {'asyncio', 'zmq', 'structlog'}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert COMMANDS["status"] in done.stdout
    assert done.stdout.endswith("\n[]\n")


def test_asking_a_master_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "import bats.master.cli.main, bats.master.cli.commands.status, bats.master.cli.access\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'rich', 'rich_click', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_master_of_this_process_hands_out_tasks_before_it_loads_what_plans_need() -> None:
    code = (
        "import sys\n"
        "import bats.common.log, bats.master.cli.commands.run, bats.master.service.master\n"
        "print(sorted({'numpy', 'scipy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_million_tasks_are_shown_before_a_second_is_over(user: User) -> None:
    sweep = user.write(
        "million.toml", 'command = "echo {a} {b}"\n[grid]\na = "1:1000"\nb = "1:1000"\n'
    )
    started = time.process_time(), time.monotonic()
    facts = user.facts("submit", sweep, "--dry-run")
    assert facts["tasks"] == 1_000_000
    assert facts["last"][-1] == "echo 1000 1000"
    assert time.monotonic() - started[1] < 5  # the bar of 1 s is measured when nothing else runs


def test_completion_knows_the_commands(user: User) -> None:
    done = subprocess.run(
        [BATS],
        env={**user.environment, "_BATS_COMPLETE": "bash_complete", "COMP_WORDS": "bats sch",
             "COMP_CWORD": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "schedules" in done.stdout


def test_global_options_stand_before_or_after_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text('command = "true"\n')
    for words in (
        ["--json", "submit", str(tmp_path / "s.toml"), "--dry-run"],
        ["submit", str(tmp_path / "s.toml"), "--dry-run", "--json"],
    ):
        assert main(words) == 0
        assert json.loads(capsys.readouterr().out)["bats"] == 1


def test_durations_and_money_are_short() -> None:
    assert [duration(one) for one in (0.04, 8.44, 75, 3600, 11_100, None)] == [
        "0.0 s", "8.4 s", "1 min 15 s", "1 h 00 min", "3 h 05 min", "–",
    ]  # fmt: skip
    assert [runtime(one) for one in (0.0004, 0.022, 0.4, None)] == ["1 ms", "22 ms", "0.4 s", "–"]
    assert [amount(1_250_000_000), amount(None)] == ["$1.25", "–"]


def test_tables_set_numbers_to_the_right() -> None:
    assert table(("name", "n"), [("a", 5), ("bc", 10)]) == "name   n\na      5\nbc    10"

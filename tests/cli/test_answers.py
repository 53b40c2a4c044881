"""Mistakes beside a master that runs, and in what tasks do: command, answer and exit code.

Each answer names the value, its place and the way out. What needs no master is in test_mistakes.
"""

import json
import shlex
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.user import User

from bats.master.cli.main import main

BESIDE = [
    ("status 99", "There is no bag 99; there are 1 (good), 2 (bad).", 2),
    ("status goood", "There is no bag 'goood'; there are 1 (good), 2 (bad).", 2),
    ("watch 99", "There is no bag 99", 2),
    ("results 99", "There is no bag 99", 2),
    ("report 99", "There is no bag 99", 2),
    ("explain 99", "There is no bag 99", 2),
    ("explain 1 999", "Bag 1 has tasks 0 to 2, no 999.", 2),
    ("logs 1 999", "Bag 1 has tasks 0 to 2, no 999.", 2),
    ("logs 1 0 --attempt 9", "has had attempt 1; there is no output of attempt 9.", 2),
    ("logs -f 1 0 --attempt 9", "there is no output of attempt 9.", 2),
    ("submit good.toml --strategy AUR", "`strategy` is of the tail ntdmr, for unreliable", 2),
    ("logs 1 x", "TASK: 'x' is not a whole number.", 2),
    ("logs good", "Name a TASK too, or follow all of them with -f.", 2),
    ("retry 99", "There is no bag 99", 2),
    ("retry 1", "Bag 1 has no failed task to try again.", 2),
    ("retry 1 --task 999", "Bag 1 has tasks 0 to 2, no 999.", 2),
    ("resume 99", "There is no bag 99", 2),
    ("resume 1", "Bag 1 has ended: complete; all is done.", 2),
    ("resume 2", "Bag 2 has ended: with failures; `bats retry 2` tries again what failed.", 2),
    ("cancel 99", "There is no bag 99", 2),
    ("cancel 1", "Bag 1 has ended already: complete.", 2),
    ("choose fastest --bag 1", "Bag 1 has ended: complete; there is nothing to choose.", 2),
    ("choose fastset", "No schedule is called 'fastset'; did you mean fastest?", 2),
    ("choose --budget 5,50", "'5,50' is not an amount of money; write 5.50.", 2),
    ("results 1 --sort nothing", "Nothing is called 'nothing' to sort by; there are n, ", 2),
    ("results 1 --top 0", "--top: should be 1 or more, not 0.", 2),
    ("results 1 --csv --json", "--csv prints all tasks in their order; leave out --json", 2),
    ("submit good.toml --before 5", "There is no option --before. See `bats submit --help`.", 2),
    ("submit good.toml --after 99", "There is no bag 99; there are 1 (good), 2 (bad).", 2),
    ("submit good.toml --retires 5", "no option --retires; did you mean --retries?", 2),
    (
        "submit good.toml --clouds no.toml",
        "The clouds file no.toml is not there; did you mean good",
        2,
    ),
    ("submit good.toml --pick fastset", "--pick: 'fastset' names no schedule; did you mean", 2),
    ("submit --csv rows.csv -- echo {a}", "--csv: The CSV file", 2),
    ("master", "Another master (pid ", 2),
    ("run good.toml", "`bats submit good.toml` gives it this sweep too, `--state FOLDER` runs", 2),
    ("master --state other --port {port}", "Cannot listen on 127.0.0.1 port {port}: Address", 2),
    ("master --port 99999999", "--port: should be from 0 to 65535, not 99999999.", 2),
    ("status --access nowhere.json", "There is no access file nowhere.json.", 2),
    ("status --access readable.json", "can be read by others (mode 0644). Run: chmod 600", 2),
    ("status --access garbage.json", "garbage.json is not an access file: it does not hold", 2),
    ("status --access garbled.json", "`server_key` is not a key of 40 characters of z85.", 2),
    ("status --access state/worker.json", "is for a worker, here one for a client is needed", 2),
    ("status --access swapped.json", "the access file is perhaps another master's.", 4),
    ("status --state elsewhere", "No master has run with the state folder elsewhere. Start", 4),
    ("report 1 --html no/report.html", "no/report.html: No such file or directory.", 2),
    ("run -k --json good.toml", "-k prints what tasks wrote, --json facts; give one of them.", 2),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """The folder of somebody whose master runs, and a port that is taken."""
    user = User(tmp_path_factory.mktemp("answers"))
    user.write("good.toml", 'command = "echo {n}"\n[grid]\nn = "1:3"\n')
    user.write("bad.toml", 'command = "exit {n}"\nretries = 0\n[grid]\nn = [3]\n')
    with socket.create_server(("127.0.0.1", 0)) as taken, user.master():
        user.bats("submit", "good.toml")
        user.bats("submit", "bad.toml")
        user.bats("watch", exit_code=1)
        access = json.loads((user.state / "access.json").read_text())
        keys = {"secret_key": access["public_key"], "public_key": access["secret_key"]}
        user.write("readable.json", json.dumps(access))
        user.write("garbage.json", "garbage")
        user.write("garbled.json", json.dumps(access | {"server_key": "'" * 40}))
        user.write("swapped.json", json.dumps(access | keys))
        for name in ("garbage", "garbled", "swapped"):
            (user.folder / f"{name}.json").chmod(0o600)
        (user.folder / "readable.json").chmod(0o644)
        yield user.folder, taken.getsockname()[1]


@pytest.mark.parametrize(("words", "said", "code"), BESIDE, ids=[row[0] for row in BESIDE])
def test_a_mistake_beside_a_master_is_told_in_one_sentence(
    words: str,
    said: str,
    code: int,
    place: tuple[Path, int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, port = place
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BATS_STATE", str(folder / "state"))
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("BATS_CLOUDS", raising=False)
    command = shlex.split(words.replace("{port}", str(port)))
    if command[0] in {"master", "run"}:  # these set up logging for all their process
        done = User(folder).bats(*command, exit_code=code)
        out, err = done.stdout, done.stderr
    else:
        assert main(command) == code
        out, err = capsys.readouterr()
    assert err.startswith("bats: ")
    assert err.count("\n") == 1
    assert said.replace("{port}", str(port)) in err
    assert not out


IN_TASKS = [
    ("nosuchprogram {}", "exit code 127, '/bin/sh: 1: nosuchprogram: not found'"),
    ('echo {} "unbalanced', "'/bin/sh: 1: Syntax error: Unterminated quoted string'"),
    ("python3 mising.py", "can't open file '"),
    ("kill -SEGV $$", f"ended by signal {signal.SIGSEGV:d} without a word"),
    ("exit 3", "exit code 3 without a word"),
    ("head -c 300 /dev/urandom; exit 4", "exit code 4"),
    ("echo; read line; exit 5", "exit code 5"),
]


def test_what_is_wrong_in_a_task_stands_on_the_last_screen_with_the_way_to_its_words(
    user: User,
) -> None:
    for number, (command, said) in enumerate(IN_TASKS, 1):
        done = user.bats("run", command, ":::", "a", exit_code=1)
        failed = next(line for line in done.stdout.splitlines() if line.startswith("failed"))
        assert said in failed
        assert failed.endswith(f"bats logs {number} 0")


def test_a_program_that_is_not_there_or_not_executable_could_not_be_started(user: User) -> None:
    user.write("script.sh", "#!/bin/sh\n")
    here = "looked for from "
    for argv, said in (
        (["nosuchprogram"], "there is no program `nosuchprogram` on the PATH of this machine"),
        (["./missing.sh"], f"there is no program ./missing.sh on this machine ({here}"),
        (["./script.sh"], "./script.sh is not executable on this machine (chmod +x?)"),
    ):
        done = user.bats("run", "--", *argv, exit_code=1)
        assert f"could not be started, '{said}" in done.stdout


def test_more_output_than_is_kept_is_no_mistake(user: User) -> None:
    done = user.bats("run", "yes {} | head -c 200000000; echo last", ":::", "a")
    assert "1 of 1 task done" in done.stdout
    assert "last" in user.bats("results", "--json").stdout


def test_the_table_is_long() -> None:
    assert len(BESIDE) + len(IN_TASKS) >= 45

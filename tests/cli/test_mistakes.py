"""What users get wrong is told in one sentence on stderr, with the right exit code."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from bats.master.cli.main import main

FILES: Mapping[str, str] = {
    "good.toml": 'command = "echo {n}"\n[grid]\nn = "1:3"\n',
    "type.toml": "command = 5\n",
    "key.toml": 'comand = "echo"\n',
    "empty.toml": 'command = "echo {n}"\n[grid]\nn = []\n',
    "nothing.toml": "",
    "same.toml": 'command = "true"\n',
    "broken.toml": "command = [\n",
    "hole.toml": 'command = "echo {m}"\n[grid]\nn = "1:3"\n',
    "negative.toml": 'command = "echo"\nbudget = -5\n',
    "pick.toml": 'command = "echo"\npick = "quickest"\n',
    "zip.toml": 'command = "echo {a}{b}"\n[[zip]]\na = [1, 2]\nb = [1]\n',
    "csv.toml": 'command = "echo {a}"\ncsv = "cells.csv"\n',
    "cells.csv": "a,b\n1,2\n3\n",
    "clouds.toml": '[[offering]]\nname = "a"\nbackend = "nowhere"\nprice = 1\nmax = 1\n',
    "price.toml": '[[offering]]\nname = "a"\nbackend = "local"\nprice = "much"\n',
    "dear.toml": '[[offering]]\nname = "a"\nbackend = "local"\nprice = 1\nmax = 1\n',
    "access.json": "{}",
    "grid.toml": 'command = "echo {n}"\n[grid]\nn = "1:3"\nretries = 3\n',
    "euro.toml": 'currency = "EUR"\n[[offering]]\nname = "a"\nbackend = "local"\nprice = 1\n',
    "garbled.json": json.dumps(
        {
            "version": 1,
            "role": "client",
            "master": ["tcp://127.0.0.1:1"],
            "server_key": "x" * 39 + "'",
            "public_key": "x" * 40,
            "secret_key": "x" * 40,
        }
    ),
}

MISTAKES = [
    (["weigh", "1"], 2, "Say a weight, a --priority, or both"),
    (["weigh", "1", "0"], 2, "should be from 1 to 1000"),
    (["submit", "nowhere.toml"], 2, "nowhere.toml is not there"),
    (["submit", "god.toml"], 2, "did you mean good.toml"),
    (["submit", "good.tml"], 2, "did you mean good.toml"),
    (["run", "echo"], 2, "There is no sweep file called 'echo'. A command stands after `--`"),
    (["run", "sh x.sh"], 2, "There is no sweep file called 'sh x.sh'. A command stands after"),
    (["run", "echo {}; sleep 0.{}"], 2, "A command stands after `--`, before `:::`"),
    (["submit", "type.toml"], 2, "should be a text, not 5"),
    (["submit", "key.toml"], 2, "did you mean `command`"),
    (["submit", "empty.toml"], 2, "n"),
    (["submit", "nothing.toml"], 2, "nothing to run"),
    (["submit", "broken.toml"], 2, "broken.toml"),
    (["submit", "hole.toml"], 2, "{m} has no values"),
    (["submit", "negative.toml"], 2, "budget"),
    (["submit", "pick.toml"], 2, "quickest"),
    (["submit", "zip.toml"], 2, "equally many"),
    (["submit", "csv.toml"], 2, "cells.csv"),
    (["submit", "good.toml", "--budget", "-5"], 2, "budget"),
    (["submit", "good.toml", "--budget", "lots"], 2, "budget"),
    (["submit", "good.toml", "--deadline", "soon"], 2, "deadline"),
    (["submit", "good.toml", "--term", "soon"], 2, "--term"),
    (["submit", "good.toml", "--retries", "x"], 2, "--retries"),
    (["submit", "good.toml", "--compat", "pbs"], 2, "slurm"),
    (["submit", "good.toml", "-p", "n"], 2, "-p n"),
    (["submit", "good.toml", "--zip", "a="], 2, "--zip a="),
    (["submit", "good.toml", "--clouds", "clouds.toml"], 2, "nowhere"),
    (["submit", "good.toml", "--clouds", "no.toml"], 2, "no.toml is not there"),
    (["submit", "good.toml"], 4, "bats master"),
    (["submit"], 2, "Name a sweep file"),
    (["submit", "--open", "same.toml"], 2, "nothing tells the tasks of an open bag apart"),
    (["submit", "--open", "hole.toml"], 2, "{m} has no values"),
    (["add"], 2, "BAG"),
    (["add", "1", "5"], 4, "bats master"),
    (["close"], 4, "bats master"),
    (["run", "good.toml", "--clouds", "price.toml"], 2, "price"),
    (["run", "good.toml", "--clouds", "dear.toml"], 2, "--budget, --deadline, --pick or --yes"),
    (["run"], 2, "Name a sweep file"),
    (["status"], 4, "bats master"),
    (["status", "1"], 4, "bats master"),
    (["status", "--access", "access.json"], 2, "access"),
    (["status", "--access", "no.json"], 2, "There is no access file no.json"),
    (["status", "--nonsense"], 2, "--nonsense"),
    (["statsu"], 2, "statsu"),
    (["choose"], 2, "Name a schedule"),
    (["choose", "--budget", "x"], 2, "not an amount"),
    (["choose", "--deadline", "x"], 2, "not a duration"),
    (["choose", "fastest"], 4, "bats master"),
    (["choose", "3", "fastest"], 4, "bats master"),
    (["choose", "3"], 2, "Name a schedule"),
    (["choose", "3", "4", "fastest"], 2, "One bag at a time: 3 or 4"),
    (["choose", "3", "--bag", "4", "fastest"], 2, "One bag at a time: 4 or 3"),
    (["choose", "fastest", "cheapest"], 2, "One schedule at a time: fastest or cheapest"),
    (["results", "--csv", "--failed"], 2, "--csv"),
    (["retry", "--failed", "--task", "1"], 2, "--failed"),
    (["logs", "last"], 2, "TASK"),
    (["logs", "last", "-12"], 2, "bats: -12 is negative; write 0 or more"),
    (["explain", "last", "-3s"], 2, "bats: -3s is negative; write 0 or more"),
    (["logs", "last", "--5x"], 2, "There is no option --5x"),
    (
        ["add", "last", "0.5", "-0.25"],
        2,
        "-0.25 is negative; put `--` before it: bats add BAG -- -0.25.",
    ),
    (["add", "last", "-.5"], 2, "put `--` before it: bats add BAG -- -.5."),
    (["add", "1", "--", "-0.25"], 4, "bats master"),
    (["machines"], 4, "bats master"),
    (["clouds", "show", "clouds.toml"], 2, "nowhere"),
    (["clouds", "nonsense"], 2, "nonsense"),
    (["access"], 2, "bats master"),
    (["master", "--port", "70000"], 2, "70000"),
    (["master", "--clouds", "no.toml"], 2, "no.toml is not there"),
    (["rum", "good.toml"], 2, "There is no command 'rum'; did you mean `run`? See `bats --help`."),
    (["stauts"], 2, "did you mean `status`?"),
    (["xyzzy"], 2, "there are run, master, worker"),
    (["clouds", "chekc"], 2, "did you mean `check`?"),
    (["run", "grid.toml"], 2, "grid.toml, line 4: `grid.retries`: `retries` is a key of the whole"),
    (["run", "good.toml", "--budget", "abc"], 2, "bats: --budget: 'abc' is not an amount"),
    (["run", "good.toml", "--deadline", "soon"], 2, "bats: --deadline: 'soon' is not a duration"),
    (["run", "good.toml", "--pick", "fastset"], 2, "bats: --pick: 'fastset' names no schedule"),
    (["run", "good.toml", "--max-failures", "0"], 2, "bats: --max-failures: should be 1 or more"),
    (
        ["run", "good.toml", "--clouds", "euro.toml", "--budget", "$5"],
        2,
        "--budget: $5 is in $, and prices here are in EUR",
    ),
    (["status", "--access", "garbled.json"], 2, "`server_key` is not a key of 40 characters"),
    (["clouds", "show", "--clouds", "clouds.toml"], 2, "nowhere"),
    (["clouds", "show", "clouds.toml", "--clouds", "clouds.toml"], 2, "named twice"),
    (["machines", "3", "--speeds"], 2, "--speeds is of all bags, not of bag 3; leave one out"),
    (["machines", "3", "--stop-orphans"], 2, "--stop-orphans is of all bags, not of bag 3"),
    (
        ["machines", "--stop-orphans", "--adopt-orphans"],
        2,
        "One of --stop-orphans, --adopt-orphans",
    ),
    (["machines", "--speeds", "--adopt-orphans"], 2, "One of --adopt-orphans, --speeds"),
    (["elasticity", "3", "--all"], 2, "--all is of all bags, not of bag 3"),
    (["watch", "3", "--all"], 2, "--all is of all bags, not of bag 3"),
    (["learned", "--forget", "true", "--forget-all"], 2, "leave --forget out"),
    (["run", "good.toml", "--choose", "fastest"], 2, "no option --choose; did you mean --pick?"),
    (["cap", "set", "-5"], 2, "-5 is negative; write 0 or more"),
    (["submit", "good.toml", "--cost", "5"], 2, "no option --cost; did you mean --budget?"),
    (["run", "good.toml", "--speedup", "2"], 2, "--speedup goes with --emulate"),
    (["access", "list", "ann"], 2, "`revoke` a name or a worker, others none"),
    (["simulate", "--bag", "1", "--column", "x"], 2, "--column goes with --runtimes"),
    (["run", "good.toml", ":::", "1"], 2, "good.toml is a sweep file, which has values of its own"),
    (["run", "dear.toml"], 2, "a key of clouds files: name this file with --clouds"),
    (["run", "good.toml", "--clouds", "good.toml"], 2, "a key of sweep files: --clouds names"),
    (["cap", "--user", "ann"], 2, "--user goes with `set` or `remove`"),
    (["cap", "--per", "day"], 2, "--per goes with `set` or `remove`"),
    (["cap", "remove", "--zone", "UTC"], 2, "--zone goes with `set`"),
]


@pytest.mark.parametrize(("words", "code", "said"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_mistake_is_told_in_one_sentence(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BATS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(words) == code
    out, err = capsys.readouterr()
    assert err.startswith("bats: ")
    assert err.count("\n") == 1
    assert said in err
    assert not out


def test_the_list_of_mistakes_is_long() -> None:
    assert len(MISTAKES) >= 40

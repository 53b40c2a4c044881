"""What tasks print is in the results: last lines, values with types, all of it where asked for."""

import csv
import io
import json

from helpers.user import User

from bats.common.wire.keys import read_access
from bats.master.client import connect

SWEEP = """
command = 'echo begin; echo loss=0.$((BATS_PARAM_A * 3 % 7)) steps={a}; echo the end of {who}'
[grid]
a = "1:5"
who = ["x", "y"]
"""


def test_the_last_line_and_the_values_of_each_task_stand_in_its_row(user: User) -> None:
    user.bats("run", user.write("s.toml", SWEEP))
    head, first, *_ = user.bats("results").stdout.splitlines()
    assert head.split()[:5] == ["task", "a", "who", "loss", "steps"]
    assert first.split()[:5] == ["0", "1", "x", "0.3", "1"]
    assert first.endswith("the end of x")
    rows = list(csv.DictReader(io.StringIO(user.bats("results", "--csv").stdout)))
    assert [rows[4][name] for name in ("a", "loss", "steps", "excerpt")] == [
        "3", "0.2", "3", "the end of x",
    ]  # fmt: skip
    (line, *_) = user.bats("results", "--json").stdout.splitlines()
    assert json.loads(line)["values"] == {"loss": 0.3, "steps": 1}


def test_the_best_are_found_by_a_value(user: User) -> None:
    user.bats("run", user.write("s.toml", SWEEP))

    def tasks(*words: str) -> list[int]:
        return [int(line) for line in user.bats("results", "-q", *words).stdout.split()]

    assert tasks("--sort", "loss", "--top", "3") == [2, 3, 6]
    assert tasks("--sort", "loss", "--bottom", "2") == [8, 9]
    assert tasks("--sort", "who")[:3] == [0, 2, 4]
    said = user.bats("results", "--top", "1", exit_code=2).stderr
    assert said == "bats: Name what to sort by, --sort NAME: they told loss, steps.\n"
    said = user.bats("results", "--sort", "los", exit_code=2).stderr
    assert said == "bats: Nothing is called 'los' to sort by; did you mean loss?\n"


def test_all_of_the_output_is_there_for_the_asking(user: User) -> None:
    user.bats("run", user.write("s.toml", SWEEP))
    said = user.bats("results", "--output").stdout
    assert said.startswith("==> task 0: a=1 who=x (done, ")
    assert said.count("begin\nloss=") == 10
    rows = list(csv.DictReader(io.StringIO(user.bats("results", "--csv", "--output").stdout)))
    assert rows[0]["output"] == "begin\nloss=0.3 steps=1\nthe end of x\n"


def test_python_gets_numbers_where_the_sweep_has_numbers(user: User) -> None:
    with user.master():
        bag = user.facts("submit", user.write("s.toml", SWEEP))["bag"]
        with connect(read_access(user.state / "access.json")) as master:
            results = {one["task"]: one for one in master.bag(bag).results()}
            assert results[3]["parameters"] == {"a": 2, "who": "y"}
            assert results[3]["values"] == {"loss": 0.6, "steps": 2}
            row = master.bag(bag).rows()[3]
            assert (row["a"], row["loss"], row["who"], row["task"]) == (2, 0.6, "y", 3)


def test_values_may_be_told_in_a_file(user: User) -> None:
    sweep = """
command = 'echo "loss=0.$BATS_PARAM_A" > "$BATS_VALUES"; echo done'
values = "loss of {a}.json"
[grid]
a = [3, 1, 2]
"""
    user.bats("run", user.write("s.toml", sweep))
    said = user.bats("results", "--sort", "loss", "--bottom", "1").stdout.splitlines()
    assert said[1].split()[:4] == ["1", "1", "0.1", "done"]

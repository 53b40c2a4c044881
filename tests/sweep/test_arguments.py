"""Options on a command line make the same sweeps as files."""

from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.money import money
from bats.master.sweep.arguments import from_arguments


def test_a_grid_from_options():
    sweep = from_arguments(
        ["python", "sim.py", "--alpha", "{alpha}", "--kind", "{kind}"],
        parameters=["alpha=0.1:0.3:0.1", "seed=1,2", 'kind=a,"b c"'],
    )
    assert sweep.count == 12
    assert sweep.names == ("alpha", "seed", "kind")
    assert sweep.preview(0) == "python sim.py --alpha 0.1 --kind a"
    assert sweep.preview(11) == "python sim.py --alpha 0.3 --kind 'b c'"
    assert sweep.cwd == str(Path.cwd())


def test_zipped_options_go_together():
    sweep = from_arguments(["x", "{a}{b}"], zipped=["a=1,2,3", "b=4:6"], parameters=["c=1:2"])
    assert [sweep.preview(i) for i in range(6)] == ["x 14", "x 25", "x 36"] * 2


def test_one_word_with_blanks_is_for_the_shell():
    sweep = from_arguments(["sim {a} | sort > {a}.txt"], parameters=["a=x y,z"])
    assert sweep.preview(0) == "sim 'x y' | sort > 'x y'.txt"


def test_lines_of_standard_input_are_commands():
    sweep = from_arguments(lines=["echo one | wc\n", "\n", "# not this\n", "echo 'two'\r\n"])
    assert [sweep.preview(i) for i in range(sweep.count)] == ["echo one | wc", "echo 'two'"]


def test_lines_fill_the_placeholder_of_a_command():
    sweep = from_arguments(["gzip", "{line}"], lines=["a b.txt", "c.txt"])
    assert [sweep.preview(i) for i in range(sweep.count)] == ["gzip 'a b.txt'", "gzip c.txt"]


def test_a_csv_and_an_array(tmp_path: Path):
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n3,4\n")
    sweep = from_arguments(
        ["sim", "{x}", "{y}", "{array}"], csv_file=str(tmp_path / "rows.csv"), array="1-3%2"
    )
    assert sweep.count == 6
    assert sweep.preview(5) == "sim 3 4 3"
    assert sweep.at_once == 2


def test_values_from_a_file(tmp_path: Path):
    (tmp_path / "names").write_text("a\nb\n")
    sweep = from_arguments(["x", "{n}"], parameters=[f"n=@{tmp_path / 'names'}"])
    assert sweep.count == 2


def test_options_go_before_what_the_file_says(tmp_path: Path):
    path = tmp_path / "sweep.toml"
    path.write_text('command = "x {a} {b}"\ntimeout = 5\nretries = 4\n[grid]\na = [1]\nb = [2]\n')
    sweep = from_arguments(
        file=path, parameters=["a=7,8"], settings={"timeout": "1m", "budget": "3", "pick": None}
    )
    assert [sweep.preview(i) for i in range(sweep.count)] == ["x 7 2", "x 8 2"]
    assert (sweep.timeout_seconds, sweep.retries, sweep.budget) == (60, 4, money(3))
    assert from_arguments(["y", "{b}"], file=path).preview(0) == "y 2"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"words": ["x", "{b}"], "parameters": ["a=1"]}, "The command: {b} has no values"),
        ({"words": ["x"], "parameters": ["a"]}, "-p NAME=VALUES"),
        ({"words": ["x"], "parameters": ["a="]}, "-p NAME=VALUES"),
        ({"words": ["x"], "parameters": ["a=1,,2"]}, "empty value"),
        ({"words": ["x"], "parameters": ['a="1']}, "check the quotes"),
        ({"words": ["x"], "parameters": ["a=1", "a=2"]}, "given twice"),
        ({"words": ["x"], "parameters": ["a-b=1"]}, "letters, digits and _"),
        ({"words": ["x"], "parameters": ["a=5:1:1"]}, "negative step"),
        ({"words": ["x"], "parameters": ["a=@/no/such"]}, "-p a: The file of values /no/such"),
        ({"words": ["x"], "zipped": ["a=1,2", "b=1"]}, "--zip: .* a has 2, b has 1"),
        ({"words": ["x"], "zipped": ["a=1"], "parameters": ["a=1"]}, "'a' is given twice"),
        ({"words": ["x"], "array": "1-"}, "--array: '1-' is not an array"),
        ({"words": ["x"], "csv_file": "/no/such.csv"}, "--csv: The CSV file /no/such.csv"),
        ({"words": ["x"], "settings": {"timeout": "q"}}, "--timeout: 'q' is not a duration"),
        ({"words": ["x"], "settings": {"output_cap": "q"}}, "--output-cap: 'q' is not a size"),
        ({}, "there is nothing to run"),
        ({"lines": []}, "no line to run"),
        ({"file": "/no/such.toml"}, "/no/such.toml is not there"),
    ],
)
def test_a_wrong_option_is_told_in_one_sentence(options: dict[str, object], says: str):
    with pytest.raises(UsageError, match=says) as caught:
        from_arguments(**options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "commands"),
    [
        (["convert {} {.}.png", ":::", "a.jpg", "d/b c.jpg"],
         ["convert a.jpg a.png", "convert 'd/b c.jpg' 'd/b c'.png"]),
        (["gzip", "-9", ":::", "a", "b"], ["gzip -9 a", "gzip -9 b"]),
        (["wc -l", ":::", "a"], ["wc -l a"]),
        (["sim {1} {2}", ":::", "1", "2", ":::", "x"], ["sim 1 x", "sim 2 x"]),
        (["sim {}", ":::", "1", ":::", "x", "y"], ["sim 1 x", "sim 1 y"]),
        (["mv {} {//}/{/.}.old", ":::", "d/a.txt", "b.c"],
         ["mv d/a.txt d/a.old", "mv b.c ./b.old"]),
        (["awk '{{print}}' {}", ":::", "f"], ["awk '{print}' f"]),
    ],
)  # fmt: skip
def test_values_after_three_colons_fill_the_holes(words: list[str], commands: list[str]):
    sweep = from_arguments(words)
    assert [sweep.preview(k) for k in range(sweep.count)] == commands


def test_lines_of_standard_input_fill_them_too():
    sweep = from_arguments(["gzip -c {} > {/.}.gz"], lines=["d/a.dat\n", "b.dat\n"])
    assert sweep.preview(0) == "gzip -c d/a.dat > a.gz"
    assert sweep.preview(1) == "gzip -c b.dat > b.gz"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["echo {}", ":::"], "no value after `:::`"),
        ([":::", "a"], "no command before `:::`"),
        (["echo {3}", ":::", "a"], r"\{3\} has no values; there are 1 sources"),
        (["echo {}"], "has no values"),
    ],
)
def test_a_line_that_lacks_something_is_told(words: list[str], says: str):
    with pytest.raises(UsageError, match=says):
        from_arguments(words)

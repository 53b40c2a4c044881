"""What counts as a value in the output of a task, and what is kept of it."""

import json
import math
import time

import pytest

from bats.common.outcomes.values import kept, last_line, told_in, values_of


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("loss=0.25\n", {"loss": 0.25}),
        ("epoch 1\nloss = 1e-3\nsteps=12\ndone\n", {"loss": 0.001, "steps": 12}),
        ("loss=3\nloss=2\nloss=1\n", {"loss": 1}),
        ("a=1 b=-2, c=+.5;d=7.\n", {"a": 1, "b": -2, "c": 0.5, "d": 7.0}),
        ("val.loss=inf\n", {"val.loss": math.inf}),
        ('{"area": 2.5, "ok": true, "who": "me", "n": 3, "no": null, "l": [1]}\n',
         {"area": 2.5, "ok": True, "who": "me", "n": 3}),
        ('x=1\n{"fit": {"a": 1, "b": {"c": 2}}}', {"x": 1, "fit.a": 1, "fit.b.c": 2}),
        ("", {}),
        ("the answer is x=4\n", {}),
        ("x=4 apples\n", {}),
        ("x=\n", {}),
        ("007=1\n", {}),
        ('{"a": 1\n', {}),
        ("[1, 2]\n", {}),
        ('{"a": 1}\nafter it\n', {}),
    ],
)  # fmt: skip
def test_values_are_lines_of_pairs_and_an_object_on_the_last_line(
    written: str, values: dict[str, object]
) -> None:
    assert values_of(kept(written)) == values


def test_the_last_line_is_kept_whether_it_is_a_value_or_not() -> None:
    assert last_line(kept("one\ntwo\n\n")) == "two"
    assert last_line(kept("one\nx=2\n")) == "x=2"
    assert last_line(kept("10 %\r50 %\r100 %\r\n")) == "100 %"
    assert last_line(kept("")) == ""


def test_no_more_is_kept_than_needed() -> None:
    assert kept("a\nb\nx=1\nc\n") == "x=1\nc"
    assert len(kept("y" * 4000)) == 500
    long = json.dumps({f"name{k}": k for k in range(200)})
    assert values_of(kept(long))["name199"] == 199


def test_numbers_no_integer_of_the_store_holds_are_floats() -> None:
    assert values_of("x=99999999999999999999") == {"x": 1e20}
    assert values_of('{"x": 1' + "0" * 400 + "}") == {"x": math.inf}
    assert values_of('{"x\\ud800": "\\udfff"}') == {"x?": "?"}


@pytest.mark.parametrize("line", ["a=" + "1" * 4000 + "x", "a=1 " * 1000 + "=", "{" * 4000])
def test_nothing_a_task_prints_takes_long_to_read(line: str) -> None:
    began = time.perf_counter()
    values_of(kept(line))
    assert time.perf_counter() - began < 0.2


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("loss=0.25\n\nsteps=3\n", {"loss": 0.25, "steps": 3}),
        ('{\n  "loss": 0.25,\n  "fit": {"a": 1}\n}\n', {"loss": 0.25, "fit.a": 1}),
        ('# by sim 3\nx=1\n{"y": "two"}\n', {"x": 1, "y": "two"}),
    ],
)
def test_a_file_may_hold_pairs_or_an_object_over_many_lines(
    file: str, values: dict[str, object]
) -> None:
    assert values_of(f"{told_in(file)}\nthe last line") == values


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("", "holds no values: no line name=number, no JSON object"),
        ("loss 3\n", "holds no values"),
        (json.dumps({f"name{k}": k for k in range(500)}), "6,[0-9]+ bytes of values, and 4,096"),
    ],
)
def test_a_file_that_tells_nothing_or_too_much_is_refused(file: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        told_in(file)

"""Whatever stands in a sweep file, it is a sweep or one sentence: never a traceback."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bats.common.errors import UsageError
from bats.master.sweep.arguments import from_arguments
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.sweep_model import SweepFile
from bats.master.sweep.sweep_reading import build, load
from bats.master.userfile import Document

KEYS = st.sampled_from([*SweepFile.model_fields, "range", "values", "file", "slots", "a", "B"])
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["1:10", "0.1:1:0.1", "1-10:2%4", "{a}", "{", "}}", "1h", "90s", "$5", "a", "\0", "\ud800"]
    ),
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.dates(), st.binary(max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(KEYS, TEXTS), inner, max_size=4)
    ),
    max_leaves=12,
)
WITH_COMMAND = st.just({"command": "x"})
TABLES = st.dictionaries(KEYS, VALUES, max_size=6)


@contextmanager
def one_sentence_at_most() -> Iterator[None]:
    """Lets a UsageError pass if it is one line; anything else fails the test."""
    try:
        yield
    except UsageError as error:
        if "\n" in str(error):
            raise AssertionError(str(error)) from error


def use(sweep: Sweep) -> None:
    for index in {0, sweep.count // 2, sweep.count - 1}:
        sweep.preview(index)
    assert Sweep.from_plain(sweep.to_plain()) == sweep


@given(TABLES, st.one_of(WITH_COMMAND, st.just({})))
def test_any_data_is_a_sweep_or_one_sentence(data: dict[str, Any], more: dict[str, Any]):
    with one_sentence_at_most():
        use(build(Document("sweep.toml", data | more, "toml", "")))


@pytest.mark.parametrize("name", ["sweep.toml", "sweep.json", "sweep.yaml"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_a_sweep_or_one_sentence(tmp_path: Path, name: str, content: bytes):
    path = tmp_path / name
    path.write_bytes(content)
    with one_sentence_at_most():
        use(load(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=TABLES)
def test_any_json_is_a_sweep_or_one_sentence(tmp_path: Path, data: dict[str, Any]):
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps(data, default=str))
    with one_sentence_at_most():
        use(load(path))


@given(st.lists(TEXTS), st.lists(TEXTS), st.lists(TEXTS), TEXTS)
def test_any_options_are_a_sweep_or_one_sentence(
    words: list[str], parameters: list[str], zipped: list[str], array: str
):
    with one_sentence_at_most():
        use(from_arguments(words, parameters=parameters, zipped=zipped, array=array))


def test_braces_of_a_program_of_many_lines_are_told_in_one() -> None:
    with one_sentence_at_most(), pytest.raises(UsageError, match="has no values") as refused:
        from_arguments(["awk", "{\n x\n}"])
    assert "\n" not in str(refused.value)
    with pytest.raises(UsageError, match="only `raw`") as refused:
        from_arguments(["awk", "{a!\n}"], parameters=["a=1"])
    assert "\n" not in str(refused.value)


@given(VALUES)
def test_any_plain_form_is_a_sweep_or_one_sentence(plain: Any):
    with one_sentence_at_most():
        Sweep.from_plain(plain)


@given(st.dictionaries(st.sampled_from(sorted(SweepFile.model_fields)), VALUES, max_size=3))
def test_any_change_of_a_plain_form_is_a_sweep_or_one_sentence(changes: dict[str, Any]):
    whole = from_arguments(["x", "{a}"], parameters=["a=1:5", "b=x,y"]).to_plain()
    axes = changes.pop("grid", whole["space"]["axes"])
    exclude = changes.pop("exclude", [])
    with one_sentence_at_most():
        use(Sweep.from_plain(whole | changes | {"space": {"axes": axes, "exclude": exclude}}))

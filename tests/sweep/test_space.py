"""Task number i has the values that nested loops would have given it, without running them."""

from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.master.sweep.columns import Listed, Spaced
from bats.master.sweep.space import Axis, Exclusion, Space, space_from_plain, space_to_plain

LETTERS = "abcdefghi"


@st.composite
def axes(draw: st.DrawFn) -> list[Axis]:
    names = iter(LETTERS)
    widths = draw(st.lists(st.integers(1, 3), max_size=3, min_size=1))
    made = []
    for width in widths:
        rows = draw(st.integers(1, 4))
        cells = st.lists(st.sampled_from(["1", "2", "3", "x"]), min_size=rows, max_size=rows)
        made.append(
            Axis(
                tuple(next(names) for _ in range(width)),
                tuple(Listed(draw(cells)) for _ in range(width)),
            )
        )
    return made


def nested_loops(some: list[Axis]) -> list[dict[str, str]]:
    rows = [
        [dict(zip(axis.names, row, strict=True)) for row in zip(*axis.columns, strict=True)]
        for axis in some
    ]
    return [{k: v for part in parts for k, v in part.items()} for parts in product(*rows)]


@given(axes())
def test_values_are_those_of_nested_loops(some: list[Axis]):
    space = Space(tuple(some))
    expected = nested_loops(some)
    assert space.count == len(expected)
    assert [dict(zip(space.names, space.values(i), strict=True)) for i in range(space.count)] == (
        expected
    )


@given(axes(), st.data())
def test_exclusions_leave_out_what_a_filter_in_the_innermost_loop_would(
    some: list[Axis], data: st.DataObject
):
    names = [name for axis in some for name in axis.names]
    rules: list[Exclusion] = data.draw(
        st.lists(
            st.dictionaries(
                st.sampled_from(names),
                st.lists(st.sampled_from(["1.0", "2", "x"]), min_size=1).map(tuple),
                min_size=1,
            ),
            min_size=1,
            max_size=3,
        )
    )

    def alike(one: str, other: str) -> bool:
        return one == other or ("x" not in one + other and float(one) == float(other))

    def meant(rule: Exclusion, row: dict[str, str]) -> bool:
        return all(any(alike(row[name], value) for value in rule[name]) for name in rule)

    everything = nested_loops(some)
    expected = [row for row in everything if not any(meant(rule, row) for rule in rules)]
    if not expected or any(not any(meant(rule, row) for row in everything) for rule in rules):
        with pytest.raises(ValueError, match="exclude"):
            Space(tuple(some), tuple(rules))
        return
    space = Space(tuple(some), tuple(rules))
    assert [dict(zip(space.names, space.values(i), strict=True)) for i in range(space.count)] == (
        expected
    )
    assert space_from_plain(space_to_plain(space)) == space


def test_a_sweep_without_parameters_is_one_task():
    assert Space().count == 1
    assert Space().values(0) == ()


def test_no_task_lies_beyond_the_last():
    space = Space((Axis(("a",), (Spaced(1, 1, 3),)),))
    for index in (-1, 3):
        with pytest.raises(IndexError):
            space.values(index)


def test_more_than_sixty_parameters_can_have_exclusions():
    many = tuple(Axis((f"p{i}",), (Listed(["1"]),)) for i in range(100))
    space = Space((*many, Axis(("last",), (Spaced(1, 1, 3),))), ({"last": ("2",)},))
    assert [space.values(i)[-1] for i in range(space.count)] == ["1", "3"]


@pytest.mark.parametrize(
    ("some", "rules", "says"),
    [
        (SimpleNamespace(a=5, b=10**6, c=10**6), (), "more than 10,000,000 tasks"),
        (SimpleNamespace(a=5), ({"b": ("1",)},), "'b', no parameter"),
        (SimpleNamespace(alpha=5), ({"alhpa": ("1",)},), "did you mean alpha"),
        (SimpleNamespace(a=2), ({"a": ("1", "2")},), "leaves no task"),
        (SimpleNamespace(a=2), ({"a": ("7",)},), "fits no task"),
    ],
)
def test_spaces_that_make_no_sense_are_refused(
    some: SimpleNamespace, rules: tuple[Exclusion, ...], says: str
):
    made = tuple(Axis((name,), (Spaced(1, 1, count),)) for name, count in vars(some).items())
    with pytest.raises(ValueError, match=says):
        Space(made, rules)

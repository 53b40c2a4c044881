"""Host patterns mean what people write: ranges keep their zeros, each host comes once."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.deploy.ssh import host_list


def test_a_range_keeps_its_leading_zeros() -> None:
    assert host_list.expand(["node[08-11].cluster"]) == [
        "node08.cluster",
        "node09.cluster",
        "node10.cluster",
        "node11.cluster",
    ]


def test_lists_and_several_brackets_multiply() -> None:
    assert host_list.expand(["me@r[1-2]n[3,5]"]) == ["me@r1n3", "me@r1n5", "me@r2n3", "me@r2n5"]


def test_a_host_named_twice_is_one_host() -> None:
    assert host_list.expand(["a, n[1-2]", "n2 b"]) == ["a", "n1", "n2", "b"]


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 5))
def test_every_range_is_counted_as_a_loop_would(first: int, more: int, width: int) -> None:
    pattern = f"n[{first:0{width}d}-{first + more:0{width}d}]"
    assert host_list.expand([pattern]) == [
        f"n{number:0{width}d}" for number in range(first, first + more + 1)
    ]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("node[1-", "is not a host"),
        ("node[a-b]", "`a-b` is not a number or a range"),
        ("node[9-1]", "ends before it starts"),
        ("node[1-99999999999]", "more than"),
        ("n[1-200]x[1-200]", "more than"),
        ("-oProxyCommand=evil", "is not a host"),
    ],
)
def test_a_wrong_pattern_is_named_with_the_reason(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        host_list.expand([pattern])


def test_a_file_has_a_host_per_line_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# ours\nnode[1-2]  # fast ones\n\ngpu1, gpu[2,\n")
    with pytest.raises(ValueError, match="gpu"):
        host_list.read(path)
    path.write_text("# ours\nnode[1-2]  # fast ones\n\ngpu1, gpu2\n")
    assert host_list.read(path) == ["node1", "node2", "gpu1", "gpu2"]


def test_a_missing_file_is_said_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="none cannot be read"):
        host_list.read(tmp_path / "none")

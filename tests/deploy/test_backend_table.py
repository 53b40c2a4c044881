"""A back end's table is checked key by key, and the sentence names the key."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from bats.common.errors import UsageError
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy import backend_table, registry
from bats.deploy.protocol import Site


@dataclass(frozen=True, slots=True)
class Table:
    queue: str
    hosts: tuple[str, ...] = ()
    speed: float = 1.0
    tunnel: bool | Literal["auto"] = "auto"
    nodes: int = 1

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"`nodes = {self.nodes}` should be 1 or more.")


def offering(backend: str = "slurm", **table: Any) -> Offering:
    return Offering(ClusterName("here"), NOTHING, 3600, 1, backend=backend, settings=table)


def test_a_good_table_becomes_the_dataclass() -> None:
    table = offering(queue="short", hosts="a", speed=2, tunnel=False)
    assert backend_table.read(Table, table) == Table("short", ("a",), 2.0, tunnel=False)
    assert backend_table.read(Table, offering(queue="x", hosts=["a", "b"])).hosts == ("a", "b")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"queu": "x"}, "no setting `queu`; did you mean `queue`"),
        ({"zzz": 1}, "no setting `zzz`; known are queue, hosts"),
        ({}, "`queue` must be given"),
        ({"queue": 3}, "`queue = 3` should be a text"),
        ({"queue": "x", "nodes": True}, "`nodes = True` should be a whole number"),
        ({"queue": "x", "nodes": 0}, "`nodes = 0` should be 1 or more"),
        ({"queue": "x", "hosts": [1]}, "should be a list of texts"),
        ({"queue": "x", "tunnel": "yes"}, "should be true or false or 'auto'"),
        ({"queue": "x", "speed": "fast"}, "should be a number"),
    ],
)
def test_a_wrong_table_is_refused_by_key(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match="offering here, back end slurm") as refused:
        backend_table.read(Table, offering(**table))
    assert sentence in str(refused.value)


def test_an_unknown_back_end_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="no back end `lokal`; known are local, ssh"):
        registry.backend(offering("lokal"), Site("id", "/nowhere", ("worker",)))


def test_a_wrong_setting_of_a_real_back_end_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="did you mean `speed`"):
        registry.backend(offering("local", sped=2.0), Site("id", "/nowhere", ("worker",)))

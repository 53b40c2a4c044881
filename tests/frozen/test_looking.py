"""What earlier releases left on disk is read by this one, and says what it said then."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers.releases import Frozen, frozen
from helpers.user import User

from bats.common.messages import BagId
from bats.master.brain.protocol.numbering import from_journal
from bats.master.store.repair.soundness import inspect

BAG = BagId(1)
EVERY = frozen("running", "ended", "cancelled")
LOOKS = {
    "bags": ("status",),
    "status": ("status", "last"),
    "results": ("results", "last"),
    "machines": ("machines", "last"),
    "explain": ("explain", "last"),
    "task 4": ("explain", "last", "4"),
    "task 8": ("explain", "last", "8"),
}
ELSEWHERE = {"output_folder"}  # it was on another computer
COUNTED = re.compile(r"/machine$|/machines/\d+/id$")  # 0.1.0 counted machines bag by bag
AMISS = {"limit"}  # 0.1.0 printed how many machines a cluster may have as an amount of money


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def kept(then: Any, now: Any, where: str) -> list[str]:
    """Facts that are told otherwise now than then; more may be told."""
    if isinstance(then, dict) and isinstance(now, dict):
        keys = then.keys() - ELSEWHERE - (AMISS if "/clusters" in where else set())
        lost = [f"{where}/{key} is not told" for key in keys - now.keys()]
        return lost + [x for k in keys & now.keys() for x in kept(then[k], now[k], f"{where}/{k}")]
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [
            x
            for k, pair in enumerate(zip(then, now, strict=True))
            for x in kept(*pair, f"{where}/{k}")
        ]
    if COUNTED.search(where):
        then = from_journal(then, BAG)
    return [] if then == now else [f"{where} was {then!r} and is {now!r}"]


@pytest.mark.parametrize("bag", EVERY, ids=str)
def test_a_store_of_an_earlier_release_is_whole(bag: Frozen, tmp_path: Path) -> None:
    found = inspect(bag.restore(tmp_path / "state"))
    assert found.sound, found
    assert found.readable[0].results > 0
    assert found.readable[0].events > 0


@pytest.mark.parametrize("bag", EVERY, ids=str)
def test_what_was_told_without_a_master_is_told_still(bag: Frozen, user: User) -> None:
    bag.restore(user.state)
    told = bag.told()
    assert told.keys() == LOOKS.keys()
    for name, then in told.items():
        said = user.bats(*LOOKS[name], "--json").stdout
        now = [json.loads(line) for line in said.splitlines()]
        assert kept(then, now, name) == []


@pytest.mark.parametrize("bag", EVERY, ids=str)
def test_people_are_told_too_and_a_report_can_be_written(bag: Frozen, user: User) -> None:
    bag.restore(user.state)
    results = bag.told()["results"]
    done = [one["task"] for one in results if one["outcome"] == "done"]
    assert f"{len(done)} of 160 done" in user.bats("status", "last").stdout
    assert len(user.bats("results").stdout.splitlines()) == len(results) + 1, "each, and a head"
    assert "slow" in user.bats("machines").stdout
    assert "the sample has" in user.bats("explain").stdout
    task = done[0]
    assert user.bats("logs", "last", str(task)).stdout == f"hello\n{task + 1} at {task}\n"
    user.bats("report", "--html", "report.html")
    assert "<svg" in (user.folder / "report.html").read_text()


def test_a_difference_would_be_noticed() -> None:
    then = [{"bats": 1, "done": 4, "output_folder": "/a", "bags": [{"name": "x", "spent": "1"}]}]
    now = [{"bats": 1, "done": 5, "output_folder": "/b", "bags": [{"name": "x"}], "more": 1}]
    assert sorted(kept(then, now, "status")) == [
        "status/0/bags/0/spent is not told",
        "status/0/done was 4 and is 5",
    ]

"""The user's own command hears when it matters, delays nothing, and its failure is told once."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from helpers.service import becomes, free, over, sweep
from helpers.waiting import until
from helpers.workers import end_workers

from bats.common.money import Money, money
from bats.common.offering import Offering
from bats.master.brain.books.phase import Phase
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.protocol.commands import BagOutcome, Pause
from bats.master.brain.views.told.facts import Headline
from bats.master.client import Client, connect
from bats.master.service.master import serving
from bats.master.service.options import Options
from bats.master.service.telling.messenger import Messenger
from bats.master.service.telling.user_notices import Matter, Notices

PAUSE = Pause("all failed alike", 0.0, None, again=True)


def headline(phase: Phase = Phase.EXECUTING, **more: Any) -> Headline:
    usual = Headline(
        0.0, 0.0, phase, None, None, (), None, None, Money(0), Money(0), (), "", 0.0, Money(0),
        None,
        short_of_money=False,
        held_by_cap="",
        open=False,
    )  # fmt: skip
    return usual._replace(**more)


OFFER = Schedule("cheapest", money("1"), (1,), 60.0, money("1"), delta_n=0)
CHOOSING = headline(Phase.CHOOSING, offered=(OFFER,))


def told(*moments: Headline, late: bool = False) -> list[list[str]]:
    notices = Notices(headline(Phase.SAMPLING))
    return [[one.value for one in notices.news(moment, late=late)] for moment in moments]


def test_each_matter_is_told_when_it_begins_and_again_when_it_begins_anew() -> None:
    paused = headline(pause=PAUSE)
    ended = headline(Phase.ENDING, outcome=BagOutcome.COMPLETE)
    assert told(CHOOSING, CHOOSING, headline(), paused, paused) == [
        ["choice"], [], [], ["paused"], [],
    ]  # fmt: skip
    assert told(paused, headline(), paused, ended, ended) == [
        ["paused"], [], ["paused"], ["ended"], [],
    ]  # fmt: skip


def test_a_choice_without_schedules_is_none() -> None:
    assert told(headline(Phase.CHOOSING)) == [[]]


def test_what_wavers_is_told_once_for_each_choice() -> None:
    short, enough = headline(short_of_money=True), headline()
    assert told(short, enough, short) == [["short"], [], []]
    assert told(short, short._replace(chosen_at=9.0)) == [["short"], ["short"]]
    assert told(headline(), late=True) == [["late"]]


def test_a_cap_is_near_at_nine_tenths_of_the_budget() -> None:
    def at(committed: str) -> Headline:
        return headline(budget=money("5"), committed=money(committed))

    assert told(at("4.49"), at("4.50"), at("4.60")) == [[], ["cap"], []]


def test_what_an_earlier_master_has_told_is_not_told_again() -> None:
    notices = Notices(CHOOSING)
    assert notices.news(CHOOSING, late=False) == []
    assert notices.news(headline(pause=PAUSE), late=False) == [Matter.PAUSED]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Of a master that writes what it tells into a file."""
    notify = f"cat >> '{tmp_path}/all'"
    options = Options(state=tmp_path / "state", offerings=(free(),), notify=notify)
    async with serving(options) as master, connect(master.access) as made:
        yield made
    end_workers(tmp_path)


def heard(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def comes(file: Path, count: int) -> list[dict[str, Any]]:
    await asyncio.to_thread(until, lambda: len(heard(file)) >= count, 30)
    return heard(file)


async def test_a_choice_and_an_end_are_told_by_master_and_sweep(
    client: Client, tmp_path: Path
) -> None:
    priced = [asdict(Offering(name, money(price), 2.0, 1, 1, 0.0, 0.5)) for name, price in
              (("slow", "0.01"), ("fast", "0.03"))]  # fmt: skip
    work = sweep(120, "sleep 0.1; echo {x}", notify=f"cat >> '{tmp_path}/mine'")
    bag = (await client.ask("submit", sweep=work, offerings=priced, rule="ask", name="trial"))[
        "bag"
    ]
    (choice,) = await comes(tmp_path / "mine", 1)
    assert (choice["event"], choice["bag"], choice["name"], choice["total"]) == (
        "choice", bag, "trial", 120,
    )  # fmt: skip
    count = len(choice["schedules"])
    offered = "a schedule is" if count == 1 else f"{count} schedules are"
    assert choice["words"] == f"{offered} offered: bats choose {bag} NAME"
    assert all(one["name"] for one in choice["schedules"])
    assert choice["spent"].startswith("0.0")
    await client.ask("choose", bag=bag, rule="fastest", budget=money("5"))
    await over(client, bag)
    told = await comes(tmp_path / "mine", 2)
    assert told[1]["event"] == "ended"
    assert told[1]["words"] == "complete: all 120 tasks done"
    assert await comes(tmp_path / "all", 2) == told


async def test_a_command_that_hangs_or_fails_holds_nothing_up_and_is_told_once(
    client: Client, tmp_path: Path
) -> None:
    began = time.monotonic()
    for _ in range(2):
        work = sweep(4, notify="sleep 1; echo no such list >&2; exit 3")
        bag = (await client.ask("submit", sweep=work))["bag"]
        status = await over(client, bag)
        assert status["state"] == "complete"
    assert time.monotonic() - began < 20
    said = "notify = 'sleep 1; echo no such list >&2; exit 3': exit code 3, 'no such list'"

    async def complaints() -> list[str]:
        found = [await client.ask("decisions", bag=one) for one in (1, 2)]
        return [d["words"] for one in found for d in one["decisions"] if said in d["words"]]

    await comes(tmp_path / "all", 2)  # commands are run one after another
    assert len(await complaints()) == 1


async def test_a_deadline_that_will_be_missed_is_told_before(
    client: Client, tmp_path: Path
) -> None:
    work = sweep(40, "sleep 0.5", notify=f"cat >> '{tmp_path}/mine'")
    bag = (await client.ask("submit", sweep=work, deadline_seconds=5.0))["bag"]
    (late,) = await comes(tmp_path / "mine", 1)
    assert late["event"] == "late"
    assert "after its deadline" in late["words"]
    await becomes(client, bag, lambda status: status["done"] > 0)
    await client.ask("cancel", bag=bag)


async def test_a_deadline_that_passes_while_nothing_can_begin_is_told(
    client: Client, tmp_path: Path
) -> None:
    paid = [asdict(replace(free(), price=money("1")))]
    spends = await client.ask("submit", sweep=sweep(1, "true"), offerings=paid, budget=money("5"))
    await over(client, spends["bag"])
    await client.ask("cap", amount=money("1.50"), period="day")
    work = sweep(4, "true", notify=f"cat >> '{tmp_path}/mine'")
    limits = {"deadline_seconds": 1.0, "budget": money("5")}
    await client.ask("submit", sweep=work, offerings=paid, **limits)
    (late,) = await comes(tmp_path / "mine", 1)
    assert late["event"] == "late"
    assert late["words"] == "its deadline has passed with 0 of 4 tasks done"


async def test_what_waits_is_sent_before_the_master_ends(tmp_path: Path) -> None:
    messenger = Messenger(tmp_path)
    for number in range(3):
        messenger.send("cat >> told", {"event": number}, print)
    await messenger.close()
    assert [one["event"] for one in heard(tmp_path / "told")] == [0, 1, 2]

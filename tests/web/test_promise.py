"""The page tells what was promised, how that moved, and takes the word for more."""

from pathlib import Path

import pytest
from helpers.browser import DESKTOP, PHONE, Page, serious_faults
from helpers.service import becomes, over, paid, sweep

from bats.common.money import Money
from bats.master.client import Client
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")

WORDS = "document.getElementById('promise-words').textContent"


async def test_what_was_told_and_what_it_comes_to_are_drawn_while_a_bag_runs(
    master: Master, client: Client, page: Page, axe: str, tmp_path: Path
) -> None:
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    submitted = await client.ask(
        "submit",
        sweep=sweep(120, "sleep 0.1"),
        offerings=[paid("slow", 1), paid("fast", 3)],
        budget=10**11,
    )
    await page.becomes(f"/^Told at the choice, after .* all of it for \\$/.test({WORDS})", 60)
    await page.shows("#ends svg")
    await over(client, submitted["bag"])
    await page.becomes(f"/It came to \\$0/.test({WORDS})")
    await page.becomes("/came to/.test(document.querySelector('#costs svg').ariaLabel)")
    assert await serious_faults(page, axe) == []
    (tmp_path / "desktop.png").write_bytes(await page.picture())
    await page.dress(PHONE)
    await page.becomes("document.querySelector('#ends svg').width.baseVal.value < 390")
    assert await page.js("document.documentElement.scrollWidth") <= PHONE[0]
    (tmp_path / "phone.png").write_bytes(await page.picture())
    assert page.complaints == []


async def test_a_bag_that_waits_for_money_is_allowed_it_by_a_click(
    master: Master, client: Client, page: Page
) -> None:
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    bag = (
        await client.ask(
            "submit", sweep=sweep(400, "sleep 0.1"), offerings=[paid("slow", 1)], rule="cheapest"
        )
    )["bag"]
    await becomes(client, bag, lambda status: bool(status.get("told")))
    runner = master.bags.loaded[bag]
    runner.engine.run.ledger.limit = Money(runner.engine.run.ledger.committed)  # it was too little
    await page.shows("#allow:not([hidden])", 60)
    assert "in all" in await page.js("document.getElementById('allow').textContent")
    await page.click("#allow")
    await becomes(client, bag, lambda status: not status["paused"])
    assert runner.engine.headline().budget is not None
    await client.ask("cancel", bag=bag)
    assert page.complaints == []

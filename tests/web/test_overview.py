"""Above the one bag the page shows all: money against caps, each in a row, machines by owner."""

from pathlib import Path

import pytest
from helpers.browser import DESKTOP, PHONE, Page, serious_faults
from helpers.service import eventually, over, paid, sweep

from bats.common.money import money
from bats.master.client import Client
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")

SMALLEST = (320, 640)
SIDEWAYS = "document.documentElement.scrollWidth"
ROWS = "[...document.querySelectorAll('#bags tr')].map(row => row.innerText.replace(/\\s+/g, ' '))"


async def test_several_bags_a_cap_and_the_machines_of_each_are_seen_at_a_look(
    master: Master, client: Client, page: Page, axe: str, tmp_path: Path
) -> None:
    await client.ask("cap", amount=money("5"), period="day", user="", zone="Europe/Berlin")
    bags = [
        (
            await client.ask(
                "submit",
                sweep=sweep(900, "sleep 0.3"),
                offerings=[paid(name, 1)],
                budget=10**9,
                rule="fastest",
                name=f"{name} parameters of a long name",
            )
        )["bag"]
        for name in ("alpha", "beta")
    ]
    await eventually(lambda: len(master.bags.running) == 2)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#owners tr")
    await page.becomes(f"({ROWS}).length === 2 && ({ROWS}).every(row => /of \\$1/.test(row))")
    await page.becomes("document.querySelectorAll('#owners tr').length === 2")
    said = await page.js("document.getElementById('caps').innerText")
    assert "Cap of all, a day" in said
    assert "of $5.00" in said
    for size in (SMALLEST, PHONE, DESKTOP):
        await page.dress(size)
        await page.becomes(f"{SIDEWAYS} <= {size[0]}")
        (tmp_path / f"overview-{size[0]}.png").write_bytes(await page.picture())
        assert await serious_faults(page, axe) == []
    shown = "document.getElementById('bag').value"
    now = str(await page.js(shown))
    other = next(bag for bag in bags if str(bag) != now)
    await page.click(f"#bags button[data-bag='{other}']")
    await page.becomes(f"{shown} === '{other}'")
    await page.shows("#bags .current-row")
    for bag in bags:
        await client.ask("cancel", bag=bag, reason="seen")
        await over(client, bag)
    await page.becomes("document.querySelectorAll('#owners tr').length === 0")
    assert page.complaints == []


async def test_one_bag_without_caps_needs_no_overview(
    master: Master, client: Client, page: Page
) -> None:
    bag = (await client.ask("submit", sweep=sweep(4)))["bag"]
    await over(client, bag)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#bag-view")
    assert await page.js("document.getElementById('overview').hidden")

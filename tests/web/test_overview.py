"""Above the one bag the page shows all: money against caps, each in a row, machines by owner."""

from pathlib import Path

import pytest
from helpers.browser import DESKTOP, PHONE, Page, serious_faults
from helpers.service import eventually, over, paid, sweep
from helpers.workers import end_workers

from bats.common.capacity.pool_rules import Pool, as_common
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.client import Client, connect
from bats.master.service.master import Master, serving
from bats.master.service.options import Options

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


async def test_a_pool_is_drawn_with_what_there_was_to_run_and_why_it_has_so_many(
    tmp_path: Path, page: Page, axe: str
) -> None:
    small = Offering(ClusterName("small"), money("0.01"), 10.0, 3, boundary_seconds=0.5)
    lab = Pool("lab", (small,), 3, interval_seconds=0.3, per_day=money("5"))
    options = Options(
        state=tmp_path / "pool", offerings=(as_common(small),), pools=(lab,), web_port=0
    )
    async with serving(options) as master, connect(master.access) as client:
        assert master.web
        bag = (await client.ask("submit", sweep=sweep(60, "sleep 0.3")))["bag"]
        await page.dress(DESKTOP)
        await page.open(master.web.url)
        await page.becomes("/of 3 machines/.test(document.getElementById('pools').innerText)")
        await page.becomes("document.querySelectorAll('#pools path').length === 4")
        said = "document.getElementById('pools').innerText"
        await page.becomes(f"/react wants 3; [0-9]+ to run, 3 places/.test({said})")
        assert "of $5.00 for the day" in await page.js(said)
        for size in (SMALLEST, DESKTOP):
            await page.dress(size)
            await page.becomes(f"{SIDEWAYS} <= {size[0]}")
            (tmp_path / f"pool-{size[0]}.png").write_bytes(await page.picture())
            assert await serious_faults(page, axe) == []
        await over(client, bag)
    end_workers(tmp_path)

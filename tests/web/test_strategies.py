"""The strategies for unreliable machines are a picture that one chooses from."""

from pathlib import Path

import pytest
from helpers.browser import DESKTOP, Page, serious_faults
from helpers.service import over, paid, sweep

from bats.master.client import Client
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")

NARROW = (360, 740)
MOST_POINTS = 50
POINTS = "#frontier .point"
SAID = "document.getElementById('strategies-words').textContent"


async def test_a_strategy_is_chosen_by_pressing_its_point(
    master: Master, client: Client, page: Page, axe: str, tmp_path: Path
) -> None:
    spot = {**paid("spot", 1), "max_machines": 6, "reliable": False}
    sure = {**paid("sure", 9), "max_machines": 2}
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    submitted = await client.ask(
        "submit",
        sweep=sweep(60, "sleep $(({x} % 5))"),
        offerings=[spot, sure],
        budget=10**12,
        tail="ntdmr",
        strategy="AUR",
    )
    bag = submitted["bag"]
    strategy = master.bags.loaded[bag].engine.strategy
    await page.shows(POINTS, 60)
    assert "The bag goes by AUR." in await page.js(SAID)
    assert "Strategy\nAUR" in await page.js("document.getElementById('tiles').innerText")
    assert not await page.js("document.querySelectorAll('#timeline .use-sample').length")
    assert await serious_faults(page, axe) == []
    (tmp_path / "desktop.png").write_bytes(await page.picture())
    names = await page.js(f"[...document.querySelectorAll('{POINTS}')].map(p => p.ariaLabel)")
    assert len(names) > 2
    assert all(name.startswith("Choose ") and "$" in name for name in names)

    # With the mouse: nothing happens until one is sure.
    last = f"{POINTS}:last-child"
    wanted = await page.js(f"document.querySelector('{last}').dataset.strategy")
    await page.click(last)
    await page.click("#sure-no")
    assert strategy() == "AUR"
    await page.click(last)
    await page.click("#sure-yes")
    await page.becomes(f"{SAID}.includes({wanted!r})")
    assert strategy() == wanted

    # With the keys, on a small screen: one stop, and arrows from point to point.
    await page.dress(NARROW)
    await page.becomes("document.querySelector('#frontier svg').width.baseVal.value < 340")
    assert await page.js("document.documentElement.scrollWidth") <= NARROW[0]
    assert await page.js(f"document.querySelectorAll('{POINTS}[tabindex=\"0\"]').length") == 1
    await page.js(f"document.querySelector('{POINTS}[tabindex=\"0\"]').focus()")
    at_the_first = f"document.activeElement === document.querySelector('{POINTS}')"
    for _ in range(MOST_POINTS):  # more results may bring other points meanwhile
        if await page.js(at_the_first):
            break
        await key(page, "ArrowRight")
    else:
        raise AssertionError(f"{MOST_POINTS} arrows did not lead to the first point")
    fastest = await page.js("document.activeElement.dataset.strategy")
    told = await page.js("document.getElementById('strategy-words').textContent")
    assert told.startswith(fastest)
    (tmp_path / "narrow.png").write_bytes(await page.picture())
    if fastest != wanted:
        await key(page, "Enter")
        await page.click("#sure-yes")
        await page.becomes(f"{SAID}.includes({fastest!r})")
        assert strategy() == fastest
    assert await serious_faults(page, axe) == []
    await client.ask("cancel", bag=bag)
    await over(client, bag)
    assert page.complaints == []


async def key(page: Page, name: str) -> None:
    for kind in ("keyDown", "keyUp"):
        await page("Input.dispatchKeyEvent", type=kind, key=name)

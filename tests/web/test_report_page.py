"""The report of a real run reads well in a real browser: alone, on a phone, without a script."""

from pathlib import Path

import pytest
from helpers.browser import DESKTOP, PHONE, Page, serious_faults
from helpers.service import over, sweep

from bats.common.messages import BagId
from bats.master.client import Client
from bats.master.report.page import write
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")


async def test_the_report_fits_loads_nothing_and_has_no_serious_fault(
    master: Master, client: Client, page: Page, axe: str, tmp_path: Path
) -> None:
    offering = {
        "name": "a-cluster-of-some-name",
        "price": 10**8,
        "atu_seconds": 10.0,
        "max_machines": 2,
        "boundary_seconds": 0.5,
        "backend": "local",
    }
    asked = await client.ask(
        "submit",
        sweep=sweep(40, "echo tried {x} >&2; test {x} != 33", retries=0),
        offerings=[offering],
        budget=10**10,
    )
    await over(client, asked["bag"], 60)
    with master.store.reader() as reader:
        write(reader, BagId(asked["bag"]), tmp_path / "report.html")
    address = (tmp_path / "report.html").as_uri()
    for size, scheme in ((DESKTOP, "light"), (PHONE, "dark")):
        await page.dress(size, scheme)
        await page.open(address)
        assert await page.js("document.documentElement.scrollWidth") <= size[0]
        assert await page.js("document.querySelectorAll('svg').length") >= 4
        said = await page.js("document.body.innerText")
        for words in ("39 of 40 tasks done, 1 failed", "Where each dollar went", "tried 33"):
            assert words in said
        assert await serious_faults(page, axe) == []
    assert set(page.requested) == {address}
    assert page.complaints == []

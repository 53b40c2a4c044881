"""The page of a bag that is open: it says so, and for how many tasks it was told."""

import pytest
from helpers.browser import DESKTOP, Page
from helpers.service import becomes

from bats.master.client import Client, sweep
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")


async def test_the_page_says_that_more_tasks_may_come(
    master: Master, client: Client, page: Page
) -> None:
    bag = await client.submit(sweep(command="echo {x}", to_be_open=True))
    await bag.add([{"x": x} for x in range(7)])
    await becomes(client, bag.number, lambda status: status["done"] == 7)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    said = "document.querySelector('#said').textContent"
    await page.becomes(f"{said}.includes('7 of 7 tasks done so far, more may come')")
    await bag.add([{"x": 7}])
    await page.becomes(f"{said}.includes('8 of 8 tasks done so far')")
    await bag.close()
    await page.becomes(f"{said}.includes('8 of 8 tasks done') && !{said}.includes('so far')")
    assert page.complaints == []

"""In a real browser the page shows a real run, takes the user's word, and reads well."""

import asyncio
import base64
import json
from pathlib import Path

import pytest
from helpers.browser import DESKTOP, PHONE, Page, serious_faults
from helpers.service import becomes, over, paid, sweep

from bats.master.client import Client
from bats.master.service.master import Master

pytestmark = pytest.mark.backend("chromium")

SMALLEST, LARGEST = (320, 640), (3840, 2160)
MOST_TRANSFERRED = 400_000
MOST_MEMORY = 100_000_000


async def test_the_page_offers_schedules_and_takes_the_choice_and_the_cancelling(
    master: Master, client: Client, page: Page, axe: str
) -> None:
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    assert "token" not in await page.js("location.href")
    await page.shows("#empty")
    assert await serious_faults(page, axe) == []
    submitted = await client.ask(
        "submit",
        sweep=sweep(3000, "echo said {x}; sleep 0.1"),
        offerings=[paid("slow", 1), paid("fast", 3)],
        rule="ask",
        budget=10**11,
        name="trial",
    )
    bag = submitted["bag"]
    await page.shows("#offers button:enabled", 60)
    headline = master.bags.loaded[bag].engine.headline
    assert headline().chosen == ""
    assert await page.js("document.getElementById('offers').rows.length") == len(headline().offered)
    await page.shows("#scatter circle")
    assert await serious_faults(page, axe) == []
    await page.click("button[aria-label='Choose fastest']")
    await page.shows(".chosen-row")
    assert headline().chosen == "fastest"
    assert await serious_faults(page, axe) == []
    await page.shows("#timeline .use-sample")
    await page.shows("#histograms rect.use-task")
    await page.becomes("/tasks done/.test(document.getElementById('headline').textContent)")
    spent = await page.becomes(
        "[...document.querySelectorAll('#tiles div')].find(d => d.innerText.startsWith('Spent'))"
        ".innerText.match(/\\$0\\.[0-9]+/)?.[0]"
    )
    assert spent > "$0.00"
    await page.click("#cancel")
    assert await serious_faults(page, axe) == []
    await page.click("#sure-no")
    assert headline().outcome is None
    await page.click("#cancel")
    await page.click("#sure-yes")
    status = await over(client, bag)
    assert status["words"].startswith("cancelled on the web page")
    await page.becomes("document.getElementById('state').textContent === 'cancelled'")
    await page.shows("#decisions li")
    assert page.complaints == []
    host = master.web.url.partition("?")[0]
    assert all(url.startswith(host) for url in page.requested)


@pytest.fixture
async def paused(master: Master, client: Client, page: Page, tmp_path: Path) -> Page:
    """The page of a bag that is paused until there is a file `gate`."""
    command = f"if ! test -e {tmp_path}/gate; then echo No such file: mising.py >&2; exit 2; fi"
    offerings = [paid("slow", 1), paid("fast", 3)]
    work = sweep(60, f"sleep 0.1; {command}; echo said {{x}}")
    bag = await client.ask(
        "submit", sweep=work, offerings=offerings, budget=10**11, term_seconds=10, name="broken"
    )
    await becomes(client, bag["bag"], lambda s: bool(s.get("paused")))
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#paused")
    return page


async def test_a_paused_bag_says_why_shows_one_and_is_resumed_with_a_button(
    paused: Page, client: Client, tmp_path: Path, axe: str
) -> None:
    said = await paused.js("document.getElementById('paused').innerText")
    reason = "the first 12 tasks all failed alike: exit code 2, 'No such file: mising.py'."
    assert reason in said
    assert await paused.js("document.getElementById('state').textContent") == "paused"
    await paused.click("#paused-task")
    await paused.becomes(
        "document.getElementById('task-err').textContent.trim() === 'No such file: mising.py'"
    )
    await paused.click("#close-task")
    for size in (PHONE, DESKTOP):
        await paused.dress(size)
        await paused.becomes(DRAWN_FOR_THIS_WIDTH)
        layout = await paused.js(LAYOUT)
        assert layout["page"] <= size[0], "the page scrolls sideways"
        assert layout["outside"] == []
        (tmp_path / f"paused-{size[0]}.png").write_bytes(await paused.picture())
        assert await serious_faults(paused, axe) == []
    (tmp_path / "gate").touch()
    await paused.click("#resume")
    status = await over(client, 1)
    assert (status["state"], status["done"]) == ("complete", 60)
    await paused.becomes("document.getElementById('paused').hidden")
    assert await paused.js("document.getElementById('resume').hidden")
    assert paused.complaints == []


async def test_a_value_that_tasks_told_is_drawn_against_a_parameter_and_sorted_by(
    master: Master, client: Client, page: Page, axe: str, tmp_path: Path
) -> None:
    told = '{{"reef": "north", "x": %s, "loss": %s.5, "steps": %s}}'
    command = f"printf '{told}' {{x}} $(({{x}} * 7 % 40)) {{x}}"
    await over(client, (await client.ask("submit", sweep=sweep(60, command)))["bag"])
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#value-plot circle")
    assert await page.js("document.querySelectorAll('#value-plot circle').length") == 60
    label = "document.querySelector('#value-plot svg').ariaLabel"
    assert (await page.js(label)).startswith("loss against x"), "neither a text nor the parameter"
    texts = "document.querySelector('#sort option[value=\"value.reef\"]') !== null"
    assert await page.js(texts), "one may sort by a text"
    await page.js("document.getElementById('value').value = 'steps'")
    await page.js("document.getElementById('value').dispatchEvent(new Event('change'))")
    await page.becomes(
        "/steps against x/.test(document.querySelector('#value-plot svg').ariaLabel)"
    )
    await page.js("document.getElementById('sort').value = 'value.loss'")
    await page.js("document.getElementById('sort').dispatchEvent(new Event('change'))")
    await page.becomes("document.getElementById('tasks').rows[1].innerText.includes('loss=0.5')")
    (tmp_path / "values.png").write_bytes(await page.picture())
    assert await serious_faults(page, axe) == []
    await page.dress(PHONE)
    await page.becomes("document.querySelector('#value-plot svg').width.baseVal.value < 390")
    assert page.complaints == []


async def test_results_are_searched_paged_and_their_output_read(
    master: Master, client: Client, page: Page
) -> None:
    command = "echo said {x}; echo '<b>warned</b>' >&2; test {x} != 33"
    bag = (await client.ask("submit", sweep=sweep(60, command, retries=0)))["bag"]
    await over(client, bag)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    rows = "document.getElementById('tasks').rows.length"
    await page.becomes(f"{rows} === 25")
    await page.shows("#histograms svg")
    await page.click("#next")
    await page.becomes("document.getElementById('page').textContent === '26 to 50 of 60'")
    await page.js("document.getElementById('outcomes').selectedIndex = 2")
    await page.js("document.getElementById('outcomes').dispatchEvent(new Event('change'))")
    await page.becomes(f"{rows} === 1")
    await page.click("#tasks button")
    await page.becomes("document.getElementById('task-out').textContent.trim() === 'said 33'")
    await page.becomes(
        "document.getElementById('task-err').textContent.trim() === '<b>warned</b>'"
    )  # text of tasks is never markup
    assert await page.js("document.querySelectorAll('pre b, td b').length") == 0
    await page.click("#close-task")
    await page.js("document.getElementById('outcomes').value = ''")
    await page.click("#text")
    await page.write("7")
    await page.becomes(f"{rows} === 1 && document.querySelector('#tasks button').innerText === '7'")
    assert page.complaints == []


async def test_who_is_at_a_result_by_keyboard_stays_there_when_more_come(
    master: Master, client: Client, page: Page
) -> None:
    bag = (await client.ask("submit", sweep=sweep(400, "sleep 0.05; echo {x}")))["bag"]
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#tasks button")
    await page.js("window.first = document.querySelector('#tasks button'); window.first.focus()")
    named = "window.first.ariaLabel === `Task ${window.first.textContent}`"
    assert await page.js(named), "a number alone says little"
    await page.becomes("!window.first.isConnected")  # the table was filled anew
    assert await page.js("document.activeElement.textContent === window.first.textContent")
    await client.ask("cancel", bag=bag)


async def test_a_late_answer_about_one_task_is_not_shown_as_of_another(ended: Page) -> None:
    await ended.js(
        "window.held = new Promise(go => window.letGo = go); const fetchNow = fetch;"
        "fetch = async (url, options) => { if (/tasks.0.log/.test(url)) await held;"
        " return fetchNow(url, options); }; 0"
    )
    shown = "document.getElementById('task-out').textContent.trim()"
    await ended.click("#tasks tr:nth-child(1) button")
    await ended.shows("#task")
    await ended.click("#close-task")
    await ended.click("#tasks tr:nth-child(2) button")
    await ended.becomes(f"{shown} === 'said 1'")
    await ended.becomes("document.getElementById('task-err').textContent === '(nothing)'")
    await ended.js("letGo(); new Promise(later => setTimeout(later, 300))")
    assert await ended.js(shown) == "said 1"


@pytest.fixture
async def ended(master: Master, client: Client, page: Page) -> Page:
    """The page of a run that cost money, and had failures."""
    bag = await client.ask(
        "submit",
        sweep=sweep(40, "echo said {x}; test {x} != 33"),
        offerings=[paid("slow", 1), paid("with-a-long-name", 3)],
        budget=10**11,
        retries=0,
        name="a bag whose name is rather long, as names of bags may well be",
    )
    await over(client, bag["bag"], 60)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.shows("#timeline rect.paid")
    await page.shows("#tasks button")
    return page


async def test_the_page_fits_phone_and_desktop_in_light_and_dark(
    ended: Page, tmp_path: Path
) -> None:
    seen: dict[tuple[int, str], dict[str, float]] = {}
    for size in (SMALLEST, PHONE, DESKTOP, LARGEST):
        for scheme in ("light", "dark"):
            await ended.dress(size, scheme)
            await ended.becomes(DRAWN_FOR_THIS_WIDTH)
            layout = await ended.js(LAYOUT)
            assert layout["page"] <= size[0], "the page scrolls sideways"
            assert layout["outside"] == []
            assert layout["hidden"] == []
            picture = await ended.picture()
            (tmp_path / f"{size[0]}-{scheme}.png").write_bytes(picture)
            seen[size[0], scheme] = await looks(ended, picture)
    for (width, scheme), look in seen.items():
        assert look["colours"] > 50, f"blank at {width}, {scheme}"
        assert (look["brightness"] > 128) == (scheme == "light")


async def test_what_is_about_to_be_pressed_stays_put_when_drawings_come_for_a_new_width(
    ended: Page,
) -> None:
    now = f"[{DRAWN_FOR_THIS_WIDTH}, document.getElementById('tasks').getBoundingClientRect().top]"
    await ended.becomes(DRAWN_FOR_THIS_WIDTH)
    for size in (PHONE, DESKTOP):
        await ended.js(
            "window.atOnce = new Promise(tell => addEventListener('resize',"
            f" () => tell({now}), {{once: true}})); 0"
        )
        await ended.dress(size)
        drawn_at_once, top = await ended.js("window.atOnce")
        assert not drawn_at_once
        await ended.becomes(DRAWN_FOR_THIS_WIDTH)
        assert await ended.js(now) == [True, top]


async def test_a_master_that_does_not_answer_is_told_of(ended: Page, master: Master) -> None:
    await master.web.close()
    await ended.click("#tasks button")
    await ended.shows("#trouble")
    said = await ended.js("document.getElementById('trouble').textContent")
    assert said == "The master does not answer; trying again."
    assert [words for words in ended.complaints if "Uncaught" in words] == []


async def test_an_accessibility_checker_finds_no_serious_fault(ended: Page, axe: str) -> None:
    for size, scheme in ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light")):
        await ended.dress(size, scheme)
        assert await serious_faults(ended, axe) == []
    await ended.click("#tasks button")
    await ended.shows("#task")
    assert await serious_faults(ended, axe) == []


async def test_the_page_is_light_to_transfer_and_to_keep(ended: Page) -> None:
    assert ended.transferred < MOST_TRANSFERRED
    await asyncio.gather(*(ended.js("new Promise(r => setTimeout(r, 50))") for _ in range(20)))
    assert await ended.memory_bytes() < MOST_MEMORY


async def test_a_million_tasks_weigh_no_more_than_a_few(
    master: Master, client: Client, page: Page
) -> None:
    bag = (await client.ask("submit", sweep=sweep(1_000_000, "sleep 0.01")))["bag"]
    await becomes(client, bag, lambda status: status.get("done", 0) > 50)
    await page.dress(DESKTOP)
    await page.open(master.web.url)
    await page.becomes("document.getElementById('headline').textContent.includes('1,000,000')")
    await page.becomes("document.getElementById('tasks').rows.length === 25")
    await page.shows("#timeline svg")
    assert page.transferred < MOST_TRANSFERRED
    assert await page.memory_bytes() < MOST_MEMORY
    await client.ask("cancel", bag=bag)
    await over(client, bag)


async def looks(page: Page, picture: bytes) -> dict[str, float]:
    """The brightness of a picture, 0 to 255, and its number of colours: the browser says it."""
    data = json.dumps(base64.b64encode(picture).decode())
    answer = await page.js(
        f"(async () => {{ const bytes = Uint8Array.from(atob({data}), c => c.charCodeAt(0));"
        "const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));"
        "const canvas = new OffscreenCanvas(image.width, image.height);"
        "const context = canvas.getContext('2d'); context.drawImage(image, 0, 0);"
        "const pixels = new Uint32Array("
        "context.getImageData(0, 0, image.width, image.height).data.buffer);"
        "let sum = 0; for (const p of pixels) sum += (p & 255) + (p >> 8 & 255) + (p >> 16 & 255);"
        "return {colours: new Set(pixels).size, brightness: sum / 3 / pixels.length}; })()"
    )
    assert isinstance(answer, dict)
    return answer


DRAWN_FOR_THIS_WIDTH = (
    "Math.abs(document.querySelector('#timeline svg').width.baseVal.value"
    " - document.getElementById('timeline').clientWidth) < 2"
)
LAYOUT = """(() => {
  const wide = document.documentElement.clientWidth;
  const inScroller = (e) => e.closest('.scroll, select, dialog, svg, pre');
  const outside = [...document.querySelectorAll('main *, header *')].filter((e) => {
    const r = e.getBoundingClientRect();
    const out = r.width && (r.right > wide + 1 || r.left < -1);
    return out && (!inScroller(e) || e.tagName === 'svg');
  }).map((e) => e.outerHTML.slice(0, 120));
  const wanted = ['#bag', '#state', '#bar', '#headline', '#tiles', '#timeline svg', '#progress svg',
    '#money svg', '#histograms svg', '#decisions li', '#text', '#tasks tr', '#next'];
  const hidden = wanted.filter((s) => {
    const r = document.querySelector(s)?.getBoundingClientRect();
    return !r || r.width < 5 || r.height < 5;
  });
  return {page: document.documentElement.scrollWidth, outside, hidden};
})()"""

#!/usr/bin/env python3
"""Stutters of the web page while thousands of tasks are done, in a real browser.

usage: scripts/bench_frames.py [--quick] [--json]

A bag of 10,000 quick tasks with values runs; meanwhile a page, at the sizes of a desk and of a
phone, is scrolled from end to end, turned over, searched, and a task is opened. Counted is the time
of the processor that the page's own thread needs at a stretch, which other work of the computer
does not change much: browsers call 50 ms of it a long task. A phone is taken to be four times as
slow. Needs what scripts/testbeds/chromium needs.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from figures import Report
from page_bench import chromium, master

from bats.master.client import Client, connect, sweep

from helpers.browser import DESKTOP, PHONE, Page, opened  # isort: skip  # page_bench tells where it is

LONG_MS: Final = 50.0
SOON_MS: Final = 100.0  # what follows within it counts as at once
SLOWER: Final = 4.0
COMMAND: Final = "echo loss=$(( {x} * 7 % 1000 ))"
READY: Final = (
    "document.getElementById('tasks').rows.length === 25 &&"
    " !!document.querySelector('#timeline svg') && !!document.querySelector('#value-plot svg')"
)
FRAMES: Final = """
window.frames_ms = [];
let before = performance.now();
requestAnimationFrame(function next(now) {
  frames_ms.push(now - before); before = now; requestAnimationFrame(next);
});"""


@dataclass(frozen=True)
class Size:
    tasks: int = 10_000
    rounds: int = 4


QUICK: Final = Size(tasks=3_000, rounds=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer tasks, shorter")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    given = parser.parse_args()
    report = Report("frames")
    with tempfile.TemporaryDirectory(prefix="bats-frames-") as folder:
        place = Path(folder)
        with chromium(place / "chromium") as devtools, master(place / "state") as facts:
            asyncio.run(measure(report, facts, devtools, QUICK if given.quick else Size()))
    return report.finish(given.json)


async def measure(report: Report, facts: dict[str, Any], devtools: str, size: Size) -> None:
    async with connect(facts["access"]) as client:
        for name, screen in (("desk", DESKTOP), ("phone", PHONE)):
            bag = await half_done(client, size.tasks)
            async with opened(devtools) as page:
                await page.dress(screen)
                await page.open(f"{facts['web_link']}#{bag}")
                await page.becomes(READY)
                await watch(report, page, name, size.rounds)
            if page.complaints:
                raise RuntimeError(str(page.complaints))


async def half_done(client: Client, tasks: int) -> int:
    """The number of a bag that has a third of its tasks still to do."""
    work = sweep(command=COMMAND, grid={"x": f"0:{tasks - 1}"})
    bag = await client.submit(work, rule="fastest")
    status: dict[str, Any] = {}
    while status.get("done", 0) < 2 * tasks // 3:
        seen = status.get("seen", 0)
        status = await client.ask("wait", bag=bag.number, seen=seen, seconds=0.2)
    return bag.number


async def watch(report: Report, page: Page, name: str, rounds: int) -> None:
    await page.js(FRAMES)
    async with page.traced() as trace:
        for _ in range(rounds):
            await use(page)
    pieces = stretches_ms(trace)
    frames = await page.js("frames_ms")
    longest = max(pieces)
    report.figure(f"{name}: elements of the page", None, await page.js(
        "document.querySelectorAll('*').length"))  # fmt: skip
    report.figure(
        f"{name}: 99 of 100 stretches", None, statistics.quantiles(pieces, n=100)[-1], "ms"
    )
    report.figure(f"{name}: middle frame, by the clock", None, statistics.median(frames), "ms")
    if name == "phone":
        slow = SLOWER * longest
        report.bar("phone: longest stretch, times 4, ms", SOON_MS, slow, slow <= SOON_MS)
    else:
        report.bar(f"{name}: longest stretch, ms", LONG_MS, longest, longest <= LONG_MS)


async def use(page: Page) -> None:
    """What somebody does who looks at it for some seconds."""
    for place in ("document.body.scrollHeight", "0"):
        await page.js(f"window.scrollTo({{top: {place}, behavior: 'smooth'}})")
        await asyncio.sleep(1)
    await page.click("#next")
    await page.js("byId = (id) => document.getElementById(id); byId('text').value = '17';"
                  "byId('text').dispatchEvent(new Event('input'))")  # fmt: skip
    await asyncio.sleep(1)
    await page.click("#tasks button")
    await page.shows("#task")
    await page.click("#close-task")
    await page.js("byId('text').value = ''; byId('text').dispatchEvent(new Event('input'))")
    await asyncio.sleep(2)


def stretches_ms(trace: list[dict[str, Any]]) -> list[float]:
    """Processor time of each piece of work of pages' main threads."""
    mains = {
        (one["pid"], one["tid"]) for one in trace
        if one["name"] == "thread_name" and one["args"].get("name") == "CrRendererMain"
    }  # fmt: skip
    return [
        one["tdur"] / 1000 for one in trace
        if one["name"].endswith("RunTask") and "tdur" in one and (one["pid"], one["tid"]) in mains
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())

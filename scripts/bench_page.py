#!/usr/bin/env python3
"""Seconds and bytes that the web page takes to open, in a real browser.

usage: scripts/bench_page.py [--quick] [--json]

Two bags: one of a million tasks while it runs, one that has ended with failures. Each page is
opened five times; the median is told. Needs what scripts/testbeds/chromium needs.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benches.world import cpu_seconds
from figures import Report
from page_bench import chromium, master

from bats.master.client import connect, sweep

from helpers.browser import DESKTOP, Page, opened  # isort: skip  # page_bench tells where it is

TIMES = 5
READY = (
    "document.getElementById('said').textContent.includes({total!r}) &&"
    " document.getElementById('tasks').rows.length === 25 &&"
    " !!document.querySelector('#timeline svg') && !!document.querySelector('#histograms svg')"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the tasks, once")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    arguments = parser.parse_args()
    many, few, times = (100_000, 500, 1) if arguments.quick else (1_000_000, 5000, TIMES)
    report = Report("web page")
    with tempfile.TemporaryDirectory(prefix="bats-bench-") as folder:
        place = Path(folder)
        with chromium(place / "chromium") as devtools, master(place / "state") as facts:
            asyncio.run(measure(report, facts, devtools, many, few, times))
    return report.finish(arguments.json)


async def measure(
    report: Report, facts: dict[str, Any], devtools: str, many: int, few: int, times: int
) -> None:
    async with connect(facts["access"]) as client:
        command = "test $(( {x} % 97 )) != 13 || {{ echo no convergence >&2; exit 3; }}"
        work = sweep(command=command, grid={"x": f"0:{few - 1}"}, retries=0)
        bag = await client.submit(work, rule="fastest")
        await bag.wait()
        await visits(report, "a bag that has ended", facts, devtools, bag.number, few, times)
        work = sweep(command="sleep 0.05; true {x}", grid={"x": f"0:{many - 1}"})
        bag = await client.submit(work, rule="fastest")
        status: dict[str, Any] = {}
        while status.get("done", 0) < 200:
            seen = status.get("seen", 0)
            status = await client.ask("wait", bag=bag.number, seen=seen, seconds=0.1)
        name = f"a running bag of {many:,} tasks"
        await visits(report, name, facts, devtools, bag.number, many, times, bars=True)
        await bag.cancel()
        await bag.wait()


async def visits(
    report: Report,
    name: str,
    facts: dict[str, Any],
    devtools: str,
    bag: int,
    total: int,
    times: int,
    *,
    bars: bool = False,
) -> None:
    seen = [await visit(facts, devtools, bag, total) for _ in range(times)]
    middle = {key: statistics.median(one[key] for one in seen) for key in seen[0]}
    report.figure(f"{name}: the first time", None, round(seen[0]["opened"], 3), "s")
    for key, words, unit in (
        ("opened", "opened and drawn after", "s"),
        ("browser", "processor time of the page", "s"),
        ("master", "processor time of the master", "s"),
        ("transferred", "transferred", "bytes"),
        ("heap", "kept by its script", "bytes"),
    ):
        report.figure(f"{name}: {words}", None, round(middle[key], 3), unit)
    if bars:
        report.bar("opens within", "1 s", round(middle["opened"], 3), middle["opened"] < 1)
        report.bar("transfers", 400_000, int(middle["transferred"]), middle["transferred"] < 4e5)
        report.bar("keeps", 100_000_000, int(middle["heap"]), middle["heap"] < 1e8)


async def visit(facts: dict[str, Any], devtools: str, bag: int, total: int) -> dict[str, float]:
    async with opened(devtools) as page:
        await page.dress(DESKTOP)
        before, loop = cpu_seconds(facts["pid"]), asyncio.get_running_loop()
        began = loop.time()
        await page.open(f"{facts['web_link']}#{bag}")
        await page.becomes(READY.format(total=f"{total:,}"))
        return {
            "opened": loop.time() - began,
            "master": cpu_seconds(facts["pid"]) - before,
            "browser": await busy_seconds(page),
            "transferred": page.transferred,
            "heap": await page.memory_bytes(),
        }


async def busy_seconds(page: Page) -> float:
    metrics = (await page("Performance.getMetrics"))["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


if __name__ == "__main__":
    sys.exit(main())

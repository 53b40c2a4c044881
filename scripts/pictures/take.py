#!/usr/bin/env python3
"""Takes the pictures of the README from a real run: the live view and the web page.

usage: scripts/pictures/take.py               renews the pictures beside this script
       scripts/pictures/take.py --all FOLDER  every moment, size and colour, and the report

Two kinds of machines are emulated on this computer, with an ATU of eight seconds instead of an
hour; some tasks fail. Takes a minute. Needs what scripts/testbeds/chromium needs.
"""

import argparse
import asyncio
import io
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bats.master.cli.display.live_view import picture
from bats.master.client import Client, connect

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from page_bench import ROOT, bats, chromium, master  # noqa: E402

from helpers.browser import DESKTOP, PHONE, Page, opened  # isort: skip # noqa: E402

TALL: Final = (DESKTOP[0], 1330)  # down to the decisions
COLUMNS: Final = 104

CLOUDS: Final = """
[[offering]]
name = "small"
price = "0.08"
per = "8s"
atu = "8s"
max = 5
boundary = "2s"
[offering.local]
speed = 1

[[offering]]
name = "large"
price = "0.24"
per = "8s"
atu = "8s"
max = 4
boundary = "2s"
[offering.local]
speed = 2
"""
SWEEP: Final = """
name = "reef"
command = '''
python3 -S "{root}/scripts/workloads/sleeper.py" --index {{depth}} --seed {{seed}} \
  --minute-seconds 0.05 --deviation 5
test $(( ({{depth}} + 3 * {{seed}}) % 41 )) != 7 || {{{{
  echo depth {{depth}}: did not converge after 500 steps >&2; exit 3; }}}}
'''
retries = 1
[grid]
seed = "1:4"
depth = "0:89"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every size and colour, there")
    wanted = parser.parse_args().all
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bats-pictures-") as folder:
        place = Path(folder)
        clouds, work = place / "clouds.toml", place / "sweep.toml"
        clouds.write_text(CLOUDS)
        work.write_text(SWEEP.format(root=ROOT))
        state = place / "state"
        with chromium(place / "chromium") as tools, master(state, "--clouds", clouds) as facts:
            number = int(bats(state, "submit", work, "-q"))
            asyncio.run(look(facts, tools, number, state, wanted))


async def look(
    facts: Mapping[str, Any], devtools: str, number: int, state: Path, wanted: Path | None
) -> None:
    async with connect(facts["access"]) as client, opened(devtools) as page:
        bag = await client.bag(number)
        await page.dress(TALL)
        await page.open(facts["web_link"])
        await bag.wait("choosing")
        await page.shows("#offers button")
        await page.shows("#scatter circle")
        if wanted:
            await album(page, wanted, "choosing")
        await bag.choose("fastest-20%")
        await until_done(client, number, 0.6)
        keep((wanted or HERE) / "watch.svg", (await live_view(client, number)).encode())
        if wanted is None:
            await take(page, HERE / "page.png", TALL, "light")
            await take(page, HERE / "phone.png", PHONE, "dark")
            await bag.cancel()
            return
        await album(page, wanted, "running")
        await bag.wait()
        await page.shows("#retry")
        await album(page, wanted, "ended")
        report = (wanted / "report.html").absolute()
        await asyncio.to_thread(bats, state, "report", str(number), "--html", report)
        await page.open(report.as_uri())
        await album(page, wanted, "report")


async def until_done(client: Client, number: int, share: float) -> None:
    status: dict[str, Any] = {}
    while not status or not (status["over"] or status["done"] >= share * status["total"]):
        status = await client.ask("wait", bag=number, seconds=0.1, seen=status.get("seen", 0))


async def live_view(client: Client, number: int) -> str:
    """The picture of `bats watch` now, as SVG that loads nothing from elsewhere."""
    status = await client.ask("status", bag=number)
    told = await client.ask("decisions", bag=number)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(picture(status, told["decisions"][-5:], width=COLUMNS))
    svg = console.export_svg(title="bats watch", unique_id="watch")
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


async def take(page: Page, path: Path, size: tuple[int, int], scheme: str) -> None:
    await page.dress(size, scheme)
    await page.becomes(
        "!document.querySelector('#timeline svg') || Math.abs("
        "document.querySelector('#timeline svg').width.baseVal.value"
        " - document.getElementById('timeline').clientWidth) < 2"
    )  # drawn anew for this width
    keep(path, await page.picture())


async def album(page: Page, folder: Path, moment: str) -> None:
    for name, size in (("phone", PHONE), ("desktop", DESKTOP)):
        for scheme in ("light", "dark"):
            await page.dress(size, scheme)
            whole = await page.js("document.documentElement.scrollHeight")
            await take(page, folder / f"{moment}-{name}-{scheme}.png", (size[0], whole), scheme)
    await page.dress(TALL)


def keep(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    print(f"{path}: {len(content) / 1000:.0f} KB")


if __name__ == "__main__":
    main()

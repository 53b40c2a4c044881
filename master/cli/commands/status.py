"""`bats status` and `bats watch`: how bags stand, once, or one of them live until it ends."""

import asyncio
import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import click

from bats.common.errors import UnreachableError
from bats.master.api import replies
from bats.master.api.asking import ask as ask_of
from bats.master.api.requests import GetBags, GetFailures, GetStatus
from bats.master.bag_states import OPEN
from bats.master.cli.access import reach
from bats.master.cli.base import Common, as_json, command, common, run
from bats.master.cli.display.bag_status import in_full
from bats.master.cli.display.follower import Display, Screen, Told, display, follow
from bats.master.cli.display.overview import Overviews, overview, overviews
from bats.master.cli.questions import BagName, ask, bag_argument, exit_code

_AGAIN_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 600.0  # of programs that watch, for the next master


@command(
    examples="""
bats status                all bags, the newest last; caps, and machines by who pays for them
bats status last           the newest in full
bats status 3 --json       as facts for a program
"""
)
@click.argument("bag", type=BagName(), required=False)
@common
def status(common: Common, bag: int | str | None) -> None:
    """Shows how bags are doing."""
    if bag is None:
        bags = ask(common, GetBags())
        common.facts(bags, lambda: overview(bags, quiet=common.quiet), replies.Bags)
        return
    facts = ask(common, GetStatus(bag))
    if facts.get("failed"):
        facts["failures"] = ask(common, GetFailures(facts["bag"]))["failures"]
    said = partial(in_full, facts)
    common.facts(facts, lambda: facts["state"] if common.quiet else said(), replies.Status)


@command(
    examples="""
bats watch                 the newest bag, until it ends
bats watch 3 | tee log     plain lines when piped
bats watch 3 --json        a JSON object whenever something changed
bats watch -q && echo ok   only wait; exit code 1 if tasks failed or it is paused
bats watch --all           all bags, until none runs or waits
"""
)
@bag_argument
@click.option("--all", "every", is_flag=True, help="All bags instead of one.")
@common
def watch(common: Common, bag: int | str, every: bool) -> int:
    """Shows a bag live and waits for its end. Ctrl-C only ends the watching."""
    if every:
        return run(_watch_all(common))
    status = run(_watch(common, bag))
    if not common.as_json:
        common.note(in_full(status))
    return exit_code(status)


async def _watch(common: Common, bag: int | str) -> replies.Status:
    """Under one master after another; whoever looks at a screen may wait as long as they like."""
    shown: Display = _Json() if common.as_json else display(quiet=common.quiet)
    stays = isinstance(shown, Screen)
    loop = asyncio.get_running_loop()
    number, told, lost = None, Told(), math.inf
    while True:
        try:
            async with reach(common) as client:
                number = (await ask_of(client, GetStatus(bag if number is None else number)))["bag"]
                if lost < math.inf and not common.quiet:
                    print("bats: a master is there again.", file=sys.stderr, flush=True)
                lost = math.inf
                shown.question = f"Choose in another shell: bats choose {number} NAME"
                return await follow(client, number, shown, stays=stays, told=told)
        except UnreachableError as error:
            if number is None or (not stays and loop.time() - lost > _PATIENCE_SECONDS):
                raise
            if lost == math.inf:
                lost = loop.time()
                if not common.quiet:
                    print(f"bats: {error} Nothing runs without it; waiting for the next one. "
                          "Ctrl-C ends the watching.", file=sys.stderr, flush=True)  # fmt: skip
        await asyncio.sleep(_AGAIN_SECONDS)


async def _watch_all(common: Common) -> int:
    """As long as a bag runs or waits for its turn; the exit code is that of the worst of those."""
    shown: Overviews = _JsonOfAll() if common.as_json else overviews(quiet=common.quiet)
    seen: dict[int, replies.BagLine] = {}
    try:
        async with reach(common) as client:
            while True:
                facts = await ask_of(client, GetBags())
                going = {one["bag"] for one in facts["bags"] if _goes_on(one)}
                known = seen.keys() | going
                seen = {one["bag"]: one for one in facts["bags"] if one["bag"] in known}
                shown.show(facts)
                if not going:
                    break
                await asyncio.sleep(_AGAIN_SECONDS)
    finally:
        shown.close()
    if not common.as_json:
        common.note(overview(facts))
    return max(map(exit_code, seen.values()), default=0)


def _goes_on(bag: replies.BagLine) -> bool:
    return bag["state"] in OPEN and not bag.get("paused")


class _JsonOfAll:
    """An object whenever something has changed."""

    def __init__(self) -> None:
        self._said = ""

    def show(self, facts: replies.Bags) -> None:
        if (said := as_json(facts, replies.Bags)) != self._said:
            self._said = said
            print(said, flush=True)

    def close(self) -> None:
        pass


class _Json:
    look_seconds = Screen.look_seconds
    question = ""
    offered: replies.Schedules | None = None

    def show(self, status: replies.Status, decisions: Sequence[replies.Decision]) -> None:
        print(as_json({**status, "decisions": decisions}, replies.Status), flush=True)

    def offer(self, offered: replies.Schedules) -> None:
        pass

    def close(self) -> None:
        pass

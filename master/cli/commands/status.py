"""`bats status` and `bats watch`: how bags stand, once, or one of them live until it ends."""

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import click

from bats.common.errors import UnreachableError
from bats.master.api import replies
from bats.master.api.asking import ask as ask_of
from bats.master.api.requests import GetBags, GetFailures, GetStatus
from bats.master.bag_states import OPEN
from bats.master.cli.access import has_store, look, reach
from bats.master.cli.base import Common, as_json, command, common, run
from bats.master.cli.display.bag_status import in_full
from bats.master.cli.display.follower import Display, Screen, Told, display, follow
from bats.master.cli.display.overview import Overviews, overview, overviews
from bats.master.cli.questions import BagName, ask, bag_argument, exit_code, of_all_bags
from bats.master.client import Client

R = TypeVar("R")

_AGAIN_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 10.0  # what is asked while a master dies may be lost
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
        of_all_bags("--all")
        return run(_watch_all(common))
    status = run(_watch(common, bag))
    if not common.as_json:
        common.note(in_full(status))
    return exit_code(status)


async def _watch(common: Common, bag: int | str) -> replies.Status:
    """One bag; where no master runs, what is left of it."""
    shown: Display = _Json() if common.as_json else display(quiet=common.quiet)
    stays = isinstance(shown, Screen)
    number: int | None = None
    told = Told()

    async def seen(client: Client) -> replies.Status:
        nonlocal number
        number = (await ask_of(client, GetStatus(bag if number is None else number)))["bag"]
        shown.question = f"Choose in another shell: bats choose {number} NAME"
        return await follow(client, number, shown, stays=stays, told=told)

    try:
        return await _under_masters(common, seen, stays=stays)
    except UnreachableError as error:
        if number is not None or common.access or not has_store(common):
            raise
        return await _at_rest(common, bag, shown, error)


async def _at_rest(
    common: Common, bag: int | str, shown: Display, error: UnreachableError
) -> replies.Status:
    """The end of a bag that has ended. Raises UnreachableError if it is to go on."""
    async with look(common) as client:
        status = await ask_of(client, GetStatus(bag))
        if not status["over"]:
            goes_on = f"`bats resume {status['bag']}` goes on with bag {status['bag']} here"
            raise UnreachableError(f"{error} Until then nothing runs; {goes_on}.")
        if status.get("failed"):
            status["failures"] = (await ask_of(client, GetFailures(status["bag"])))["failures"]
    if common.as_json:
        shown.show(status, [])
    return status


async def _watch_all(common: Common) -> int:
    """As long as a bag runs or waits for its turn; the exit code is that of the worst of those."""
    shown: Overviews = _JsonOfAll() if common.as_json else overviews(quiet=common.quiet)
    known: dict[int, replies.BagLine] = {}

    async def seen(client: Client) -> replies.Bags:
        while True:
            facts = await _bags(client)
            going = {one["bag"] for one in facts["bags"] if _goes_on(one)}
            wanted = known.keys() | going
            known.update({one["bag"]: one for one in facts["bags"] if one["bag"] in wanted})
            shown.show(facts)
            if not going:
                return facts
            await asyncio.sleep(_AGAIN_SECONDS)

    try:
        facts = await _under_masters(common, seen, stays=sys.stdout.isatty())
    except UnreachableError as error:
        if known or common.access or not has_store(common):
            raise
        ways = "`bats status` shows what stands still, `bats resume BAG` goes on with it here"
        raise UnreachableError(f"{error} Until then nothing runs; {ways}.") from None
    finally:
        shown.close()
    if not common.as_json:
        common.note(overview(facts))
    return max(map(exit_code, known.values()), default=0)


async def _bags(client: Client) -> replies.Bags:
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            return await ask_of(client, GetBags())
    except TimeoutError:
        raise UnreachableError(f"The master said nothing for {_ANSWER_SECONDS:g} s.") from None


async def _under_masters(
    common: Common, seen: Callable[[Client], Awaitable[R]], *, stays: bool
) -> R:
    """The last that is seen, under one master after another.

    Whoever looks at a screen `stays` as long as they like.
    """
    loop = asyncio.get_running_loop()
    found, lost = False, math.inf
    while True:
        try:
            async with reach(common) as client:
                if lost < math.inf:
                    await _bags(client)  # it answers, and does not merely begin or end
                    if not common.quiet:
                        print("bats: a master is there again.", file=sys.stderr, flush=True)
                found, lost = True, math.inf
                return await seen(client)
        except UnreachableError as error:
            if not found or (not stays and loop.time() - lost > _PATIENCE_SECONDS):
                raise
            if lost == math.inf:
                lost = loop.time()
                if not common.quiet:
                    print(f"bats: {error} Nothing runs without it; waiting for the next one. "
                          "Ctrl-C ends the watching.", file=sys.stderr, flush=True)  # fmt: skip
        await asyncio.sleep(_AGAIN_SECONDS)


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

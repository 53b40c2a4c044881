"""`bats status` and `bats watch`: how bags stand, once, or one of them live until it ends."""

import sys
from collections.abc import Mapping
from typing import Any

import click

from bats.master.cli.base import Common, as_json, command, common, run
from bats.master.cli.connection import reach
from bats.master.cli.display.bag_status import all_bags, in_full
from bats.master.cli.display.follower import Display, Screen, display, follow
from bats.master.cli.questions import BagName, ask, bag_argument, exit_code


@command(
    examples="""
bats status                all bags, the newest last
bats status last           the newest in full
bats status 3 --json       as facts for a program
"""
)
@click.argument("bag", type=BagName(), required=False)
@common
def status(common: Common, bag: int | str | None) -> None:
    """Shows how bags are doing."""
    if bag is None:
        bags = ask(common, "bags")
        common.facts(bags, lambda: all_bags(bags["bags"], quiet=common.quiet))
        return
    facts = ask(common, "status", bag=bag)
    common.facts(facts, lambda: str(facts["state"]) if common.quiet else in_full(facts))


@command(
    examples="""
bats watch                 the newest bag, until it ends
bats watch 3 | tee log     plain lines when piped
bats watch 3 --json        a JSON object whenever something changed
bats watch -q && echo ok   only wait; exit code 1 if tasks failed or it is paused
"""
)
@bag_argument
@common
def watch(common: Common, bag: int | str) -> int:
    """Shows a bag live and waits for its end. Ctrl-C only ends the watching."""
    status = run(_watch(common, bag))
    if not common.as_json:
        common.note(in_full(status))
    return exit_code(status)


async def _watch(common: Common, bag: int | str) -> dict[str, Any]:
    async with reach(common) as client:
        found = await client.ask("status", bag=bag)
        shown: Display = _Json() if common.as_json else display(quiet=common.quiet)
        shown.question = f"Choose in another shell: bats choose NAME --bag {found['bag']}"
        return await follow(client, found["bag"], shown, stays=isinstance(shown, Screen))


class _Json:
    look_seconds = Screen.look_seconds
    question = ""
    offered: Mapping[str, Any] | None = None

    def show(self, status: Mapping[str, Any], decisions: list[Mapping[str, Any]]) -> None:
        print(as_json({**status, "decisions": decisions}), file=sys.stdout, flush=True)

    def offer(self, offered: Mapping[str, Any]) -> None:
        pass

    def close(self) -> None:
        pass

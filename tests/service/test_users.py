"""Users: a client's key carries a name, and its bags are theirs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from helpers.service import Make, eventually, over, sweep

from bats.common.errors import BatsError
from bats.common.wire.keys import read_access
from bats.master.client import Client, connect
from bats.master.service.api.answering import VERBS
from bats.master.service.api.rights import OF_USERS
from bats.master.service.master import Master

Invite = Callable[[str], Awaitable[Client]]


@pytest.fixture
async def invited(client: Client) -> AsyncIterator[Invite]:
    """Clients with a key that carries a name."""
    async with AsyncExitStack() as stack:

        async def invite(user: str) -> Client:
            told = await client.ask("invite", user=user)
            access = read_access(Path(told["access"]), "client")
            return await stack.enter_async_context(connect(access))

        yield invite


async def test_a_user_sees_all_bags_in_the_list_and_looks_after_their_own(
    client: Client, master: Master, invited: Invite
) -> None:
    ann, bob = await invited("ann"), await invited("bob")
    hers = (await ann.ask("submit", sweep=sweep(2)))["bag"]
    his = (await bob.ask("submit", sweep=sweep(2), name="same"))["bag"]
    mine = (await client.ask("submit", sweep=sweep(2), name="same"))["bag"]
    for bag in (hers, his, mine):
        await over(client, bag)
    assert [one["user"] for one in (await ann.ask("bags"))["bags"]] == ["ann", "bob", ""]
    assert (await ann.ask("status", bag="last"))["bag"] == hers
    assert (await bob.ask("results", bag="same"))["bag"] == his
    for verb in ("status", "cancel", "results", "log", "prune", "weigh"):
        with pytest.raises(BatsError, match=f"Bag {hers} is ann's; the key of bob may look after"):
            await bob.ask(verb, bag=hers, task=0)
    with pytest.raises(BatsError, match=f"Bag {mine} is of the master's own access file"):
        await ann.ask("log", bag=mine, task=0)
    with pytest.raises(BatsError, match=f"Bag {hers} is ann's"):
        await bob.ask("submit", sweep=sweep(2), after=[hers])


async def test_a_running_bag_of_another_cannot_be_cancelled(
    client: Client, master: Master, invited: Invite
) -> None:
    ann, bob = await invited("ann"), await invited("bob")
    hers = (await ann.ask("submit", sweep=sweep(40, "sleep 0.2")))["bag"]
    await eventually(lambda: hers in master.bags.running)
    with pytest.raises(BatsError, match="is ann's"):
        await bob.ask("cancel", bag=hers)
    (share,) = master.bags.side_by_side.household.view().bags
    assert share.user == "ann"
    await ann.ask("cancel", bag=hers)
    assert (await over(client, hers))["state"] == "cancelled"


async def test_what_is_the_masters_own_no_user_may_do(invited: Invite) -> None:
    ann = await invited("ann")
    for verb in sorted(set(VERBS) - OF_USERS):
        with pytest.raises(BatsError, match=f"`{verb}` is for the master's own access file"):
            await ann.ask(verb)
    assert (await ann.ask("caps"))["caps"] == []


def test_every_verb_of_users_is_one() -> None:
    assert set(VERBS) >= OF_USERS


async def test_a_user_who_is_locked_out_is_heard_no_more_and_their_bags_go_on(
    client: Client, master: Master, invited: Invite
) -> None:
    ann = await invited("ann")
    bag = (await ann.ask("submit", sweep=sweep(2)))["bag"]
    with pytest.raises(BatsError, match="ann has a key already"):
        await client.ask("invite", user="ann")
    assert (await client.ask("dismiss", user="ann"))["users"] == []
    assert not master.home.access_of("ann").exists()
    with pytest.raises((BatsError, TimeoutError)):
        async with asyncio.timeout(1.0):
            await ann.ask("bags")
    assert (await over(client, bag))["state"] == "complete"
    with pytest.raises(BatsError, match="No user is called 'ann'"):
        await client.ask("dismiss", user="ann")
    with pytest.raises(BatsError, match="A user's name has letters"):
        await client.ask("invite", user="../ann")


async def test_users_and_whose_bags_are_theirs_are_known_after_a_kill(killable: Make) -> None:
    master = killable()
    master.start()
    async with master.client() as client:
        await client.ask("invite", user="ann")
    async with connect(read_access(master.folder / "access-ann.json", "client")) as ann:
        bag = (await ann.ask("submit", sweep=sweep(30, "sleep 0.1")))["bag"]
    master.kill()
    master.start()
    async with connect(read_access(master.folder / "access-ann.json", "client")) as ann:
        assert (await over(ann, bag))["done"] == 30
        assert (await ann.ask("bags"))["bags"][0]["user"] == "ann"

"""How the scheduler decides comes with the sweep, or with the submission, which wins."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from helpers.service import free, over, sweep

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.master.bag import read_bag
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.protocol.settings import Sampling, Settings
from bats.master.client import Client
from bats.master.service.api.submission import POLICY
from bats.master.service.master import Master
from bats.master.sweep.policy import Policy
from bats.master.sweep.sweep import Sweep

TABLE: Mapping[str, Any] = {
    "tail": "ntdmr",
    "strategy": "N=2 T=1x D=2x M_r=0.1",
    "provisioner": "paper",
    "planner": "milp",
    "sampling": "implicit",
    "prudence": 0.5,
    "upgrade": False,
    "monitor_seconds": 300.0,
    "patience_seconds": 600.0,
    "initial_workers": 2,
    "replicated": 3,
    "losses": 9,
    "seed": 17,
}


async def settings(master: Master, bag: int) -> Settings:
    await master.store.committed()
    with master.store.reader() as reader:
        return read_bag(reader, BagId(bag)).settings


async def test_the_table_of_the_sweep_becomes_the_bags_settings(
    master: Master, client: Client
) -> None:
    """The keyword wins over the table, and both over what is usual."""
    asked = {"sweep": sweep(3, policy=TABLE), "hold": True}
    first = await client.ask("submit", **asked)
    second = await client.ask("submit", **asked, prudence=0.25, seed=0, planner=None)
    found = await settings(master, first["bag"])
    assert found == replace(
        Settings(3, found.offerings, numbers_after=before_first(first["bag"])),
        rule=found.rule,
        currency=found.currency,
        foresight=True,  # as every bag that is submitted today
        parameters=found.parameters,
        **{**TABLE, "sampling": Sampling.IMPLICIT},
    )
    assert await settings(master, second["bag"]) == replace(
        found, prudence=0.25, seed=0, numbers_after=before_first(second["bag"])
    )


async def test_the_client_says_it_with_a_keyword(master: Master, client: Client) -> None:
    """What is no limit decides nothing: the bag waits for a choice, as it does without."""
    work = Sweep.from_plain(sweep(3, policy={"tail": "random", "seed": 5}))
    bag = await client.submit(work, offerings=[free()], tail="none", hold=True)
    found = await settings(master, bag.number)
    assert (found.tail, found.seed, found.rule) == ("none", 5, "ask")


def test_all_that_the_table_holds_is_taken() -> None:
    table = Policy.model_construct(
        **{name: one.default for name, one in Policy.model_fields.items()}
    )
    assert set(table.settings()) == set(TABLE) == set(POLICY)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"tail": "perfect"}, r"`perfect` knows how long every task will take.*bats simulate"),
        ({"sweep": sweep(3, policy={"tail": "perfect"})}, "`perfect` knows how long every task"),
        ({"sweep": sweep(3, policy={"tail": "head"})}, "`tail` should be one of none, random"),
        ({"sweep": sweep(3, policy={"seed": -1})}, "`seed` should be a whole number, 0 or more"),
        ({"sweep": sweep(3, policy={"prudence": float("nan")})}, "`prudence` should be a number"),
        ({"sweep": sweep(3, policy={"budget": 5})}, "`budget` is no policy; known are tail, "),
        ({"cushion": 5}, "`cushion` is no key of a submission"),
    ],
)
async def test_what_cannot_be_is_refused_in_a_sentence(
    body: dict[str, Any], says: str, client: Client
) -> None:
    with pytest.raises(UsageError, match=says):
        await client.ask("submit", **{"sweep": sweep(3), **body})
    following = await client.ask("submit", sweep=sweep(3))
    assert (await over(client, following["bag"]))["state"] == "complete"


async def test_a_strategy_is_preferred_only_by_a_bag_that_goes_by_one(client: Client) -> None:
    done = (await client.ask("submit", sweep=sweep(1)))["bag"]
    await over(client, done)
    reliable = (await client.ask("submit", sweep=sweep(1, "sleep 60"), tail="ntdmr"))["bag"]
    for bag, strategy, more, said in (
        (reliable, "N=3 T=9", {}, "is no strategy"),
        (reliable, "AUR", {}, f"Bag {reliable} goes by no strategy"),
        (reliable, "AUR", {"budget": 10**9}, "no limits of its own"),
        (done, "AUR", {}, f"Bag {done} has ended"),
    ):
        with pytest.raises(UsageError, match=said):
            await client.ask("choose", bag=bag, strategy=strategy, **more)
    await client.ask("cancel", bag=reliable)
    await over(client, reliable)

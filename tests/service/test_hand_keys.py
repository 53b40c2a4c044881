"""Each worker started by hand has a key of its own: one is listed, revoked, and nobody else's."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from helpers.peer import Peer, done, manual, peer
from helpers.service import becomes, eventually, free, over, sweep
from helpers.workers import end_workers

from bats.common.errors import UsageError
from bats.common.messages import Enroll, MachineId, Refused, Results, Run, Welcome
from bats.common.wire.keys import Access, KeyPair, new_pair, read_access
from bats.master.client import Client, connect
from bats.master.service.home import WORKER
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.service.wire.hand_keys import HandKeys

A, B = new_pair().public, new_pair().public


def invitation(master: Master) -> Access:
    return read_access(master.home.folder / WORKER, "worker")


async def enrolled(master: Master) -> KeyPair:
    """A key of one's own, had for the invitation."""
    own = new_pair()
    async with peer(invitation(master)) as joining:
        await joining.say(Enroll(MachineId(-1), own.public.encode()))
        await joining.hear(Welcome)
    return own


def test_keys_are_kept_and_one_is_forgotten_alone(tmp_path: Path) -> None:
    keys = HandKeys(tmp_path / "workers.json")
    assert keys.admit(A)
    assert keys.admit(B)
    keys.came(A, MachineId(500_001), "here")
    again = HandKeys(tmp_path / "workers.json")
    assert [(one.key, one.machine, one.host) for one in again.all()] == [
        (A, 500_001, "here"), (B, -1, ""),
    ]  # fmt: skip
    assert again.revoke("500001").key == A
    assert [one.key for one in HandKeys(tmp_path / "workers.json").all()] == [B]
    assert again.revoke(B[:8]).key == B


@pytest.mark.parametrize("named", ["", "500009", "no key"])
def test_only_a_key_that_is_meant_is_revoked(tmp_path: Path, named: str) -> None:
    keys = HandKeys(tmp_path / "workers.json")
    keys.admit(A)
    keys.admit(B)
    with pytest.raises(UsageError, match="bats access list"):
        keys.revoke(named)


async def test_one_worker_is_locked_out_and_the_others_work_on(
    master: Master, client: Client
) -> None:
    old, good, bad = invitation(master), await enrolled(master), await enrolled(master)
    async with peer(old, good) as one, peer(old, bad) as other:
        await one.hello()
        locked_out = (await other.hello()).machine
        bag = (await client.ask("submit", sweep=sweep(2), offerings=[manual()]))["bag"]
        first = await one.hear(Run)
        await other.hear(Run)
        told = (await client.ask("workers"))["workers"]
        assert [entry["there"] for entry in told] == [True, True]
        assert (await client.ask("revoke", key=str(locked_out)))["machine"] == locked_out
        assert "revoked" in (await other.hear(Refused)).reason
        await answer(one, bag, first, 1)
        await answer(one, bag, await one.hear(Run), 2)
        assert (await over(client, bag))["done"] == 2
        await other.say(Enroll(MachineId(-1), new_pair().public.encode()))
        refused = master.authenticator.refused
        for key in (bad, old.pair):
            async with peer(old, key):
                await eventually(lambda seen=refused: master.authenticator.refused > seen)
                refused = master.authenticator.refused
    assert len((await client.ask("workers"))["workers"]) == 1
    async with peer(invitation(master), await enrolled(master)) as third:
        await third.hello()


async def answer(worker: Peer, bag: int, run: Run, serial: int) -> None:
    told = tuple(done(bag, order.task)._replace(attempt=order.attempt) for order in run.orders)
    await worker.say(Results(serial, told))


@pytest.mark.parametrize("own", [True, False], ids=["a key of its own", "the invitation alone"])
async def test_no_worker_takes_anothers_number(master: Master, own: bool) -> None:
    access = invitation(master)
    keys = (await enrolled(master), await enrolled(master)) if own else (access.pair, access.pair)
    async with peer(access, keys[0]) as one, peer(access, keys[1]) as thief:
        number = (await one.hello()).machine
        taken = (await thief.hello(number, incarnation="thief")).machine
        assert taken != number
        if own:
            assert master.hand_keys.owner(number).key == keys[0].public


async def test_a_worker_has_its_key_and_its_number_after_a_restart_of_the_master(
    tmp_path: Path,
) -> None:
    options = Options(state=tmp_path / "state")
    async with serving(options) as master:
        own = await enrolled(master)
        async with peer(invitation(master), own) as worker:
            number = (await worker.hello()).machine
    async with serving(options) as master, peer(invitation(master), own) as worker:
        assert (await worker.hello()).machine in {number, number + 1}
        assert master.hand_keys.owner(number) or master.hand_keys.owner(number + 1)


async def test_a_master_may_keep_to_its_own_machines(tmp_path: Path) -> None:
    """A client that may name machines runs commands as the master's user."""
    options = Options(state=tmp_path / "state", offerings=(free(),), fixed_offerings=True)
    async with serving(options) as master, connect(master.access) as client:
        other = asdict(replace(free(), name="other"))
        with pytest.raises(UsageError, match=r"own machines alone \(here\); leave out"):
            await client.ask("submit", sweep=sweep(1), offerings=[other])
        with pytest.raises(UsageError, match="leave out `output_folder`"):
            await client.ask("submit", sweep=sweep(1), output_folder=str(tmp_path / "etc"))
        bag = (await client.ask("submit", sweep=sweep(1)))["bag"]
        await becomes(client, bag, lambda status: status["over"])
    end_workers(tmp_path)

"""What is special to hosts: their errors as sentences, the way back, installing, silence."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.beds import Bed
from helpers.waiting import until

from bats.common.messages import Outcome
from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy import payload
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import BackendError, BusyError, Gone, RefusedError, Site, State
from bats.deploy.ssh import ssh as ssh_backend
from bats.deploy.ssh.ssh import Ssh
from bats.deploy.ssh.ssh_program import explain
from bats.deploy.testing import becomes, eventually, start_and_be_killed

LONG = 30.0  # more than any of this takes


def offering(bed: Bed, **settings: Any) -> Offering:
    config = bed.environment["BATS_SSH_CONFIG"]
    table = {"config": config, "hosts": "h[1-3]", "folder": f"{bed.state}/far", **settings}
    return Offering(ClusterName("hosts"), NOTHING, 3600, 9, backend="ssh", settings=table)


def site(home: Path) -> Site:
    return Site(home.name, str(home), (sys.executable, "-m", "bats.worker"))


@asynccontextmanager
async def hosts(bed: Bed, home: Path, **settings: Any) -> AsyncIterator[Ssh]:
    backend = Ssh(offering(bed, **settings), site(home))
    try:
        yield backend
    finally:
        await backend.stop(
            [orphan.machine for orphan in await backend.list_ours() if orphan.machine]
        )
        await backend.close()


async def refusal(bed: Bed, home: Path, **settings: Any) -> BackendError:
    async with hosts(bed, home, **settings) as backend:
        with pytest.raises(BackendError) as raised:
            await backend.check()
    return raised.value


# --- sentences ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "kind", "sentence"),
    [
        ("Host key verification failed.", RefusedError, "is not known here. Connect once by hand"),
        ("@ REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", RefusedError,
         "ssh-keygen -R h1"),
        ("me@h1: Permission denied (publickey).", RefusedError, "ssh-copy-id h1"),
        ("ssh: Could not resolve hostname h1: Name or service not known", RefusedError,
         "There is no host h1"),
        ("ssh: Could not resolve hostname h1: Temporary failure in name resolution", BusyError,
         "just now"),
        ("ssh: connect to host h1 port 22: Connection refused", BusyError, "Is sshd running"),
        ("ssh: connect to host h1 port 22: Connection timed out", BusyError, "cannot be reached"),
        ("", BusyError, "h1 cannot be reached: ssh gave no reason"),
    ],
)  # fmt: skip
def test_what_ssh_complains_of_becomes_a_sentence(
    said: str, kind: type[BackendError], sentence: str
) -> None:
    error = explain("h1", said)
    assert type(error) is kind
    assert sentence in str(error)
    assert "\n" not in str(error)


@pytest.mark.backend("ssh")
async def test_an_unknown_host_key_is_said_with_the_cure(ssh_bed: Bed, tmp_path: Path) -> None:
    options = ["-o", "UserKnownHostsFile=/dev/null"]
    error = await refusal(ssh_bed, tmp_path, hosts="h1", options=options)
    assert isinstance(error, RefusedError)
    assert "The key of h1 is not known here" in str(error)


@pytest.mark.backend("ssh")
async def test_a_wrong_key_is_not_let_in(ssh_bed: Bed, tmp_path: Path) -> None:
    key, config = tmp_path / "other", tmp_path / "config"
    ssh_bed.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    own = ssh_bed.run("cat", ssh_bed.environment["BATS_SSH_CONFIG"])
    config.write_text(own.replace(str(ssh_bed.state / "id"), str(key)))
    error = await refusal(ssh_bed, tmp_path, hosts="h1", config=str(config))
    assert isinstance(error, RefusedError)
    assert "h1 does not let us in" in str(error)


@pytest.mark.backend("ssh")
async def test_a_host_without_python_is_named(ssh_bed: Bed, tmp_path: Path) -> None:
    error = await refusal(ssh_bed, tmp_path, hosts="h1", python="/opt/python9")
    assert isinstance(error, RefusedError)
    assert "h1 has no Python 3.11 or later (tried /opt/python9)" in str(error)


@pytest.mark.backend("ssh")
async def test_a_host_that_is_down_may_come_back_and_the_others_do_its_work(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    os.kill(int((ssh_bed.state / "run" / "h1.pid").read_text()), signal.SIGKILL)
    try:
        error = await refusal(ssh_bed, tmp_path, hosts="h1", options=["-o", "ConnectTimeout=1"])
        assert isinstance(error, BusyError)
        async with (
            Endpoint(ssh_bed.environment["BATS_SSH_GATEWAY"]) as master,
            hosts(ssh_bed, tmp_path) as backend,
        ):
            assert "1 of which cannot be used: h1" in await backend.check()
            tickets = [master.ticket() for _ in range(3)]
            seen = await backend.start(tickets)
            (failed,) = [machine for machine in seen if seen[machine].gone is Gone.FAILED]
            assert "h1" in seen[failed].detail
            for machine in set(seen) - {failed}:
                await master.joined(machine, LONG)
    finally:
        ssh_bed.heal()


@pytest.mark.backend("ssh")
async def test_a_machine_refused_by_a_host_that_is_down_can_be_asked_for_again(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    async with (
        Endpoint(ssh_bed.environment["BATS_SSH_GATEWAY"]) as master,
        hosts(ssh_bed, tmp_path, hosts="h3", options=["-o", "ConnectTimeout=1"]) as backend,
    ):
        ticket = master.ticket()
        os.kill(int((ssh_bed.state / "run" / "h3.pid").read_text()), signal.SIGKILL)
        try:
            with pytest.raises(BusyError):
                await backend.start([ticket])
        finally:
            ssh_bed.heal()
        await backend.start([ticket])
        await master.joined(ticket.machine, LONG)


@pytest.mark.backend("ssh")
async def test_when_all_places_are_taken_it_is_busy_and_says_how_many(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    async with (
        Endpoint(ssh_bed.environment["BATS_SSH_GATEWAY"]) as master,
        hosts(ssh_bed, tmp_path, hosts="h[1-2]") as backend,
    ):
        first, second, third = (master.ticket() for _ in range(3))
        await backend.start([first, second])
        with pytest.raises(BusyError, match="All 2 places on 2 hosts are taken"):
            await backend.start([third])
        await backend.stop([first.machine])
        (seen,) = (await backend.start([third])).values()
        assert seen.state is State.UP


@pytest.mark.backend("ssh")
async def test_connections_are_kept_in_a_folder_whatever_its_name(
    ssh_bed: Bed,
) -> None:
    with tempfile.TemporaryDirectory(prefix="50% of a ", dir="/tmp") as short:
        async with hosts(ssh_bed, Path(short), hosts="h1") as backend:
            await backend.check()
            (socket,) = sockets(Path(short))
            assert socket.exists()
        until(lambda: not socket.exists())  # ssh answers "exit" first and leaves then


def sockets(folder: Path) -> list[Path]:
    return [found for found in folder.rglob("*") if found.is_socket()]


# --- installing ---------------------------------------------------------------------------------


@pytest.mark.backend("ssh")
async def test_a_copy_that_was_damaged_on_the_way_is_not_installed(
    ssh_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = payload.build(plain=False)
    bad = payload.Payload(good.data[:-1] + b"?", good.sha256, ())
    monkeypatch.setattr(payload, "build", lambda *, plain: bad)
    far = f"/tmp/{tmp_path.name}-far"
    error = await refusal(ssh_bed, tmp_path, hosts="h1", folder=far)
    assert "it was damaged" in str(error)
    listed = ssh_bed.run("ssh", "-F", ssh_bed.environment["BATS_SSH_CONFIG"], "h1", "ls", "-A", far)
    assert listed == ""


@pytest.mark.backend("ssh")
async def test_a_host_with_another_python_needs_its_own_pip(
    ssh_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "compiled_for", lambda: ("3.99", "linux-other"))
    error = await refusal(ssh_bed, tmp_path, hosts="h1", folder=f"/tmp/{tmp_path.name}-pip")
    assert "h1's own pip, as its Python differs" in str(error)  # which has no network here


# --- the way back ---------------------------------------------------------------------------------


@pytest.mark.backend("ssh")
async def test_a_host_that_cannot_reach_the_master_gets_a_tunnel_which_is_mended(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    async with (
        Endpoint("127.0.0.1") as master,  # of this computer only
        hosts(ssh_bed, tmp_path, hosts="h1", tunnel=tunnel_setting(ssh_bed)) as backend,
    ):
        ticket = master.ticket()
        await backend.start([ticket])
        await master.joined(ticket.machine, LONG)
        first = await master.run(ticket.machine, "true", LONG)
        assert first.outcome == Outcome.DONE
        for pid in tunnels():
            os.kill(pid, signal.SIGKILL)
        master.forget(ticket.machine)
        await master.joined(ticket.machine, LONG)
        again = await master.run(ticket.machine, "true", LONG)
        assert again.outcome == Outcome.DONE


@pytest.mark.backend("ssh")
async def test_a_restarted_master_opens_the_tunnels_of_its_machines_again(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    setting = tunnel_setting(ssh_bed)
    async with Endpoint("127.0.0.1") as master:
        ticket = master.ticket()
        async with hosts(ssh_bed, tmp_path, hosts="h1", tunnel=setting) as backend:
            await backend.start([ticket])
            await master.joined(ticket.machine, LONG)
            await backend.close()
            assert not tunnels()
            master.forget(ticket.machine)
            async with hosts(ssh_bed, tmp_path, hosts="h1", tunnel=setting) as later:
                assert (await later.status([ticket.machine]))[ticket.machine].state is State.UP
                await master.joined(ticket.machine, LONG)
                result = await master.run(ticket.machine, "true", LONG)
                assert result.outcome == Outcome.DONE


@pytest.mark.backend("ssh")
async def test_the_tunnels_of_a_master_that_was_killed_close_by_themselves(
    ssh_bed: Bed, tmp_path: Path
) -> None:
    async with Endpoint("127.0.0.1") as master:
        ticket = master.ticket()
        through = offering(ssh_bed, hosts="h1", tunnel=True)
        await asyncio.to_thread(start_and_be_killed, through, site(tmp_path), [ticket])
        await eventually(
            partial(asyncio.to_thread, tunnels_to, master.address), lambda t: not t, LONG, "closed"
        )
        async with hosts(ssh_bed, tmp_path, hosts="h1", tunnel=True) as later:
            (found,) = await later.list_ours()
            assert found.machine == ticket.machine


def tunnels_to(address: str) -> list[str]:
    """All ssh processes of this computer that lead there."""
    target = f":{address.removeprefix('tcp://')}\0".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if target in entry.read_bytes():
                found.append(entry.parent.name)
    return found


def tunnel_setting(bed: Bed) -> bool | str:
    """Hosts on loopback do reach a master on loopback; the others do not, and find that out."""
    return "auto" if bed.environment["BATS_SSH_MODE"] == "netns" else True


def tunnels() -> list[int]:
    """The tunnels that this process holds open."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(c) for c in children if b"\0-R\0" in Path(f"/proc/{c}/cmdline").read_bytes()]


# --- silence ------------------------------------------------------------------------------------


@pytest.mark.backend("ssh")
async def test_machines_of_a_host_that_stays_silent_are_lost_after_a_while(
    ssh_bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Endpoint(ssh_bed.environment["BATS_SSH_GATEWAY"]) as master,
        hosts(ssh_bed, tmp_path, hosts="h2", options=["-o", "ConnectTimeout=1"]) as backend,
    ):
        ticket = master.ticket()
        await backend.start([ticket])
        await master.joined(ticket.machine, LONG)
        await becomes(backend, [ticket.machine], State.UP, LONG)
        os.kill(int((ssh_bed.state / "run" / "h2.pid").read_text()), signal.SIGKILL)
        try:
            seen = (await backend.status([ticket.machine]))[ticket.machine]
            assert seen.state is State.UP
            assert "h2" in seen.detail
            with pytest.raises(BusyError):
                await backend.stop([ticket.machine])
            monkeypatch.setattr(ssh_backend, "SILENT_SECONDS", 0.0)
            seen = (await backend.status([ticket.machine]))[ticket.machine]
            assert seen.gone is Gone.LOST
            assert "h2 has not answered for" in seen.detail
        finally:
            ssh_bed.heal()

"""Worker and master find each other again, whichever of them went away, and no result is lost."""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bats.common import messages as m
from bats.common.wire.keys import Access, KeyPair, new_pair, write_access
from bats.common.wire.sockets import set_up_server
from bats.worker.link.connection import Connection

Start = Callable[..., Any]


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_it_says_who_it_is_and_beats(master: Any, start: Start) -> None:
    daemon = start(slots=3)
    hello = master.hear(m.Hello)
    assert (hello.machine, hello.slots, hello.holding, hello.unacknowledged) == (7, 3, (), 0)
    assert hello.pid != daemon.process.pid, "the guardian is above the daemon"
    master.say(m.Welcome("test", 0.1, 60.0))
    master.order("sleep 60", "sleep 60", "sleep 60", "true")
    beat = master.hear(m.Heartbeat, lambda b: len(b.running) == 3)
    assert [a.task for a, _ in beat.running] == [0, 1, 2]
    assert all(0 <= elapsed < 60 for _, elapsed in beat.running)
    assert 0 < beat.lease_seconds <= 60


def test_a_new_master_with_the_old_keys_is_told_what_is_held(
    master: Any, start: Start, tmp_path: Path
) -> None:
    start()
    first = master.welcome()
    gate = tmp_path / "gate"
    master.order("true", f"until [ -e {gate} ]; do sleep 0.01; done")
    (lost,) = master.hear(m.Results).results
    again = _restarted(master)
    try:
        hello = again.welcome()
        assert hello.incarnation == first.incarnation
        assert hello.holding == tuple(m.AttemptId(m.BagId(1), m.TaskId(t), 1) for t in (0, 1))
        assert hello.unacknowledged == 1
        assert again.results(1) == [lost]
        gate.touch()
        (result,) = again.results(1)
        assert (result.task, result.outcome) == (1, m.Outcome.DONE)
        assert again.run("true")[0].outcome == m.Outcome.DONE
    finally:
        again.close()


def test_told_to_end_while_the_link_is_down_it_delivers_first(master: Any, start: Start) -> None:
    daemon = start()
    master.welcome()
    master.order("true")
    (result,) = master.hear(m.Results).results
    again = _restarted(master)
    try:
        daemon.process.send_signal(signal.SIGTERM)
        again.welcome()
        assert again.results(1) == [result]
        assert "SIGTERM" in again.hear(m.Goodbye).reason
    finally:
        again.close()


def test_told_to_end_by_a_master_that_dies_it_waits_for_the_next_one(
    master: Any, start: Start
) -> None:
    daemon = start()
    master.welcome()
    master.order("true")
    (result,) = master.hear(m.Results).results
    master.say(m.Stop("the bag has ended"))
    while '"ending"' not in daemon.process.stderr.readline():
        assert daemon.process.poll() is None
    again = _restarted(master)
    try:
        daemon.process.send_signal(signal.SIGTERM)  # from the next master, which cannot tell it
        again.welcome()
        assert again.results(1) == [result]
        assert again.hear(m.Goodbye).reason == "the bag has ended"
    finally:
        again.close()


def _restarted(master: Any) -> Any:
    """The master's process is gone; another with its keys takes its port."""
    master.close()
    again = type(master)(master.pair, master.port)
    again.machine, again.admitted = master.machine, master.admitted
    return again


def test_results_survive_a_restart_of_the_worker(master: Any, start: Start) -> None:
    daemon = start()
    first = master.welcome()
    master.order("true", "exit 2")
    got = sorted(master.results(2, acknowledge=False))
    master.peer = b""
    daemon.process.kill()
    daemon.process.communicate()
    start()
    hello = master.hear(m.Hello, lambda h: h.incarnation != first.incarnation)
    assert (len(hello.holding), hello.unacknowledged) == (2, 2), "lest they are run again"
    master.say(m.Welcome("test", 5.0, 60.0))
    assert sorted(master.results(2)) == got


def test_it_tries_all_addresses_until_one_answers(master: Any, start: Start) -> None:
    start(master=(f"tcp://127.0.0.1:{_free_port()}", f"tcp://127.0.0.1:{master.port}"))
    master.welcome()
    assert master.run("true")[0].outcome == m.Outcome.DONE


def test_a_key_that_is_not_admitted_yet_is_tried_again(master: Any, start: Start) -> None:
    admitted, master.admitted = master.admitted, set()
    start()
    for _ in range(10):
        master.turn(50)
    assert not master.heard
    master.admitted = admitted
    master.welcome()


def test_a_single_use_ticket_is_traded_for_a_key_of_its_own(
    master: Any, start: Start, tmp_path: Path
) -> None:
    daemon = start(single_use=True)
    enroll = master.hear(m.Enroll)
    own = enroll.public_key.decode()
    assert own not in master.admitted
    master.admitted = {own}  # the ticket is spent
    master.say(m.Welcome("test", 5.0, 60.0))
    master.welcome()
    assert master.run("true")[0].outcome == m.Outcome.DONE
    daemon.process.kill()
    daemon.process.communicate()
    start(single_use=True)  # after a restart the ticket is no longer good, the key is
    master.welcome()


def test_refused_for_good_it_ends_and_says_why(master: Any, start: Start) -> None:
    daemon = start()
    master.hear(m.Hello)
    master.say(m.Refused("this machine was released"))
    code, log = daemon.ends()
    assert code == 4
    assert "this machine was released" in log


def test_a_message_it_does_not_understand_does_no_harm(master: Any, worker: Any) -> None:
    for junk in (b"", b"\xff" * 100, b"\x92\x63\x01", b"\x93\x17\x01\x90"):
        master.socket.send_multipart([master.peer, junk])
    assert master.run("true")[0].outcome == m.Outcome.DONE


def test_orders_of_an_unknown_bag_are_returned(master: Any, worker: Any) -> None:
    master.say(m.Run(m.BagId(9), (m.Order(m.TaskId(4), 2, ()),)))
    assert master.hear(m.Returned).attempts == (m.AttemptId(m.BagId(9), m.TaskId(4), 2),)


def test_an_order_said_twice_runs_once(master: Any, worker: Any, tmp_path: Path) -> None:
    order = m.Run(m.BagId(1), (m.Order(m.TaskId(0), 1, (f"echo x >> {tmp_path}/x; sleep 0.2",)),))
    master.say(m.BagSpec(m.BagId(1), ("c",), command="{c!raw}"), order, order)
    master.results(1)
    assert master.run("true")[0].outcome == m.Outcome.DONE
    assert (tmp_path / "x").read_text() == "x\n"


def test_two_workers_never_share_a_folder(
    master: Any, worker: Any, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = start()
    second.process.send_signal(signal.SIGCONT)
    code, log = second.ends()
    assert code == 2
    assert "Another worker uses" in log


def test_joined_by_hand_it_is_given_its_number(master: Any, tmp_path: Path) -> None:
    pair = new_pair()
    master.admitted.add(pair.public)
    path = tmp_path / "worker.json"
    write_access(
        path,
        Access(
            "worker",
            (f"tcp://127.0.0.1:{master.port}",),
            master.pair.public,
            pair.public,
            pair.secret,
        ),
    )
    daemon = _by_hand(
        "--access", str(path), "--slots", "5", "--name", "mine", "--folder", str(tmp_path / "s")
    )
    try:
        own = master.hear(m.Enroll)
        assert (own.machine, len(own.public_key)) == (-1, 40), "the file only invites"
        master.admitted.add(own.public_key.decode())
        master.say(m.Welcome("test", 5.0, 60.0))
        hello = master.hear(m.Hello)
        assert (hello.machine, hello.slots, hello.offering) == (-1, 5, "mine")
        master.say(m.Welcome("test", 5.0, 60.0, m.MachineId(12)))
        master.run("true")
        again = _restarted(master)
        try:
            assert again.welcome().machine == 12
        finally:
            again.close()
    finally:
        daemon.kill()
        daemon.communicate()


def _by_hand(*arguments: str) -> Any:
    import subprocess
    import sys

    return subprocess.Popen(
        [sys.executable, "-m", "bats.worker", *arguments], stderr=subprocess.PIPE
    )


def test_the_server_side_admits_nobody_without_an_authenticator() -> None:
    """`set_up_server` alone must not be an open door."""
    import zmq

    context: zmq.Context[Any] = zmq.Context()
    server, client = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    try:
        pair, mine = new_pair(), new_pair()
        set_up_server(server, pair)
        port = server.bind_to_random_port("tcp://127.0.0.1")
        client.curve_serverkey = pair.public.encode()
        client.curve_publickey, client.curve_secretkey = mine.public.encode(), mine.secret.encode()
        client.connect(f"tcp://127.0.0.1:{port}")
        client.send(b"hello")
        assert not server.poll(300)
    finally:
        client.close(0)
        server.close(0)
        context.term()


async def test_a_link_that_breaks_in_the_handshake_is_no_refusal() -> None:
    broken, often = count(1), asyncio.Event()

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()
        if next(broken) == 3:
            often.set()

    class Patient:
        denied = 0

        def on_up(self) -> None: ...

        def on_down(self) -> None: ...

        def on_frame(self, frame: bytes) -> None: ...

        def on_denied(self) -> KeyPair:
            self.denied += 1
            return pair

    server = await asyncio.start_server(break_off, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pair, patient = new_pair(), Patient()
    connection = Connection([f"tcp://127.0.0.1:{port}"], new_pair().public, pair, patient)
    async with asyncio.timeout(20):
        await often.wait()
    connection.close()
    server.close()
    assert patient.denied == 0

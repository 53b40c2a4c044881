"""Requests are worked on beside each other; whatever is wrong with one is told in a sentence."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from helpers.service import eventually

from bats.common.messages import Chunk, Reply, Request
from bats.common.wire.codec import decode
from bats.master.service.api.answering import VERBS, Requests
from bats.master.service.api.call import Call

ROUTE = b"a client"


class Router:
    """Keeps what would be sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, _route: bytes, frame: bytes) -> None:
        self.sent.append(decode(frame))

    async def room(self, _route: bytes, _octets: int) -> None:
        await asyncio.sleep(0)

    def replies(self) -> dict[int, Reply]:
        return {one.id: one for one in self.sent if isinstance(one, Reply)}


@pytest.fixture
def router() -> Router:
    return Router()


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three more: one answers in parts, one waits for ever, one has a bug."""

    async def count(call: Call) -> dict[str, Any]:
        for number in range(call.body["upto"]):
            await call.part({"number": number})
        return {"counted": True}

    async def hang(_: Call) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    async def stumble(_: Call) -> dict[str, Any]:
        raise ZeroDivisionError("by nought")

    for handler in (count, hang, stumble):
        monkeypatch.setitem(VERBS, handler.__name__, handler)
    return


async def test_an_answer_in_parts_ends_with_its_reply(router: Router, verbs: None) -> None:
    requests = Requests(None, router)
    requests.take(ROUTE, Request(7, "count", {"upto": 3}))
    await eventually(router.replies)
    assert router.sent[:3] == [Chunk(7, {"number": number}) for number in range(3)]
    assert router.sent[3:] == [Reply(7, {"counted": True})]


async def test_a_bug_is_told_as_ours_and_harms_no_other_request(
    router: Router, verbs: None
) -> None:
    requests = Requests(None, router)
    requests.take(ROUTE, Request(1, "stumble", {}))
    requests.take(ROUTE, Request(2, "count", {"upto": 0}))
    replies = await eventually(lambda: len(router.replies()) == 2 and router.replies())
    assert replies[1].error == "The master failed at `stumble`: ZeroDivisionError: by nought."
    assert replies[1].exit_code == 70
    assert replies[2].error == ""


async def test_a_verb_that_is_not_known_is_told_with_those_that_are(router: Router) -> None:
    requests = Requests(None, router)
    requests.take(ROUTE, Request(1, "brew coffee", {}))
    (reply,) = (await eventually(router.replies)).values()
    assert reply.exit_code == 2
    for verb in ("submit", "status", "shutdown"):
        assert verb in reply.error


async def test_who_asks_too_much_at_a_time_is_told_to_wait_and_others_are_not(
    router: Router, verbs: None
) -> None:
    requests = Requests(None, router)
    for number in range(201):
        requests.take(ROUTE, Request(number, "hang", {}))
    (told,) = router.replies().values()
    assert told.id == 200
    assert told.error == "200 requests are open; wait for some answers."
    requests.take(b"another", Request(999, "count", {"upto": 0}))
    await eventually(lambda: 999 in router.replies())
    await requests.close()
    requests.take(ROUTE, Request(1000, "count", {"upto": 0}))
    await eventually(lambda: 1000 in router.replies())

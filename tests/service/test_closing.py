"""What a master opened is closed in the opposite order, whatever goes wrong meanwhile."""

import structlog

from bats.common.errors import StoreDamagedError
from bats.master.service.closing import Closing


async def test_what_was_opened_last_is_closed_first() -> None:
    closed: list[str] = []

    async def slowly() -> None:
        closed.append("slow")

    closing = Closing()
    closing.then(lambda: closed.append("first"))
    closing.then(slowly, lambda: closed.append("last"))
    await closing.close()
    assert closed == ["last", "slow", "first"]
    await closing.close()  # a second time nothing is left to do
    assert closed == ["last", "slow", "first"]


async def test_what_cannot_be_closed_is_told_and_the_rest_is_closed() -> None:
    closed: list[str] = []

    def damaged() -> None:
        raise StoreDamagedError("the store is gone")

    def broken() -> None:
        raise ZeroDivisionError

    closing = Closing()
    closing.then(lambda: closed.append("first"), damaged, broken)
    with structlog.testing.capture_logs() as logs:
        await closing.close()
    assert closed == ["first"]
    assert [line["event"] for line in logs] == ["not closed in order", "store not closed in order"]
    assert logs[1]["reason"] == "the store is gone"

"""Messages and journal in bytes: by our codec, and by msgspec where that is installed.

Both read frames of the same bytes and check the same types and ranges. What is measured is
processor time, each the best of several rounds, the two in turn.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any, Final, NamedTuple

import msgpack
from figures import Report

from bats.common.messages import BagId, MachineId, Order, Outcome, Result, Results, Run, TaskId
from bats.common.wire.codec import Message, decode, encode
from bats.master.brain.protocol.events import Ended, Ending
from bats.master.brain.protocol.journal import event_from, plain

ROUNDS: Final = 15
BATCH: Final = 64  # results of a frame, orders of a frame: a busy machine of some slots


def messages(batch: int = BATCH) -> dict[str, Message]:
    """What passes for each task: an order, and its result."""
    return {
        "an order": Run(
            BagId(3), tuple(Order(TaskId(k), 1, (f"{k / 7}", "a name")) for k in range(batch))
        ),
        "a result": Results(
            7,
            tuple(
                Result(BagId(3), TaskId(k), 1, Outcome.DONE, 0, 1.5 + k, 1.25, 0.125, 8192, 20,
                       "score=0.25", k % 8)
                for k in range(batch)
            ),
        ),
    }  # fmt: skip


def run(report: Report, *, quick: bool) -> None:
    rounds = 3 if quick else ROUNDS
    theirs = _msgspec()
    for name, message in messages().items():
        frame = encode(message)
        for what, ours, other in (
            (f"{name} to bytes", lambda m=message: encode(m), theirs and theirs.packing(message)),
            (f"{name} from bytes", lambda f=frame: decode(f), theirs and theirs.reading(message)),
        ):
            _told(report, what, ours, other, rounds)
    event = Ended(
        MachineId(5), tuple(Ending(TaskId(k), 1, Outcome.DONE, 1.5 + k) for k in range(BATCH))
    )
    row = plain(event)
    written = msgpack.packb(row)
    _told(report, "an ending to the journal", lambda: msgpack.packb(plain(event)),
          theirs and (lambda: theirs.pack(plain(event))), rounds)  # fmt: skip
    _told(report, "an ending from the journal",
          lambda: event_from(msgpack.unpackb(written), BagId(3)),
          theirs and (lambda: event_from(theirs.unpack(written), BagId(3))), rounds)  # fmt: skip


def _told(
    report: Report,
    what: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any] | None,
    rounds: int,
) -> None:
    """Microseconds of processor time for each task of a batch."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for k, work in enumerate((ours, theirs)):
            if work is not None:
                best[k] = min(best[k], _seconds(work))
    report.figure(what, None, round(1e6 * best[0] / BATCH, 3), "µs")
    if theirs is not None:
        report.figure(f"{what}, msgspec", None, round(1e6 * best[1] / BATCH, 3), "µs")


def _seconds(work: Callable[[], Any], times: int = 200) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times


class _Rival(NamedTuple):
    packing: Callable[[Message], Callable[[], Any]]
    reading: Callable[[Message], Callable[[], Any]]
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


def _msgspec() -> _Rival | None:
    try:
        import msgspec
    except ImportError:
        return None
    whole = Annotated[int, msgspec.Meta(ge=0)]
    real = Annotated[float, msgspec.Meta(ge=0, lt=1e300)]
    first = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    code = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]

    class Row(NamedTuple):
        bag: whole
        task: whole
        attempt: first
        outcome: Outcome
        exit_code: code
        wall_seconds: real
        user_seconds: real
        system_seconds: real
        peak_kib: whole
        output_bytes: whole
        excerpt: str
        slot: whole
        outputs: tuple[tuple[str, str, whole], ...]

    class OrderRow(NamedTuple):
        task: whole
        attempt: first
        values: tuple[str, ...]

    def kind(name: str, tag: int, *parts: tuple[str, Any]) -> Any:
        return msgspec.defstruct(name, parts, array_like=True, tag=tag, frozen=True, gc=False)

    results = kind("Results", 4, ("serial", whole), ("results", tuple[Row, ...]))
    runs = kind("Run", 23, ("bag", whole), ("orders", tuple[OrderRow, ...]))
    encoder, decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(results | runs)
    anything = msgspec.msgpack.Decoder()

    def as_theirs(message: Message) -> Any:
        if isinstance(message, Run):
            return runs(message.bag, tuple(OrderRow(*one) for one in message.orders))
        assert isinstance(message, Results)
        rows = tuple(Row(*one[: len(Row._fields)]) for one in message.results)
        return results(message.serial, rows)

    def packing(message: Message) -> Callable[[], Any]:
        made = as_theirs(message)
        if encoder.encode(made) != encode(message):
            raise AssertionError("msgspec does not write the same bytes")
        return lambda: encoder.encode(made)

    def reading(message: Message) -> Callable[[], Any]:
        frame = encode(message)
        if decoder.decode(frame) != as_theirs(message):
            raise AssertionError("msgspec does not read the same message")
        return lambda: decoder.decode(frame)

    return _Rival(packing, reading, encoder.encode, anything.decode)

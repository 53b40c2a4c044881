"""The bench of the codec takes messages as they pass, and tells a time for each way."""

from benches import codec
from figures import Report

from bats.common.wire.codec import decode, encode


def test_the_messages_it_takes_are_read_back_as_they_were():
    for message in codec.messages().values():
        assert decode(encode(message)) == message


def test_it_tells_what_a_task_takes_to_bytes_and_back():
    report = Report("codec")
    codec.run(report, quick=True)
    ours = {one["what"]: one["ours"] for one in report.figures if "msgspec" not in one["what"]}
    assert set(ours) == {
        "an order to bytes",
        "an order from bytes",
        "a result to bytes",
        "a result from bytes",
        "an ending to the journal",
        "an ending from the journal",
    }
    assert all(0 < microseconds < 1000 for microseconds in ours.values())

"""What is said arrives unchanged; what is not of us is refused by name and harms nobody."""

import dataclasses
import math
import typing
from itertools import islice
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.common import messages as m
from bats.common.wire.codec import (
    LARGEST_FRAME,
    Message,
    ProtocolError,
    VersionError,
    decode,
    encode,
    name_of,
)

KINDS: tuple[type[Any], ...] = typing.get_args(Message)
counts = st.integers(0, 2**63 - 1)
reals = st.floats(0, 1e300, allow_nan=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


def _values(hint: Any, name: str) -> st.SearchStrategy[Any]:
    """Anything an annotation allows; written apart from the decoder's own reading of it."""
    hint = getattr(hint, "__supertype__", hint)
    arguments = typing.get_args(hint)
    if hint is int:
        odd = {
            "protocol": st.just(m.PROTOCOL),
            "attempt": st.integers(1, 1000),
            "exit_code": st.integers(-64, 4000),
            "machine": st.integers(-1, 1000),
        }
        return odd.get(name, counts)
    if hint is m.Outcome:
        return st.sampled_from(m.Outcome)
    if hint in {str, bytes, bool, float}:
        return {
            str: st.text(max_size=20),
            bytes: st.binary(max_size=20),
            bool: st.booleans(),
            float: reals,
        }[hint]
    if typing.get_origin(hint) is dict:
        return st.dictionaries(st.text(max_size=5), st.text() if arguments[1] is str else plain)
    if typing.get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return st.lists(_values(arguments[0], name), max_size=4).map(tuple)
    if typing.get_origin(hint) is tuple:
        return st.tuples(*(_values(a, "") for a in arguments))
    fields = typing.get_type_hints(hint)
    if hint is m.Result:  # the rest is the master's
        told = islice(fields.items(), m.TOLD_BY_WORKER)
        return st.tuples(*(_values(value, key) for key, value in told)).map(lambda t: m.Result(*t))
    return st.builds(hint, **{key: _values(value, key) for key, value in fields.items()})


any_message: st.SearchStrategy[Any] = st.one_of([_values(kind, "") for kind in KINDS])


@given(any_message)
def test_what_is_said_arrives_unchanged(message: Message) -> None:
    heard = decode(encode(message))
    assert heard == message
    assert type(heard) is type(message)


def test_rows_arrive_as_named_tuples() -> None:
    heard = decode(encode(m.Run(m.BagId(1), (m.Order(m.TaskId(7), 1, ("a",)),))))
    assert isinstance(heard, m.Run)
    assert heard.orders[0].task == 7
    assert heard.orders[0].values == ("a",)


def test_every_kind_of_message_has_a_number() -> None:
    dataclass_kinds = {
        kind
        for kind in vars(m).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind)
    }
    assert dataclass_kinds == set(KINDS)


@given(st.binary(max_size=200))
@settings(max_examples=500)
def test_random_bytes_are_refused(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(frame)
    assert name_of(frame)


@given(any_message, st.data())
@settings(max_examples=300)
def test_a_damaged_frame_is_refused_or_still_well_formed(
    message: Message, data: st.DataObject
) -> None:
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    try:
        heard = decode(bytes(frame))
    except ProtocolError:
        return
    assert decode(encode(heard)) == heard


@given(any_message, plain)
@settings(max_examples=300)
def test_a_foreign_value_in_any_field_is_refused_or_fits(message: Message, foreign: Any) -> None:
    row = msgpack.unpackb(encode(message), use_list=True, strict_map_key=False)
    for place in range(1, len(row)):
        try:
            heard = decode(msgpack.packb([*row[:place], foreign, *row[place + 1 :]]))
        except ProtocolError:
            continue
        assert decode(encode(heard)) == heard


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0, "1", None, True])
def test_a_number_that_is_none_does_not_come_in(seconds: Any) -> None:
    with pytest.raises(ProtocolError, match=r"Lease\.lease_seconds"):
        decode(msgpack.packb([26, seconds]))


def test_one_bad_row_in_a_batch_is_named() -> None:
    good = m.Result(m.BagId(1), m.TaskId(1), 1, 0, 0, 1.0, 1.0, 1.0, 1, 0, "", 0)
    bad = good._replace(wall_seconds=math.nan)
    with pytest.raises(ProtocolError, match=r"Results\.results\.wall_seconds: nan"):
        decode(encode(m.Results(1, (good, bad))))


def test_an_unknown_type_number_is_refused_by_number() -> None:
    with pytest.raises(ProtocolError, match="type 99"):
        decode(msgpack.packb([99, 1]))


def test_a_frame_larger_than_its_kind_is_refused_unread() -> None:
    with pytest.raises(ProtocolError, match=r"Heartbeat: \d+ bytes, at most"):
        decode(encode(m.Heartbeat((), 0, 1.0)) + bytes(LARGEST_FRAME // 8))


def test_a_list_that_claims_four_billion_entries_costs_nothing() -> None:
    with pytest.raises(ProtocolError, match="Returned"):
        decode(b"\x92\x05\xdd\xff\xff\xff\xff")


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(ProtocolError):
        decode(b"\x94\x3d\x01\x81\xa1a" + b"\x91" * 100_000 + b"\x01\xa0\x00")


@pytest.mark.parametrize(
    ("theirs", "side"), [(m.PROTOCOL + 1, "the master"), (m.PROTOCOL - 1, "the worker")]
)
def test_another_version_says_which_side_to_upgrade(theirs: int, side: str) -> None:
    hello = m.Hello("1", m.MachineId(1), "x", 1, "host", 1, (), 0)
    row = msgpack.unpackb(encode(hello))
    assert row[1] == m.PROTOCOL, "the version comes first, so that all versions can read it"
    with pytest.raises(VersionError, match=f"upgrade bats-scheduler on {side}'s side"):
        decode(msgpack.packb([1, theirs, "fields of", "another version"]))

"""What earlier releases said on the wire is understood by this one."""

from typing import Any

import msgpack
import pytest
from helpers.releases import FROZEN, RELEASES

from bats.common.messages import TOLD_BY_WORKER, Result
from bats.common.wire.codec import decode, encode

Said = tuple[str, str, bytes, tuple[str, dict[str, Any]]]


def said(release: str) -> list[Said]:
    """Speaker and hearer, the frame, and what that release read in it."""
    found: list[Said] = msgpack.unpackb(
        (FROZEN / release / "wire.msgpack").read_bytes(), use_list=False, strict_map_key=False
    )
    return found


def as_kept(value: Any) -> Any:
    if type(value) is tuple:  # what the master adds to a result was not on the wire
        value = [one[:TOLD_BY_WORKER] if isinstance(one, Result) else one for one in value]
    return msgpack.unpackb(msgpack.packb(value), use_list=False, strict_map_key=False)


@pytest.mark.parametrize("release", RELEASES)
def test_every_frame_is_read_as_it_was(release: str) -> None:
    frames = said(release)
    assert {"worker", "worker by hand", "client", "master"} == {who for who, *_ in frames}
    for _, _, frame, (name, fields) in frames:
        message = decode(frame)
        assert type(message).__name__ == name
        assert {key: as_kept(getattr(message, key)) for key in fields} == fields


@pytest.mark.parametrize("release", RELEASES)
def test_what_this_release_says_of_the_same_is_read_back(release: str) -> None:
    for _, _, frame, _ in said(release):
        assert decode(encode(decode(frame))) == decode(frame)

"""A content is what its name says, arrives in pieces, and is kept once."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.errors import UsageError
from bats.master.store.blobs import Blobs, DamagedBlobError


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=6))
def test_a_content_arrives_in_pieces_some_of_them_twice(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
):
    blobs = Blobs(tmp_path_factory.mktemp("blobs"))
    content = b"".join(pieces)
    name, total = sha(content), len(content)
    at = 0
    for piece in pieces:
        assert blobs.receive(name, at, total, piece) == at + len(piece)
        blobs.receive(name, at, total, piece)  # sent again: no harm
        at += len(piece)
        assert blobs.has(name) == (at == total)
        if at < total:
            assert Blobs(blobs._folder.parent).received(name) == at  # also after a restart
    assert blobs.read(name, 0, 1000) == (content, total)


def test_a_gap_or_too_much_changes_nothing(tmp_path: Path):
    blobs = Blobs(tmp_path)
    name = sha(b"abcdef")
    assert blobs.receive(name, 0, 6, b"abc") == 3
    assert blobs.receive(name, 4, 6, b"ef") == 3
    assert blobs.receive(name, 3, 6, b"defg") == 3
    assert blobs.receive(name, 3, 6, b"def") == 6
    assert blobs.read(name, 2, 3) == (b"cde", 6)


def test_what_was_whole_but_not_kept_when_the_master_was_killed_is_kept_with_the_next_piece(
    tmp_path: Path,
):
    name = sha(b"abcdef")
    killed = Blobs(tmp_path)
    killed.receive(name, 0, 6, b"abc")
    with killed._part(name).open("ab") as part:
        part.write(b"def")
    blobs = Blobs(tmp_path)
    assert blobs.received(name) == 6
    assert not blobs.has(name)
    assert blobs.receive(name, 5, 6, b"f") == 6
    assert blobs.read(name, 0, 6) == (b"abcdef", 6)


def test_another_content_than_promised_is_refused_and_forgotten(tmp_path: Path):
    blobs = Blobs(tmp_path)
    name = sha(b"promised")
    with pytest.raises(DamagedBlobError, match="another content"):
        blobs.receive(name, 0, 8, b"deceived")
    assert blobs.received(name) == 0
    assert blobs.receive(name, 0, 8, b"promised") == 8


def test_a_content_that_is_added_twice_is_there_once(tmp_path: Path):
    blobs = Blobs(tmp_path)
    source = tmp_path / "source"
    source.write_bytes(b"content")
    name = blobs.add(source)
    assert blobs.add(source) == name == sha(b"content")
    assert blobs.has(name)
    assert len([path for path in tmp_path.rglob("*") if path.is_file() and path != source]) == 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_a_name_that_is_no_hash_is_refused(tmp_path: Path, name: str):
    with pytest.raises(UsageError, match="is no SHA-256"):
        Blobs(tmp_path).receive(name, 0, 1, b"x")


def test_what_is_not_there_is_said_and_what_is_unheld_forgotten(tmp_path: Path):
    blobs = Blobs(tmp_path)
    name = sha(b"")
    with pytest.raises(UsageError, match="is not in the store"):
        blobs.read(name, 0, 1)
    assert blobs.receive(name, 0, 0, b"") == 0
    assert blobs.has(name)
    blobs.forget([name, sha(b"never there")])
    assert not blobs.has(name)

"""Secrets are kept where only their owner reads them, and a careless file is refused."""

import stat
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.wire.keys import (
    Access,
    KeyPair,
    is_key,
    keep_pair,
    new_pair,
    read_access,
    write_access,
)


def _access(role: str = "client") -> Access:
    pair = new_pair()
    return Access(role, ("tcp://h:1",), new_pair().public, pair.public, pair.secret)  # type: ignore[arg-type]


def test_an_access_file_comes_back_as_written_and_is_private(tmp_path: Path) -> None:
    path, access = tmp_path / "new" / "client.json", _access()
    write_access(path, access)
    assert read_access(path, "client") == access
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_file_others_can_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "client.json"
    write_access(path, _access())
    path.chmod(mode)
    with pytest.raises(UsageError, match=f"mode {mode:04o}.*chmod 600"):
        read_access(path)


def test_a_workers_key_is_no_clients_key(tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    write_access(path, _access("worker"))
    with pytest.raises(UsageError, match="is for a worker, here one for a client is needed"):
        read_access(path, "client")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "\0\xff"])
def test_a_broken_access_file_is_told_in_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "client.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match=r"client\.json is not an access file"):
        read_access(path)
    with pytest.raises(UsageError, match="There is no access file"):
        read_access(tmp_path / "none.json")


def test_the_master_keeps_its_pair_through_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    pair = keep_pair(path)
    assert keep_pair(path) == pair
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert is_key(pair.public)
    assert not is_key(pair.public[:-1])


def test_no_secret_shows_when_printed() -> None:
    access = _access()
    assert access.secret_key not in repr(access)
    assert "geheim" not in repr(KeyPair("offen", "geheim"))

"""`scripts/freeze.py` makes a release into test data that the tests of later ones can read."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import msgpack
from freezing import bags, wire

from bats.common.release import release
from bats.common.wire import codec

SCRIPT = Path(__file__).parents[2] / "scripts" / "freeze.py"


def test_a_session_says_every_message_there_is(tmp_path: Path) -> None:
    wire.freeze(tmp_path / "work", tmp_path / "wire.msgpack")
    rows = msgpack.unpackb((tmp_path / "wire.msgpack").read_bytes(), strict_map_key=False)
    assert {type(codec.decode(frame)).__name__ for _, _, frame, _ in rows} == {
        message.__name__ for message in codec.Message.__args__
    }
    assert len(rows) < 500


def test_of_a_bag_its_state_is_kept_and_nothing_secret(tmp_path: Path) -> None:
    bags.freeze("cancelled", tmp_path / "work", tmp_path / "cancelled")
    with tarfile.open(tmp_path / "cancelled.tar.xz") as archive:
        names = archive.getnames()
        archive.extractall(tmp_path / "kept", filter="data")
    assert "store.db" in names
    assert not [name for name in names if "wal" in name or "key" in name or "access" in name]
    keys = (tmp_path / "work" / "cancelled" / "state" / "keys").glob("*.json")
    secrets = [json.loads(path.read_text())["secret"].encode() for path in keys]
    assert secrets
    for path in (tmp_path / "kept").rglob("*"):
        assert not path.is_file() or not any(one in path.read_bytes() for one in secrets)
    told = json.loads((tmp_path / "cancelled.json").read_text())
    assert told["status"][0]["state"] == "cancelled"
    assert 40 <= len(told["results"]) < 160


def test_only_the_release_that_is_installed_can_be_frozen_and_only_once(tmp_path: Path) -> None:
    def refusal(version: str) -> str:
        done = subprocess.run(
            [sys.executable, SCRIPT, version, "--into", tmp_path],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        return done.stderr

    assert f"is release {release()}, not 9.9" in refusal("9.9")
    (tmp_path / release()).mkdir()
    assert "is there already" in refusal(release())

"""Other task runners: had whole or not at all, driven within limits, and ended."""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from peers import sources
from peers.catalogue import PEERS, XARGS
from peers.measuring import first_task, rate, rates
from peers.sitting import FailedError, sitting
from peers.sources import OfDebian, OfPython, UnavailableError, pinned

pytestmark = pytest.mark.checkout
SCRIPT = Path(__file__).parents[2] / "scripts" / "peers.py"
NOTHING: Mapping[str, str] = {}


def debian(files: Mapping[str, bytes]) -> bytes:
    """A package file: an `ar` archive whose members begin at even places."""
    tarred = io.BytesIO()
    with tarfile.open(fileobj=tarred, mode="w:xz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
    whole = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0"), ("data.tar.xz", tarred.getvalue())):
        whole += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        whole += content + b"\n" * (len(content) % 2)
    return whole


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sources, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def offered(folder: Path, content: bytes, sha256: str = "") -> OfDebian:
    (folder / "tool_1.0_all.deb").write_bytes(content)
    digest = sha256 or hashlib.sha256(content).hexdigest()
    return OfDebian("tool_1.0_all.deb", digest, pool=folder.as_uri())


def test_a_package_of_debian_is_unpacked_and_found_by_its_path(tmp_path: Path, cache: Path):
    tool = offered(tmp_path, debian({"usr/bin/tool": b"#!/bin/sh\necho here\n"}))
    assert not tool.there
    tool.install()
    assert tool.there
    assert tool.version == "1.0"
    with sitting(tool.environment) as here:
        assert here.run("sh", "-c", "tool") == "here\n"
    assert [path.name for path in cache.iterdir() if path.is_dir()] == ["tool_1.0_all"]


def test_what_is_there_is_not_fetched_again(tmp_path: Path, cache: Path):
    tool = offered(tmp_path, debian({"usr/bin/tool": b""}))
    tool.install()
    (tmp_path / "tool_1.0_all.deb").unlink()
    tool.install()


@pytest.mark.parametrize("wrong", ["the hash", "the archive", "the address", "the computer"])
def test_what_cannot_be_had_whole_leaves_nothing(tmp_path: Path, cache: Path, wrong: str):
    tool = offered(
        tmp_path,
        debian({"usr/bin/tool": b""}) if wrong != "the archive" else b"!<arch>\n",
        sha256="0" * 64 if wrong == "the hash" else "",
    )
    if wrong == "the address":
        (tmp_path / "tool_1.0_all.deb").unlink()
    if wrong == "the computer":
        tool = OfDebian("tool_1.0_vax.deb", tool.sha256)
    with pytest.raises(UnavailableError):
        tool.install()
    assert not tool.there
    assert not [path for path in cache.glob("*") if path.is_dir()]


def test_every_package_of_python_is_pinned_with_all_that_it_needs():
    pins = pinned(sources.VERSIONS.read_text())
    for peer in PEERS.values():
        if isinstance(peer.source, OfPython):
            assert peer.source.version == pins[peer.source.package]
    assert len(pins) > 80
    assert all(pins.values())


def test_a_newer_pin_is_another_folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    before = OfPython("dask").folder
    newer = tmp_path / "versions.txt"
    newer.write_text(sources.VERSIONS.read_text() + "of-something-it-needs==2\n")
    monkeypatch.setattr(sources, "VERSIONS", newer)
    assert OfPython("dask").folder != before


@pytest.mark.parametrize("name", ["xargs", "make"])
def test_what_the_system_has_does_all_of_its_tasks(name: str):
    peer = PEERS[name]
    if not peer.source.there:
        pytest.skip(f"no {name} here")
    with sitting(NOTHING) as here:
        began, ended = peer.recipe(here, 7, "echo x >> all")
        assert (here.folder / "all").read_text() == "x\n" * 7
    assert 0 < ended - began < 10


def test_a_task_that_fails_is_no_measurement():
    with pytest.raises(FailedError, match="exit code"):
        rate(XARGS, 3, "false")


def test_a_run_that_takes_too_long_is_given_up_and_all_that_it_started_ends(tmp_path: Path):
    began = time.monotonic()
    mark = tmp_path / "pid"
    with pytest.raises(FailedError, match="not done in time"), sitting(NOTHING, 0.5) as here:
        here.run("sh", "-c", f"setsid sleep 60 & echo $! > {mark}; wait")
    assert time.monotonic() - began < 5
    assert not Path(f"/proc/{int(mark.read_text())}/exe").exists()


def test_what_is_not_installed_is_left_out_and_told(
    cache: Path, capsys: pytest.CaptureFixture[str]
):
    found = rates(["xargs", "ray"], 20)
    assert list(found) == ["xargs -P2"]
    assert "scripts/peers.py --install ray" in capsys.readouterr().err


def test_the_first_task_counts_from_nothing():
    assert 0 < first_task(XARGS) < 5


def test_a_name_that_is_wrong_is_answered_with_those_there_are():
    said = subprocess.run(
        [sys.executable, SCRIPT, "slurm"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "hyperqueue" in said.stderr


def test_bats_and_a_peer_are_told_side_by_side():
    """In short: rates are for a quiet computer to say."""
    said = subprocess.run(
        [sys.executable, SCRIPT, "xargs", "--quick", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert sum("BaTS" in one["what"] for one in told["figures"]) == 4
    assert sum("xargs" in one["what"] for one in told["figures"]) == 4
    assert all(one["ours"] > 0 for one in told["figures"])

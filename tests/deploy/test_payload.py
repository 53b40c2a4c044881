"""The packed worker runs from its folder alone, and is the same bytes every time."""

import hashlib
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

from bats.deploy import payload


def unpacked(packed: payload.Payload, folder: Path) -> Path:
    zipfile.ZipFile(BytesIO(packed.data)).extractall(folder)
    return folder


def test_it_runs_without_site_packages(tmp_path: Path) -> None:
    folder = unpacked(payload.build(plain=False), tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-S", folder, "try", folder],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_its_name_is_its_hash_and_does_not_change() -> None:
    packed = payload.build(plain=False)
    payload.build.cache_clear()
    again = payload.build(plain=False)
    assert again.sha256 == packed.sha256 == hashlib.sha256(packed.data).hexdigest()
    assert packed.name == f"worker-{packed.sha256[:16]}"


def test_the_plain_one_has_nothing_compiled_and_says_what_pip_must_add() -> None:
    packed = payload.build(plain=True)
    names = zipfile.ZipFile(BytesIO(packed.data)).namelist()
    assert not [name for name in names if ".so" in name or name.startswith("zmq/")]
    assert packed.requirements in names
    assert payload.build(plain=False).requirements == ""


def test_nothing_of_the_master_is_in_it() -> None:
    names = zipfile.ZipFile(BytesIO(payload.build(plain=False).data)).namelist()
    assert not [name for name in names if "master" in name or "numpy" in name or "/tests/" in name]


def test_a_bats_that_is_installed_on_the_host_is_not_taken_for_the_worker(tmp_path: Path) -> None:
    folder = unpacked(payload.build(plain=False), tmp_path / "sent")
    installed = tmp_path / "installed" / "bats"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("raise SystemExit('another release')\n")
    code = (
        "import sys\n"
        f"sys.path[:] = [{str(folder)!r}, {str(installed.parent)!r}, *sys.path]\n"
        "import bats.worker; print(bats.worker.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(folder / "bats" / "worker" / "__init__.py")

"""Runs on a host where nothing of ours is yet: says what is there, and unpacks the worker.

Sent as text to the host's own Python (`python3 -I - VERB ...`): it imports nothing of ours.
Each verb answers with one line of JSON.
"""

import contextlib
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

REACH_SECONDS = 2.0
PIP_SECONDS = 300.0
PIP_BRIEF = (  # and of files known by their hashes alone
    "--require-hashes",
    "--retries",
    "1",
    "--disable-pip-version-check",
    "--target",
)


def probe(folder: str, *addresses: str) -> dict[str, object]:
    """Facts of this host, and the addresses of the master (`host:port`) that it can reach."""
    home = Path(folder).expanduser()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {
        "python": sys.executable,
        "version": f"{sys.version_info.major}.{sys.version_info.minor}",
        "platform": sysconfig.get_platform(),
        "folder": str(home),
        "workers": [found.name for found in home.glob("worker-*")],
        "reaches": [_reaches(address) for address in addresses],
    }


def install(
    archive_path: str, sha256: str, target_path: str, requirements: str = ""
) -> dict[str, object]:
    """Unpack beside the target, try it, and only then give it its name."""
    archive, target = Path(archive_path), Path(target_path)
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        archive.unlink()
        return {"error": f"the copy has hash {found[:16]}, not {sha256[:16]}: it was damaged"}
    draft = Path(tempfile.mkdtemp(dir=target.parent, prefix="draft-"))
    try:
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(draft)
        archive.unlink()
        if requirements:
            listed = ("-r", str(draft / requirements))
            _run("-m", "pip", "install", "-q", "--no-input", *PIP_BRIEF, str(draft), *listed)
        _run("-I", str(draft), "try", str(draft))
        with contextlib.suppress(OSError):  # there already: another start was quicker
            draft.rename(target)
    except subprocess.CalledProcessError as failure:
        lines = [line.strip() for line in failure.stderr.splitlines() if line.strip()]
        return {"error": lines[-1] if lines else f"exit code {failure.returncode}"}
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return {"error": "" if target.is_dir() else f"{target} could not be made"}


def _run(*arguments: str) -> None:
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=PIP_SECONDS)


def _reaches(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), REACH_SECONDS):
            return True
    except OSError:
        return False


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    answer = probe(*arguments) if verb == "probe" else install(*arguments)
    print(json.dumps(answer), flush=True)

"""The worker as one file: our own modules and the three packages it needs, from this installation.

Hosts may have no way to the internet, so what runs here is copied there: a zip of the installed
files, the same bytes every time, known by its SHA-256. Unpacked to a folder it runs by itself,
`python3 -I FOLDER start ...` (see `bats.deploy.host.verbs`), and leaves `PYTHONPATH` alone, which
the user's tasks would inherit. The compiled parts fit hosts with the same Python, processor and C
library; for other hosts the `plain` payload leaves them out, and the host's own pip adds them: the
files that `requirements.txt` lists by their hashes.
"""

import functools
import hashlib
import io
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bats.common.errors import BrokenInvariantError
from bats.common.records import dataclass

DISTRIBUTION: Final = "bats-scheduler"
OURS: Final = ("bats.common", "bats.worker")
OURS_FROM_DEPLOY: Final = (
    "__init__.py",
    "protocol.py",
    "host/__init__.py",
    "host/emulated_loss.py",
    "host/keeper.py",
    "host/roster.py",
    "host/verbs.py",
)
PURE: Final = ("structlog",)
COMPILED: Final = {"zmq": "pyzmq", "msgpack": "msgpack"}  # package: its distribution
NOT_NEEDED: Final = {"__pycache__", "tests", "green", "ssh", "cffi"}
SUFFIXES_NOT_NEEDED: Final = {".pyx", ".pxd", ".pxi", ".h", ".pyi", ".c"}
REQUIREMENTS: Final = "requirements.txt"  # for pip: the compiled packages, with hashes
MAIN: Final = (
    b'"""Starts what a host is asked for."""\n\nfrom bats.deploy.host.verbs import main\n\nmain()\n'
)
EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first a zip can hold: equal files give equal bytes


@dataclass(frozen=True, slots=True)
class Payload:
    data: bytes  # a zip
    sha256: str
    requirements: str  # what pip has to add there: a file in it; "" when the compiled parts fit

    @property
    def name(self) -> str:
        """The name of the folder it is unpacked to."""
        return f"worker-{self.sha256[:16]}"


@functools.cache
def build(*, plain: bool) -> Payload:
    """Takes some 0.3 s the first time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(_contents(plain=plain)):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    data = buffer.getvalue()
    return Payload(data, hashlib.sha256(data).hexdigest(), REQUIREMENTS if plain else "")


def compiled_for() -> tuple[str, str]:
    """The Python and the platform that the compiled parts of this installation fit."""
    return f"{sys.version_info.major}.{sys.version_info.minor}", sysconfig.get_platform()


def _contents(*, plain: bool) -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", MAIN
    yield (
        f"{DISTRIBUTION.replace('-', '_')}-{version(DISTRIBUTION)}.dist-info/METADATA",
        f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {version(DISTRIBUTION)}\n".encode(),
    )
    for package in (*OURS, *PURE):
        yield from _files(package)
    # without it, a `bats` installed on the host would be found instead of this one
    yield "bats/__init__.py", (_folder("bats") / "__init__.py").read_bytes()
    deploy = _folder("bats.deploy")
    yield REQUIREMENTS, (deploy / REQUIREMENTS).read_bytes()
    for name in OURS_FROM_DEPLOY:
        yield f"bats/deploy/{name}", (deploy / name).read_bytes()
    if plain:
        return
    for package, distribution in COMPILED.items():
        yield from _files(package)
        bundled = _folder(package).parent / f"{distribution}.libs"  # C libraries a wheel brings
        if bundled.is_dir():
            yield from _under(bundled, bundled.name)


def _files(package: str) -> Iterator[tuple[str, bytes]]:
    yield from _under(_folder(package), package.replace(".", "/"))


def _under(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if (
            path.is_file()
            and NOT_NEEDED.isdisjoint(inside.parts)
            and path.suffix not in SUFFIXES_NOT_NEEDED
        ):
            yield f"{name}/{inside.as_posix()}", path.read_bytes()


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise BrokenInvariantError(f"{package} is not installed, though BaTS needs it.")
    return Path(spec.submodule_search_locations[0])

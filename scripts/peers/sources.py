"""Where a task runner is had from; each into a folder of its own, whole or not at all."""

import fcntl
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

ROOT: Final = Path(__file__).resolve().parents[2]
CACHE: Final = Path(os.environ.get("BATS_PEERS") or ROOT / ".cache" / "peers")
VERSIONS: Final = Path(__file__).with_name("versions.txt")
DEBIAN: Final = "http://deb.debian.org/debian/pool/main"
PYTHON: Final = str(Path(sys.base_prefix, "bin", "python3"))  # not ours, which has our packages


class UnavailableError(Exception):
    """It cannot be had here; says why."""


class Source(Protocol):
    @property
    def version(self) -> str: ...

    @property
    def there(self) -> bool: ...

    def install(self) -> None:
        """Have it, unless it is there."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """What programs need to find it: PATH and the like, before that of the system."""
        ...


@dataclass(frozen=True)
class OfTheSystem:
    """What a Linux has anyway, or its user installs."""

    program: str

    @property
    def version(self) -> str:
        words = _said(self.program, "--version").partition("\n")[0].replace("(", " ").split()
        return next((word for word in words if word[0].isdigit()), "")

    @property
    def there(self) -> bool:
        return shutil.which(self.program) is not None

    def install(self) -> None:
        if not self.there:
            raise UnavailableError(f"there is no program {self.program} on this computer")

    @property
    def environment(self) -> Mapping[str, str]:
        return {}


@dataclass(frozen=True)
class OfPython:
    """A package of the Python Package Index; it and all it needs as `versions.txt` pins them."""

    package: str

    @property
    def version(self) -> str:
        return pinned(VERSIONS.read_text())[self.package]

    @property
    def folder(self) -> Path:
        pins = hashlib.sha256(VERSIONS.read_bytes()).hexdigest()[:8]
        tag = sys.implementation.cache_tag
        return CACHE / f"{self.package}-{self.version}-{tag}-{pins}"

    @property
    def there(self) -> bool:
        return self.folder.exists()

    def install(self) -> None:
        with _made(self.folder) as place:
            if place is not None:
                _pip("--target", place, "--constraint", VERSIONS, self.package)

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PATH": f"{self.folder}/bin", "PYTHONPATH": str(self.folder)}


@dataclass(frozen=True)
class OfDebian:
    """A package file of Debian's archive, unpacked: neither root nor Debian is needed."""

    path: str  # below the pool
    sha256: str
    pool: str = field(default=DEBIAN)

    @property
    def version(self) -> str:
        return Path(self.path).name.split("_")[1]

    @property
    def folder(self) -> Path:
        return CACHE / Path(self.path).stem

    @property
    def there(self) -> bool:
        return self.folder.exists()

    def install(self) -> None:
        if not self.path.endswith(("_all.deb", f"_{_architecture()}.deb")):
            raise UnavailableError(f"{self.path} is not for {platform.machine()}")
        with _made(self.folder) as place:
            if place is not None:
                unpack(self._fetched(), place)

    def _fetched(self) -> bytes:
        address = f"{self.pool}/{self.path}"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                content: bytes = answer.read()
        except OSError as error:
            raise UnavailableError(f"{address}: {error}") from error
        if (is_ := hashlib.sha256(content).hexdigest()) != self.sha256:
            raise UnavailableError(f"{address}: its hash is {is_[:12]}…, not {self.sha256[:12]}…")
        return content

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PATH": f"{self.folder}/usr/bin"}


def pinned(text: str) -> dict[str, str]:
    """Version by package, of lines as `name==1.2 ; marker`."""
    pins = (line.partition(";")[0].strip().partition("==") for line in text.splitlines())
    return {name: version for name, _, version in pins}


def unpack(package: bytes, folder: Path) -> None:
    """The files of a Debian package, which is an `ar` archive of tar archives."""
    at = len(b"!<arch>\n")
    while at < len(package):
        name, size = package[at : at + 16].decode().strip(), int(package[at + 48 : at + 58])
        at += 60
        if name.startswith("data.tar"):
            with tarfile.open(fileobj=io.BytesIO(package[at : at + size])) as files:
                files.extractall(folder, filter="data")
            return
        at += size + size % 2
    raise UnavailableError("the package has no data.tar")


@contextmanager
def _made(folder: Path) -> Iterator[Path | None]:
    """A folder to fill, which takes its final name at the end; None where it is there already.

    Whoever else wants it at the same time waits.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            yield None
            return
        place = Path(tempfile.mkdtemp(prefix="partly-", dir=folder.parent))
        try:
            yield place
            place.chmod(0o755)
            place.rename(folder)
        finally:
            shutil.rmtree(place, ignore_errors=True)  # unless it has its name by now


def _pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"pip: {done.stderr.strip()[-500:]}")


def _architecture() -> str:
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout

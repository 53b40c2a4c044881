"""CURVE key pairs, and the files that hold them, readable by their owner only.

A key is 40 characters of z85 text. An access file is JSON: where the master is, its public key,
and the pair that its holder is known by; `role` says what the master lets that pair do.
"""

import contextlib
import json
import os
import stat
import tempfile
from dataclasses import asdict, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from bats.common.errors import UsageError
from bats.common.records import dataclass

Role = Literal["client", "worker"]
ROLES: Final[tuple[Role, ...]] = ("client", "worker")
_KEY_LENGTH: Final = 40
_Z85: Final = {
    sign: value
    for value, sign in enumerate(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
}


@dataclass(frozen=True, slots=True)
class KeyPair:
    public: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """Addresses and keys with which a client or a hand-started worker reaches a master."""

    role: Role
    master: tuple[str, ...]  # addresses to try, "tcp://host:port"
    server_key: str
    public_key: str
    secret_key: str = field(repr=False)

    @property
    def pair(self) -> KeyPair:
        return KeyPair(self.public_key, self.secret_key)


def new_pair() -> KeyPair:
    import zmq

    if not zmq.has("curve"):
        raise UsageError(
            f"This libzmq {zmq.zmq_version()} has no CURVE encryption, which BaTS never goes"
            " without. Reinstall pyzmq from its wheels."
        )
    public, secret = zmq.curve_keypair()
    return KeyPair(public.decode(), secret.decode())


def is_key(text: Any) -> bool:
    """True if it is z85: groups of five characters, each a number of 32 bits."""
    if type(text) is not str or len(text) != _KEY_LENGTH or not set(text) <= _Z85.keys():
        return False
    return all(
        sum(_Z85[sign] * 85 ** (4 - k) for k, sign in enumerate(text[at : at + 5])) < 1 << 32
        for at in range(0, _KEY_LENGTH, 5)
    )


def keep_pair(path: Path) -> KeyPair:
    """The pair kept in this file; made at the first call, so that a restart keeps its identity."""
    try:
        held = read_private_json(path, "a key pair")
    except FileNotFoundError:
        return renew_pair(path)
    pair = KeyPair(held.get("public", ""), held.get("secret", ""))
    if not (is_key(pair.public) and is_key(pair.secret)):
        raise UsageError(f"{path} does not hold a key pair. Remove it to have a new one made.")
    return pair


def renew_pair(path: Path) -> KeyPair:
    """Another pair in this file."""
    pair = new_pair()
    write_private(path, json.dumps(asdict(pair)))
    return pair


def write_access(path: Path, access: Access) -> None:
    """Each start of a master does it, from its keys: a power cut may take it."""
    text = json.dumps({"version": 1, **asdict(access)}, indent=2) + "\n"
    write_private(path, text, synced=False)


def read_access(path: Path, role: Role | None = None) -> Access:
    """Raises `UsageError` when it is missing, readable by others, broken, or for another role."""
    try:
        held = read_private_json(path, "an access file")
    except FileNotFoundError:
        raise UsageError(
            f"There is no access file {path}."
            " `bats master` writes one where it runs; copy it from there."
        ) from None
    wanted = {"version", *(f.name for f in fields(Access))}
    if held.get("version") != 1 or set(held) != wanted:
        raise UsageError(
            f"{path} is not an access file of this version:"
            f" it has {_names(held)}, expected {_names(wanted)}."
        )
    master = held["master"]
    if not (
        isinstance(master, list)
        and master
        and all(isinstance(a, str) and "://" in a for a in master)
    ):
        raise UsageError(f"{path}: `master` must list addresses like tcp://host:port.")
    for name in ("server_key", "public_key", "secret_key"):
        if not is_key(held[name]):
            raise UsageError(
                f"{path}: `{name}` is not a key of {_KEY_LENGTH} characters of z85. "
                "Copy the file again from where the master runs."
            )
    if held["role"] not in ROLES:
        raise UsageError(f"{path}: `role` is {held['role']!r}, allowed are {', '.join(ROLES)}.")
    if role is not None and held["role"] != role:
        raise UsageError(f"{path} is for a {held['role']}, here one for a {role} is needed.")
    return Access(
        held["role"], tuple(master), held["server_key"], held["public_key"], held["secret_key"]
    )


def read_private_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object from a file that only its owner can read. Raises FileNotFoundError."""
    try:
        held = json.loads(read_private(path))
    except ValueError:
        held = None
    if not isinstance(held, dict):
        raise UsageError(f"{path} is not {what}: it does not hold a JSON object.")
    return held


def read_private(path: Path) -> str:
    """The text of a file with a secret, refused if others can read it. Raises FileNotFoundError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise UsageError(f"{path} is not a regular file.")
        if seen.st_mode & 0o077:
            raise UsageError(
                f"{path} holds a secret key and can be read by others"
                f" (mode {stat.S_IMODE(seen.st_mode):04o}). Run: chmod 600 '{path}'"
            )
        return file.read()


def write_private(path: Path, text: str, *, synced: bool = True) -> None:
    """All or nothing, mode 0600 from the first byte on; not at all if that is what it holds."""
    with contextlib.suppress(FileNotFoundError, UsageError):
        if read_private(path) == text:
            return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            if synced:
                os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink()
        raise


def _names(keys: Any) -> str:
    return ", ".join(sorted(map(str, keys))) or "nothing"

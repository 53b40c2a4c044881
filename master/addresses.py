"""Addresses: where a master listens, and under which names others reach it."""

import contextlib
import ipaddress
import socket
from collections.abc import Iterable, Sequence
from typing import Final

from bats.common.offering import Offering

HERE: Final = "127.0.0.1"
EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 (the link is encrypted, and admits only known keys)


def bind_for(offerings: Iterable[Offering]) -> str:
    """The address at which these offerings' machines reach a master; ssh leads its own way."""
    near = (
        one.backend in {"local", "manual"}
        or (one.backend == "ssh" and one.settings.get("tunnel", "auto") is not False)
        for one in offerings
    )
    return HERE if all(near) else EVERYWHERE


def addresses(bind: str, reach: Sequence[str], port: int) -> tuple[str, ...]:
    """Addresses under which this computer's master may be reached, the likeliest first."""
    if reach:
        return tuple(_address(host, port) for host in reach)
    if not _is_any(bind):
        return (_address(bind, port),)
    return tuple(_address(host, port) for host in [*_own_addresses(), socket.gethostname()])


def _own_addresses() -> list[str]:
    """The address that the way out uses, then loopback. No packet is sent."""
    found = []
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        found.append(str(probe.getsockname()[0]))
    return [*found, "127.0.0.1"]


def _is_any(bind: str) -> bool:
    if bind == "*":
        return True
    try:
        return ipaddress.ip_address(bind.strip("[]")).is_unspecified
    except ValueError:
        return False


def _address(host: str, port: int) -> str:
    return f"tcp://[{host}]:{port}" if ":" in host.strip("[]") else f"tcp://{host}:{port}"

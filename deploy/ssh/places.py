"""Machines by their hosts, and the ports of tunnels: kept in a file for the next master."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from bats.common.messages import MachineId


class Places:
    """A machine takes its place before it is asked for, so that none is ever forgotten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._hosts: dict[MachineId, str] = {}
        self._gone: set[MachineId] = set()
        self._tunnels: dict[str, tuple[str, int]] = {}
        if path.exists():
            kept = json.loads(path.read_text())
            self._hosts = {MachineId(int(m)): host for m, host in kept["hosts"].items()}
            self._gone = {MachineId(m) for m in kept["gone"]}
            self._tunnels = {host: (to, port) for host, (to, port) in kept["tunnels"].items()}

    def host(self, machine: MachineId) -> str | None:
        return self._hosts.get(machine)

    def hosts(self) -> set[str]:
        """Hosts with machines that are not known to be gone."""
        return {where for machine, where in self._hosts.items() if machine not in self._gone}

    def on(self, host: str) -> list[MachineId]:
        """The machines there that are not known to be gone."""
        return [m for m, where in self._hosts.items() if where == host and m not in self._gone]

    def tunnels(self) -> dict[str, tuple[str, int]]:
        """Tunnels by their hosts: where each leads, and its port at the far end."""
        return dict(self._tunnels)

    def take(self, machine: MachineId, host: str) -> None:
        self._hosts[machine] = host
        self._gone.discard(machine)
        self._keep()

    def drop(self, machines: Iterable[MachineId]) -> None:
        """Drop machines that were not asked for after all."""
        for machine in machines:
            del self._hosts[machine]
        self._keep()

    def free(self, machines: Iterable[MachineId]) -> None:
        """Free the places of machines that are gone; where they were is still known."""
        left = {m for m in machines if m in self._hosts} - self._gone
        if left:
            self._gone |= left
            self._keep()

    def tunnel(self, host: str, target: str, port: int) -> None:
        self._tunnels[host] = target, port
        self._keep()

    def _keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        kept = {"hosts": self._hosts, "gone": sorted(self._gone), "tunnels": self._tunnels}
        draft.write_text(json.dumps(kept))
        draft.replace(self._path)

"""Routes from the workers of each host to the master: its own addresses, or a tunnel."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from bats.deploy.protocol import RefusedError
from bats.deploy.ssh.far_host import Host
from bats.deploy.ssh.places import Places
from bats.deploy.ssh.ssh_program import Client
from bats.deploy.ssh.tunnel import Tunnel


class Ways:
    def __init__(self, wanted: bool | Literal["auto"], client: Client, places: Places) -> None:
        self._wanted = wanted
        self._client = client
        self._places = places
        self._tunnels: dict[str, Tunnel] = {}
        self._direct: dict[str, bool] = {}  # whether a host reaches the master by itself
        self._digging = asyncio.Lock()

    async def to_master(self, host: Host, addresses: tuple[str, ...]) -> tuple[str, ...]:
        """The addresses that are good on that host."""
        if self._wanted is False:
            return addresses
        bare = [address.removeprefix("tcp://") for address in addresses]
        if self._wanted == "auto" and host.name not in self._tunnels:
            if host.name not in self._direct:
                self._direct[host.name] = await host.reaches(bare)
            if self._direct[host.name]:
                return addresses
        return (f"tcp://127.0.0.1:{await self._port(host.name, bare)}",)

    async def reopen(self) -> None:
        """Open the tunnels of an earlier life: workers behind them wait at the old ports."""
        async with self._digging:
            for name, (target, port) in self._places.tunnels().items():
                if name not in self._tunnels and self._places.on(name):
                    self._tunnels[name] = Tunnel(self._client, name, target, port)
                    self._tunnels[name].keep_open()

    async def close(self) -> None:
        await asyncio.gather(*(tunnel.close() for tunnel in self._tunnels.values()))
        self._tunnels.clear()

    async def _port(self, name: str, addresses: Sequence[str]) -> int:
        """The port of the host's tunnel; one that leads to an earlier master is led to this one."""
        async with self._digging:
            tunnel = self._tunnels.get(name)
            if tunnel is None or tunnel.target not in addresses:
                if tunnel:
                    await tunnel.close()
                target = await _answering(addresses)
                tunnel = Tunnel(self._client, name, target, tunnel.port if tunnel else 0)
                await tunnel.open()
                self._tunnels[name] = tunnel
                self._places.tunnel(name, target, tunnel.port)
            return tunnel.port


async def _answering(addresses: Sequence[str]) -> str:
    """The first of the master's own addresses that can be reached from here."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except OSError:
            continue
        writer.close()
        return address
    raise RefusedError(
        f"The master cannot be reached from its own computer at {', '.join(addresses)}."
    )

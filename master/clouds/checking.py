"""Each offering of a clouds file tried for real: what came of it, the times it took, the cost."""

import asyncio
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bats.common.billing import charge
from bats.common.errors import BatsError
from bats.common.money import NOTHING, Money
from bats.common.offering import MANUAL, Offering
from bats.common.records import dataclass
from bats.deploy import trial
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import Site
from bats.deploy.registry import backend
from bats.deploy.trial import Trial
from bats.master.addresses import addresses, bind_for


@dataclass(frozen=True, slots=True)
class Checked:
    name: str
    backend: str
    ok: bool
    said: str  # the back end's own sentence, or what went wrong
    trial: Trial | None = None
    cost: Money | None = None


async def check(
    offerings: Iterable[Offering],
    state: Path,
    *,
    start: bool,
    patience_seconds: float,
    note: Callable[[str], None] = lambda _: None,
) -> list[Checked]:
    """All at once. `start`: one machine of each, which is paid for; else only asked."""
    mark = f"check-{secrets.token_hex(4)}"
    folder = _folder(state, mark)
    site = site_of(mark, folder)

    async def one(offering: Offering) -> Checked:
        told = await _check(offering, site, patience_seconds if start else None)
        note(f"{'tried' if start else 'asked'} {offering.name}")
        return told

    try:
        return list(await asyncio.gather(*map(one, offerings)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def site_of(mark: str, folder: Path) -> Site:
    return Site(mark, str(folder), (sys.executable, "-m", "bats.worker"))


def _folder(state: Path, mark: str) -> Path:
    """A folder in the state folder: as far as nodes see that one, they see this one."""
    folder = state.expanduser().absolute() / mark
    folder.mkdir(mode=0o700, parents=True)
    return folder


async def _check(offering: Offering, site: Site, patience_seconds: float | None) -> Checked:
    name, kind = str(offering.name), offering.backend
    if kind == MANUAL:
        return Checked(name, kind, True, "its workers are started by hand")
    try:
        tried = backend(offering, site)
        try:
            said = (await tried.check()).rstrip(".")
            if patience_seconds is None:
                return Checked(name, kind, True, said)
            bind = bind_for([offering])
            async with Endpoint(listen=bind) as master:
                port = int(master.address.rpartition(":")[2])
                where = trial.at(*addresses(bind, (), port))
                found = await trial.attempt(tried, master, where, patience_seconds)
        finally:
            await tried.close()
    except BatsError as error:
        return Checked(name, kind, False, str(error))
    charged = found.charged_seconds
    cost = NOTHING if charged is None else charge(offering, charged)
    return Checked(name, kind, True, said, found, cost)

"""A clouds file, read and checked: each table of it is an offering."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bats.common.errors import BatsError, UsageError
from bats.common.money import Money
from bats.common.offering import ClusterName, Offering
from bats.deploy import backend_table
from bats.deploy.registry import BACKENDS
from bats.master.clouds.clouds_in_python import Clouds
from bats.master.clouds.clouds_model import CloudsFile, OfferingTable
from bats.master.clouds.clouds_pools import read_pools
from bats.master.model_checks import check
from bats.master.userfile import Document, read_document, sentence

# Telling a machine to stop takes a while; these shares of an ATU are given up so that the next
# one is not entered. A process of this computer is gone soon.
_BOUNDARY_SECONDS: Final = 60.0
_BOUNDARY_SHARE: Final = 0.05
_LOCAL_BOUNDARY_SECONDS: Final = 10.0
_LEAST_BOUNDARY_SECONDS: Final = 3.0
_LEAST_LOCAL_BOUNDARY_SECONDS: Final = 0.5  # a renewal travels so long on a busy computer

_LEASES: Final[Mapping[str, float]] = {"local": 10.0, "ec2": 300.0}
_LEASE_SECONDS: Final = 60.0
"""Long enough to start, to join, and for a network to be away; EC2 sets a machine up meanwhile."""


def load(path: str | Path) -> Clouds:
    """The clouds of a file. Raises UsageError with one sentence for whatever is wrong in it."""
    document = read_document(path, "the clouds file")
    file = check(CloudsFile, document)
    offerings: list[Offering] = []
    for at, table in enumerate(file.offering):
        if any(table.name == other.name for other in offerings):
            raise UsageError(
                f"{document.where(['offering', at, 'name'])}: another offering is called "
                f"{table.name} too; give each a name of its own."
            )
        offerings.append(_offering(table, at, document))
    pools = read_pools(file, offerings, document)
    return Clouds(tuple(offerings), file.currency, str(path), pools)


def price_of_atu(price: Money, per_seconds: float, atu_seconds: float) -> Money:
    """The price of one ATU: exact where it can be, else rounded up to the smallest unit."""
    numerator, denominator = atu_seconds.as_integer_ratio()
    per_numerator, per_denominator = per_seconds.as_integer_ratio()
    return Money(-(-price * numerator * per_denominator // (denominator * per_numerator)))


def _offering(table: OfferingTable, at: int, document: Document) -> Offering:
    def wrong(key: str, said: str) -> UsageError:
        return UsageError(sentence(document.where(["offering", at, key]), said))

    if {"cpus", "slots"} <= table.model_fields_set:
        raise wrong("slots", "says the same as `cpus`; leave it out")
    local = table.backend == "local"
    if local and table.gpus and (table.max or 1) > 1:
        raise wrong("gpus", "the GPUs of this computer are those of one machine; leave `max` out")
    boundary = table.boundary
    if boundary is None:
        most = _LOCAL_BOUNDARY_SECONDS if local else _BOUNDARY_SECONDS
        least = _LEAST_LOCAL_BOUNDARY_SECONDS if local else _LEAST_BOUNDARY_SECONDS
        boundary = max(least, min(most, _BOUNDARY_SHARE * table.atu))
    if boundary >= max(table.atu, _BOUNDARY_SECONDS):
        raise wrong("boundary", f"should be less than the ATU, which lasts {table.atu:g} s")
    lease = table.lease
    if lease is None:
        lease = _LEASES.get(table.backend, _LEASE_SECONDS)
    given = _beside(table, Path(document.path).absolute().parent)
    offering = Offering(
        name=ClusterName(table.name),
        price=price_of_atu(table.price, table.per, table.atu),
        atu_seconds=table.atu,
        max_machines=table.max or 1,
        slots=table.cpus if "cpus" in table.model_fields_set else table.slots,
        memory_bytes=table.memory,
        gpus=table.gpus,
        minimum_seconds=table.minimum,
        boundary_seconds=boundary,
        lease_seconds=lease,
        backend=table.backend,
        settings=given,
        priced=table.priced,
        reliable=_is_reliable(table),
    )
    try:
        _check_settings(offering)
    except BatsError as error:
        said = str(error).removeprefix(f"offering {table.name}, back end {table.backend}: ")
        raise wrong(table.backend, said) from None
    if table.max is None and not local:
        raise UsageError(
            f"{document.where(['offering', at])}: `max` is missing; say how many machines of this "
            "kind may run at the same time."
        )
    return offering


def _is_reliable(table: OfferingTable) -> bool:
    """Spot instances are not, unless the file says otherwise."""
    if table.reliable is None:
        return not table.settings.get("spot")
    return table.reliable


def _beside(table: OfferingTable, folder: Path) -> dict[str, Any]:
    """The back end's settings; a hosts file is looked for beside the clouds file."""
    given = dict(table.settings)
    hosts = given.get("hosts_file")
    if table.backend == "ssh" and isinstance(hosts, str) and hosts:
        given["hosts_file"] = str(folder / Path(hosts).expanduser())
    return given


def _check_settings(offering: Offering) -> None:
    """Check settings by the back end's own table, so that a slip is told before anything starts."""
    target = BACKENDS.get(offering.backend)
    if target is None:
        return  # another package's: it checks its own when it is made
    try:
        module = import_module(target.partition(":")[0])
    except ImportError:
        return  # its SDK is not installed: said when the offering is checked or used
    backend_table.read(module.Settings, offering)

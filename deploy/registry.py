"""Back ends by name: ours, imported only when used, and those of other packages."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final, cast

from bats.common.errors import UsageError
from bats.common.offering import Offering
from bats.deploy.protocol import Backend, Factory, RefusedError, Site

BACKENDS: Final[Mapping[str, str]] = {
    "local": "bats.deploy.local:Local",
    "ssh": "bats.deploy.ssh.ssh:Ssh",
    "slurm": "bats.deploy.batch.slurm:Slurm",
    "sge": "bats.deploy.batch.sge:Sge",
    "ec2": "bats.deploy.ec2.ec2:Ec2",
}
GROUP: Final = "bats.backends"
EXTRAS: Final = {"ec2": "ec2"}  # the optional part of the distribution that brings the SDK


def names() -> list[str]:
    """Every back end that an offering may name here."""
    return [*BACKENDS, *sorted({found.name for found in entry_points(group=GROUP)} - {*BACKENDS})]


def backend(offering: Offering, site: Site) -> Backend:
    """The back end of an offering; UsageError when there is none or a setting is wrong."""
    return _factory(offering)(offering, site)


def _factory(offering: Offering) -> Factory:
    name = offering.backend
    target = BACKENDS.get(name)
    found = entry_points(group=GROUP, name=name)
    if target is None and not found:
        raise UsageError(
            f"offering {offering.name}: there is no back end `{name}`; "
            f"known are {', '.join(names())}."
        )
    try:
        if target is None:
            return cast("Factory", next(iter(found)).load())
        return cast("Factory", EntryPoint(name, target, GROUP).load())
    except ImportError as error:
        extra = EXTRAS.get(name)
        cure = f"install `bats-scheduler[{extra}]`" if extra else "mend or remove its package"
        raise RefusedError(
            f"offering {offering.name}: the back end `{name}` cannot be loaded ({error}); {cure}."
        ) from error

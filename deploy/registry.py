"""Back ends by name: ours, imported only when used, and those of other packages."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from bats.common.errors import UsageError
from bats.common.offering import Offering
from bats.deploy.protocol import Backend, Factory, RefusedError, Site

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    return [*BACKENDS, *sorted({found.name for found in _of_others()} - {*BACKENDS})]


def is_known(name: str) -> bool:
    return name in BACKENDS or name in names()


def backend(offering: Offering, site: Site) -> Backend:
    """The back end of an offering; UsageError when there is none or a setting is wrong."""
    return _factory(offering)(offering, site)


def _factory(offering: Offering) -> Factory:
    name = offering.backend
    if not is_known(name):
        raise UsageError(
            f"offering {offering.name}: there is no back end `{name}`; "
            f"known are {', '.join(names())}."
        )
    try:
        if target := BACKENDS.get(name):
            module, _, factory = target.partition(":")
            return cast("Factory", getattr(import_module(module), factory))
        return cast("Factory", next(one for one in _of_others() if one.name == name).load())
    except ImportError as error:
        extra = EXTRAS.get(name)
        cure = f"install `bats-scheduler[{extra}]`" if extra else "mend or remove its package"
        raise RefusedError(
            f"offering {offering.name}: the back end `{name}` cannot be loaded ({error}); {cure}."
        ) from error


def _of_others() -> "Iterable[EntryPoint]":
    from importlib.metadata import entry_points  # which takes long to load, and longer to look

    return entry_points(group=GROUP)

"""A clouds file to start from, with the back ends found on this computer and a word on each key."""

import re
from typing import Final

from bats.master.clouds.discovery import Found, Queue

_MOST_MACHINES: Final = 32  # of one kind, to begin with
_MOST_HOSTS: Final = 8

_HEAD: Final = """\
# What machines can be had, and at what price: the clouds file of BaTS.
#
# Looked for at $BATS_CLOUDS, ./bats-clouds.toml and ~/.config/bats/clouds.toml.
# Try each offering for real with:  bats clouds check
#
# Keys of every offering:
#   price, per   what one machine costs, and for how long: "hour" (if not said), "minute", "90s"
#   atu          what is paid for as a whole when it is entered: "hour" (if not said), "second", ...
#   minimum      charged even to a machine that stops earlier
#   max          how many machines of this kind may run at the same time
#   cpus         of a machine: each task takes one, if its sweep does not say otherwise
#   memory, gpus what else a machine has: "64G", 4; for sweeps that ask for it
#   boundary     how long before the end of an ATU a machine is told to stop
#   lease        how long a machine may live without hearing from its master, at least

currency = "{currency}"
"""
_HERE: Final = """
# Processes of this computer.
[[offering]]
name = "here"
backend = "local"
price = 0
cpus = {cores}
"""
_SLURM: Final = """
# Jobs in Slurm's partition {queue}: a core each. Waiting in the queue costs nothing.
[[offering]]
name = "{name}"
price = 1
atu = "minute"
max = {most}
[offering.slurm]
partition = "{queue}"
# account = "project"
# time_limit = "4:00:00"
# directives = ["#SBATCH --constraint=fast"]
"""
_SGE: Final = """
# Jobs in Grid Engine's queue {queue}: a slot each. Waiting in the queue costs nothing.
[[offering]]
name = "{name}"
price = 1
atu = "minute"
max = {most}
[offering.sge]
queue = "{queue}"
# time_limit = "4:00:00"
# directives = ["#$ -l fast"]
"""
_SSH: Final = """
# Hosts that ssh reaches without a password; node[01-32] stands for 32 of them.
[[offering]]
name = "hosts"
price = 0
max = {most}
[offering.ssh]
hosts = [{hosts}]
"""
_EC2: Final = """
# Amazon's machines. Fill in image and bucket; `bats clouds prices --write` looks the price up.
[[offering]]
name = "t3.medium"
price = "0.0416"
atu = "second"
minimum = "60s"
max = 4
cpus = 2
[offering.ec2]
instance_type = "t3.medium"
image = "ami-..."
bucket = "..." # of S3, that you may write to: instances get the worker from there
region = "{region}"
# subnet = "subnet-..."
# key_name = "..."
# spot = true
"""


def example(found: Found) -> str:
    """The file's text. What is not commented out works as it stands."""
    batch = bool(found.partitions or found.queues)
    parts = [_HEAD.format(currency="core-hours" if batch else "$")]
    here = _HERE.format(cores=found.cores)
    parts.append(_off(here, "a batch system's login node is no place for them") if batch else here)
    for template, kind, some in (
        (_SLURM, "slurm", found.partitions),
        (_SGE, "sge", found.queues),
    ):
        for at, queue in enumerate(_in_order(some)):
            text = template.format(
                name=_name(kind, queue, some),
                queue=queue.name,
                most=max(1, min(_MOST_MACHINES, queue.cores)),
            )
            parts.append(text if at == 0 else _off(text, "another one"))
    if hosts := [host for host in found.hosts if _writable(host)][:_MOST_HOSTS]:
        named = ", ".join(f'"{host}"' for host in hosts)
        parts.append(_off(_SSH.format(hosts=named, most=len(hosts)), "found in your ssh config"))
    if found.aws:
        region = found.region if _writable(found.region) and found.region else "us-east-1"
        parts.append(_off(_EC2.format(region=region), "it costs money"))
    return "".join(parts)


def _in_order(some: tuple[Queue, ...]) -> list[Queue]:
    """The default one first, then the larger ones."""
    usable = [queue for queue in some if _writable(queue.name)]
    return sorted(usable, key=lambda queue: (not queue.default, -queue.cores, queue.name))


def _writable(name: str) -> bool:
    """True if a text can stand between quotes and in a comment."""
    return name.isprintable() and not set(name) & {'"', "\\"}


def _name(kind: str, queue: Queue, some: tuple[Queue, ...]) -> str:
    fit = re.sub(r"[^A-Za-z0-9_.+-]", "-", queue.name)[:30]
    return kind if len(some) == 1 else f"{kind}-{fit}"


def _off(text: str, why: str) -> str:
    """Commented out, with the reason; taking the `# ` away puts it in."""
    first, *rest = text.strip().splitlines()
    lines = [f"{first} Off: {why}.", *(f"# {line}" for line in rest)]
    return "\n" + "\n".join(lines) + "\n"

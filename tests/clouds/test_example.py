"""The clouds file that `bats clouds init` writes is right as it stands, and with its hints in."""

import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.money import NOTHING, money
from bats.deploy.registry import BACKENDS
from bats.master.clouds.clouds_file import load
from bats.master.clouds.clouds_in_python import Clouds
from bats.master.clouds.clouds_model import OfferingTable
from bats.master.clouds.discovery import Found, Queue, hosts, look_around, partitions, queues
from bats.master.clouds.example import example

SINFO = """\
debug*|8/24/0/32
long|0/64/0/64
long|4/4/0/8
"""
QSTAT = """\
CLUSTER QUEUE                   CQLOAD   USED    RES  AVAIL  TOTAL aoACDS  cdsuE
--------------------------------------------------------------------------------
all.q                             0.01      0      0      8      8      0      0
"""
SSH = """\
# mine
Host n1 n2  *.cluster !no
    User me
host gateway
Match all
"""
FULL = Found(
    cores=4,
    partitions=partitions(SINFO),
    queues=queues(QSTAT),
    hosts=hosts(SSH),
    aws=True,
    region="eu-west-1",
)


def loaded(text: str, folder: Path) -> Clouds:
    path = folder / "clouds.toml"
    path.write_text(text)
    return load(path)


def test_what_sinfo_and_qstat_and_the_ssh_config_say():
    assert FULL.partitions == (Queue("debug", 32, default=True), Queue("long", 72))
    assert FULL.queues == (Queue("all.q", 8),)
    assert FULL.hosts == ("n1", "n2", "gateway")


def test_on_an_ordinary_computer_it_offers_this_computer_for_nothing(tmp_path: Path):
    found = loaded(example(Found(cores=4)), tmp_path)
    (here,) = found.offerings
    assert (here.name, here.backend, here.price, here.slots) == ("here", "local", NOTHING, 4)
    assert found.currency == "$"


def test_where_there_is_slurm_it_offers_the_default_partition_in_core_hours(tmp_path: Path):
    found = loaded(example(Found(cores=4, partitions=FULL.partitions)), tmp_path)
    (debug,) = found.offerings
    assert (debug.name, debug.backend, debug.max_machines) == ("slurm-debug", "slurm", 32)
    assert debug.settings == {"partition": "debug"}
    assert (debug.price, found.currency) == (-(-money(1) // 60), "core-hours")


def test_everything_that_is_commented_out_can_be_put_in(tmp_path: Path):
    text = example(FULL)
    everything = re.sub(r"^# (\[|[a-z_]+ = )", r"\1", text, flags=re.MULTILINE)
    assert [one.name for one in loaded(everything, tmp_path).offerings] == [
        "here", "slurm-debug", "slurm-long", "sge", "hosts", "t3.medium",
    ]  # fmt: skip


@given(st.lists(st.tuples(st.text(max_size=12), st.integers(0, 10**6)), max_size=3, unique=True))
def test_whatever_partitions_are_called_the_file_can_be_read(
    tmp_path_factory: pytest.TempPathFactory, some: list[tuple[str, int]]
):
    made = partitions("\n".join(f"{name}|0/0/0/{cores}" for name, cores in some))
    text = example(Found(partitions=made))
    if "offering" in re.sub(r"^#.*$", "", text, flags=re.MULTILINE):
        loaded(text, tmp_path_factory.getbasetemp())


def test_looking_around_in_an_empty_home_finds_this_computer(tmp_path: Path):
    found = look_around({"HOME": str(tmp_path)})
    assert found.cores >= 1
    assert (found.hosts, found.aws) == ((), False)


def test_looking_around_finds_hosts_and_credentials(tmp_path: Path):
    for name, text in ((".ssh/config", SSH), (".aws/credentials", "[default]")):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text(text)
    found = look_around({"HOME": str(tmp_path), "AWS_REGION": "eu-west-1"})
    assert (found.hosts, found.aws, found.region) == (("n1", "n2", "gateway"), True, "eu-west-1")


@pytest.mark.checkout
def test_the_files_on_the_page_about_clouds_are_right(tmp_path: Path):
    page = Path(__file__).parents[2] / "master" / "clouds" / "README.md"
    example, pool = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    names = [one.name for one in loaded(example, tmp_path).offerings]
    assert names == ["m1.small", "cluster", "desk"]
    assert [one.name for one in loaded(pool, tmp_path).pools] == ["lab"]


@pytest.mark.checkout
def test_the_page_about_clouds_names_every_key():
    page = (Path(__file__).parents[2] / "master" / "clouds" / "README.md").read_text()
    for key in OfferingTable.model_fields:
        assert key == "settings" or f"| `{key}` |" in page


@pytest.mark.checkout
def test_the_page_about_clouds_names_keys_that_back_ends_have():
    page = (Path(__file__).parents[2] / "master" / "clouds" / "README.md").read_text()
    for name, target in BACKENDS.items():
        (row,) = re.findall(rf"^\| `{name}` \| (.*?) \|", page, re.MULTILINE)
        module = import_module(target.partition(":")[0])
        known = {field.name for field in fields(module.Settings)}
        assert set(re.findall(r"`(\w+)`", row)) <= known

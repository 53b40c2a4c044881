"""A clouds file says exactly what a machine costs, and is found where one expects it."""

import os
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bats.common.errors import UsageError
from bats.common.money import NOTHING, Money, money
from bats.master.clouds.clouds_file import load, price_of_atu
from bats.master.clouds.clouds_reading import clouds, find_clouds, this_computer

FULL = """
currency = "core-hours"

[[offering]]
name = "m1.small"
price = 0.08
max = 32
slots = 2
atu = "1h"
minimum = "10m"
boundary = "2m"
[offering.ec2]
instance_type = "m1.small"
image = "ami-1"
bucket = "wheels"

[[offering]]
name = "desk"
backend = "local"
price = "0.36"
per = "hour"
atu = "second"
[offering.local]
speed = 0.5
"""


@pytest.fixture(autouse=True)
def _in_an_empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BATS_CLOUDS", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def written(text: str, path: str = "clouds.toml") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_file_with_two_offerings():
    found = load(written(FULL))
    small, desk = found.offerings
    assert found.currency == "core-hours"
    assert (small.name, small.backend, small.price) == ("m1.small", "ec2", money("0.08"))
    assert (small.max_machines, small.slots) == (32, 2)
    assert (small.atu_seconds, small.minimum_seconds, small.boundary_seconds) == (3600, 600, 120)
    assert small.settings == {"instance_type": "m1.small", "image": "ami-1", "bucket": "wheels"}
    assert (desk.backend, desk.price, desk.atu_seconds) == ("local", money("0.0001"), 1.0)
    assert desk.settings == {"speed": 0.5}


@given(st.integers(0, 10**15), st.integers(1, 10**6), st.integers(1, 10**6))
def test_the_price_of_an_atu_is_never_below_the_exact_one_nor_a_unit_above(
    price: int, per: int, atu: int
):
    exact = Fraction(price) * atu / per
    assert 0 <= price_of_atu(Money(price), float(per), float(atu)) - exact < 1


def test_a_machine_is_told_to_stop_in_time_for_the_end_of_its_atu():
    text = '[[offering]]\nname = "a"\nprice = 1\nmax = 1\natu = "{}"\n[offering.{}]\n{}'
    hosts = 'hosts = "n1"'
    assert load(written(text.format("hour", "ssh", hosts))).offerings[0].boundary_seconds == 60
    assert load(written(text.format("minute", "ssh", hosts))).offerings[0].boundary_seconds == 3
    assert load(written(text.format("hour", "local", ""))).offerings[0].boundary_seconds == 10


def test_a_hosts_file_is_looked_for_beside_the_clouds_file():
    written("n1\nn2\n", "etc/hosts.txt")
    text = '[[offering]]\nname = "a"\nprice = 0\nmax = 2\n[offering.ssh]\nhosts_file = "hosts.txt"'
    (offering,) = load(written(text, "etc/clouds.toml")).offerings
    assert offering.settings["hosts_file"] == str(Path("etc/hosts.txt").absolute())


def test_without_a_file_this_computer_is_used_for_nothing():
    assert find_clouds() is None
    (here,) = clouds().offerings
    assert clouds() == this_computer()
    assert (here.backend, here.price, here.max_machines) == ("local", NOTHING, 1)
    assert here.slots == len(os.sched_getaffinity(0))


def test_the_file_is_the_one_named_or_of_this_folder_or_the_users(
    monkeypatch: pytest.MonkeyPatch,
):
    one = '[[offering]]\nname = "{}"\nbackend = "local"\nprice = 0'

    def found() -> str:
        return clouds().offerings[0].name

    written(one.format("user"), "home/.config/bats/clouds.toml")
    assert found() == "user"
    written(one.format("folder"), "bats-clouds.toml")
    assert found() == "folder"
    monkeypatch.setenv("BATS_CLOUDS", str(written(one.format("variable"), "x.toml")))
    assert found() == "variable"
    assert clouds(written(one.format("argument"), "y.toml")).offerings[0].name == "argument"


def test_a_file_that_the_environment_names_must_be_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BATS_CLOUDS", "/no/such.toml")
    with pytest.raises(UsageError, match=r"/no/such\.toml is not there"):
        clouds()


def test_spot_instances_are_unreliable_by_themselves_and_others_where_the_file_says_so(
    tmp_path: Path,
):
    text = """
[[offering]]
name = "spot"
price = 1
max = 2
[offering.ec2]
instance_type = "m1.small"
image = "ami-0123456789abcdef0"
bucket = "b"
spot = true
[[offering]]
name = "preemptible"
price = 0
max = 2
reliable = false
[offering.slurm]
[[offering]]
name = "desk"
backend = "local"
price = 0
"""
    path = tmp_path / "clouds.toml"
    path.write_text(text)
    assert [o.reliable for o in load(path).offerings] == [False, False, True]

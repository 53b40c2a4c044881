"""Prices that were looked up are written into the clouds file with their date, and nothing else."""

from datetime import date
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.money import money
from bats.deploy.protocol import Price
from bats.master.clouds.clouds_file import load
from bats.master.clouds.clouds_in_python import Clouds
from bats.master.clouds.pricing import Looked, write

FILE = """\
# mine
currency = "$"
[[offering]]
name = "here"
backend = "local"
price = 0 # nothing

[[offering]]
name = "cloud"
  price = 0.05   # a guess
per = "minute"
max = 4
atu = "second"
[offering.ssh]
hosts = ["h1"]
"""
FOUND = Price(money("0.0416"), date(2026, 3, 1), "Price List")


def looked(clouds: Clouds, price: Price = FOUND) -> list[Looked]:
    return [Looked(one, price) for one in clouds.offerings if one.name == "cloud"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "c.toml").write_text(FILE)
    return tmp_path / "c.toml"


def test_a_price_is_written_with_its_date_and_all_else_stays(path: Path) -> None:
    assert write(str(path), looked(load(path))) == ["cloud"]
    expected = FILE.replace(
        "  price = 0.05   # a guess\n",
        '  price = "0.000693334"   # a guess\npriced = "2026-03-01, Price List"\n',
    )
    assert path.read_text() == expected
    assert load(path).offerings[1].priced == "2026-03-01, Price List"


def test_a_later_price_takes_the_place_of_the_earlier(path: Path) -> None:
    write(str(path), looked(load(path)))
    later = Price(money("0.6"), date(2026, 4, 1), "spot price history, us-east-1a")
    write(str(path), looked(load(path), later))
    text = path.read_text()
    assert text.count("priced") == 1
    assert 'price = "0.01" ' in text
    assert "2026-04-01, spot price history" in text


def test_dollars_are_not_written_into_a_file_of_core_hours(path: Path) -> None:
    path.write_text(FILE.replace('"$"', '"core-hours"'))
    with pytest.raises(UsageError, match="prices are in core-hours"):
        write(str(path), looked(load(path)))
    assert "priced" not in path.read_text()


def test_the_hour_is_what_is_compared(path: Path) -> None:
    (one,) = looked(load(path))
    assert one.hourly == pytest.approx(money(3), rel=1e-6)

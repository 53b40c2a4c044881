"""The master's settings file: its options, caps and weights; options that are given win."""

from pathlib import Path

import pytest
from helpers.user import User

from bats.common.errors import UsageError
from bats.common.money import money
from bats.master.api.requests import SetCap
from bats.master.cli.master_file import MasterFile, settings

FULL = """
sharing = "priority"
web = 0
task_files = "2G"
reach = ["head.example.org"]
[weights]
ann = 2
[[cap]]
amount = 5
per = "day"
zone = "Europe/Berlin"
[[cap]]
amount = "0.50"
user = "ann"
"""


def test_a_file_with_everything_in_it(tmp_path: Path) -> None:
    (tmp_path / "master.toml").write_text(FULL)
    found = settings(None, tmp_path)
    assert (found.sharing, found.web, found.task_files) == ("priority", 0, 2 << 30)
    assert (found.reach, found.weights) == (["head.example.org"], {"ann": 2})
    assert [one.request() for one in found.cap] == [
        SetCap(amount=money("5"), period="day", zone="Europe/Berlin"),
        SetCap(amount=money("0.50"), user="ann"),
    ]


def test_without_a_file_there_is_nothing_to_say_and_one_that_is_named_must_be_there(
    tmp_path: Path,
) -> None:
    assert settings(None, tmp_path) == MasterFile.model_validate({})
    with pytest.raises(UsageError, match="is not there"):
        settings(tmp_path / "other.toml", tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shaering = 'fair'", "line 1: `shaering`: unknown key; did you mean `sharing`?"),
        ("[cap]\nper = 'day'", "amount"),
        ("[cap]\namount = 1\nper = 'year'", "per"),
        ("[weights]\nann = 0", "line 2: `weights.ann`: should be 1 or more, not 0."),
        ("web = 'yes'", "line 1: `web`: should be a whole number, not 'yes'."),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "master.toml").write_text(text)
    with pytest.raises(UsageError) as refused:
        settings(None, tmp_path)
    assert said in str(refused.value)


def test_caps_of_the_file_stand_from_the_start_and_others_stay(tmp_path: Path) -> None:
    user = User(tmp_path)
    with user.master():
        user.bats("cap", "set", "7", "--per", "day")
        user.bats("cap", "set", "9", "--user", "bob")
    (user.state / "master.toml").write_text(FULL.replace("web = 0", "").replace("reach =", "# "))
    with user.master():
        caps = {(one["user"], one["period"]): one for one in user.facts("cap")["caps"]}
        assert {key: one["amount"] for key, one in caps.items()} == {
            ("", "day"): "5",
            ("ann", "ever"): "0.5",
            ("bob", "ever"): "9",
        }
        assert caps["", "day"]["zone"] == "Europe/Berlin"

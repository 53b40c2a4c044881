"""The `[policy]` table: what it holds, what it says when it holds something else, and who wins."""

import re
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.protocol.settings import Settings
from bats.master.sweep.arguments import from_arguments
from bats.master.sweep.policy import Policy, planners, provisioners, samplings, tails
from bats.master.sweep.schema import json_schema
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.sweep_reading import load

PAGE = Path(__file__).parents[2] / "scripts" / "examples" / "README.md"
ALL = """
command = "x"
[policy]
tail = "none"
strategy = "N=2 T=1x D=2x M_r=0.1"
provisioner = "paper"
planner = "milp"
sampling = "implicit"
prudence = 0.5
upgrade = false
monitor = "5m"
patience = "10m"
sample_slots = 2
sample_shared = 3
losses = 9
seed = 17
"""
MEANT = {
    "tail": "none",
    "strategy": "N=2 T=1x D=2x M_r=0.1",
    "provisioner": "paper",
    "planner": "milp",
    "sampling": "implicit",
    "prudence": 0.5,
    "upgrade": False,
    "monitor_seconds": 300.0,
    "patience_seconds": 600.0,
    "initial_workers": 2,
    "replicated": 3,
    "losses": 9,
    "seed": 17,
}


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_every_key_means_a_setting(tmp_path: Path) -> None:
    assert len(MEANT) == len(Policy.model_fields)
    assert load(written(tmp_path, ALL)).policy == MEANT


def test_yaml_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    rows = ALL.replace(" =", ":").replace("[policy]\n", "policy:\n  ").split("policy:\n")
    path.write_text(rows[0] + "policy:\n" + rows[1].replace("\n", "\n  ").rstrip() + "\n")
    assert load(path).policy == MEANT


def test_what_is_not_said_is_left_to_the_master(tmp_path: Path) -> None:
    assert load(written(tmp_path, 'command = "x"\n[policy]\nseed = 0\n')).policy == {"seed": 0}
    assert load(written(tmp_path, 'command = "x"\n')).policy == {}


def test_what_is_said_to_be_usual_is() -> None:
    """Each default is told by the schema and by the page, and is what the scheduler takes."""
    usual = Settings(1, ())
    told = dict(re.findall(r"^\| `(\w+)` \|.*\((.*?)\) \|$", PAGE.read_text(), re.MULTILINE))
    for name, field in Policy.model_fields.items():
        assert field.description
        assert name in told, f"the page does not say what `{name}` is, and its default"
        setting = {
            "monitor": "monitor_seconds",
            "patience": "patience_seconds",
            "sample_slots": "initial_workers",
            "sample_shared": "replicated",
        }.get(name, name)
        value = getattr(usual, setting)
        assert field.default == getattr(value, "value", value)
        if name not in {"monitor", "patience"}:
            shown = str(field.default).lower() if name == "upgrade" else f"{field.default}"
            assert told[name].strip('"`') == shown.removesuffix(".0")


def test_editors_complete_the_names_of_policies() -> None:
    keys = json_schema()["$defs"]["Policy"]["properties"]
    kinds = {
        "tail": tails,
        "provisioner": provisioners,
        "planner": planners,
        "sampling": samplings,
    }
    for key, names in kinds.items():
        assert keys[key]["enum"] == list(names())
    assert keys["prudence"]["default"] == 1.0


def test_a_name_of_ones_own_is_known_once_it_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, 'command = "x"\n[policy]\nplanner = "mine"\n')
    with pytest.raises(UsageError, match=r"line 3: `policy\.planner`: 'mine' names no planner"):
        load(path)
    monkeypatch.setitem(PLANNERS, "mine", Planner(knapsack))
    assert load(path).policy == {"planner": "mine"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ('tale = "none"', "line 3: `policy.tale`: unknown key; did you mean `tail`?"),
        ('cushion = "5"', "line 3: `policy.cushion`: unknown key"),
        ('tail = "stochastik"', "line 3: `policy.tail`: 'stochastik' names no tail strategy; did"),
        ('provisioner = "costblind"', "names no provisioner; did you mean `cost-blind`?"),
        (
            'planner = "greedy"',
            "names no planner; allowed are knapsack, milp, prob, average, worst-case",
        ),
        ('sampling = "non"', "names no way of sampling; did you mean `none`?"),
        ('strategy = "N=9"', "`N=9` is no strategy; write for example `N=3 T=1x"),
        ("strategy = 5", "should be a text such as N=3"),
        ("tail = 5", "5 names no tail strategy"),
        ("tail = [1]", "[1] names no tail strategy"),
        ("prudence = -1", "should be a number, 0 or more, not -1."),
        ("prudence = nan", "should be a number, 0 or more, not 'nan'."),
        ("prudence = inf", "should be a number, 0 or more"),
        ("prudence = true", "should be a number, 0 or more"),
        ('prudence = "much"', "should be a number, 0 or more"),
        ("upgrade = 5", "should be true or false"),
        ('monitor = "often"', "'often' is not a duration"),
        ("monitor = 0", "should be longer than 0"),
        ("patience = [1]", "is not a duration"),
        ("sample_slots = 0", "should be 1 or more, not 0."),
        ("sample_shared = 1001", "should be 1000 or less"),
        ("losses = -1", "should be 0 or more"),
        ("seed = 1.5", "should be a whole number"),
        ("seed = true", "should be a whole number"),
    ],
)
def test_a_mistake_is_told_with_its_line(row: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(written(tmp_path, f'command = "x"\n[policy]\n{row}\n'))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_that_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`policy`: should be a table"):
        load(written(tmp_path, 'command = "x"\npolicy = "none"\n'))
    with pytest.raises(UsageError, match="`policy`: should be a table"):
        from_arguments(
            file=written(tmp_path, 'command = "x"\npolicy = "none"\n'), policy={"seed": 1}
        )


def test_options_win_over_the_table(tmp_path: Path) -> None:
    given = {"tail": "random", "seed": 3, "planner": None}
    sweep = from_arguments(file=written(tmp_path, ALL), policy=given)
    assert sweep.policy == {**MEANT, "tail": "random", "seed": 3}
    assert from_arguments(["x"], policy=given).policy == {"tail": "random", "seed": 3}


def test_a_wrong_option_is_told_as_an_option() -> None:
    with pytest.raises(UsageError, match=r"^--prudence: should be a number"):
        from_arguments(["x"], policy={"prudence": float("nan")})


def test_it_goes_with_the_sweep(tmp_path: Path) -> None:
    sweep = load(written(tmp_path, ALL))
    assert Sweep.from_plain(sweep.to_plain()) == sweep
    older = {key: value for key, value in sweep.to_plain().items() if key != "policy"}
    assert Sweep.from_plain(older).policy == {}
    for wrong in ("none", {"tail": ["none"]}, {5: "none"}, None):
        with pytest.raises(UsageError, match="cannot be understood"):
            Sweep.from_plain({**sweep.to_plain(), "policy": wrong})

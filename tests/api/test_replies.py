"""Replies of the API: what is promised there is what engines, stores and back ends tell."""

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from bats.common.money import Money, money
from bats.common.offering import ClusterName, Offering
from bats.master.api import replies
from bats.master.api.money_as_text import money_as_text
from bats.master.brain.planning.schedules import Schedule
from bats.master.brain.prediction.bounds import Bounds
from bats.master.brain.views.told.facts import (
    Explanation,
    LawFacts,
    PlanFacts,
    ProfileFacts,
    RunningFacts,
)
from bats.master.brain.views.told.view import ClusterView, MachineView, RunView, StepView
from bats.master.service.machines.orphans import OrphanMachine
from bats.master.store.result_rows import TOLD
from bats.master.store.rows import MachineRow


def names_of(kind: Any) -> list[str]:
    return list(getattr(kind, "_fields", ())) or [one.name for one in fields(kind)]


@pytest.mark.parametrize(
    ("told", "promised"),
    [
        (RunView, replies.RunStatus),
        (ClusterView, replies.ClusterStatus),
        (MachineView, replies.MachineStatus),
        (StepView, replies.StepStatus),
        (Schedule, replies.Schedule),
        (Bounds, replies.Bounds),
        (ProfileFacts, replies.Profile),
        (PlanFacts, replies.Plan),
        (LawFacts, replies.Law),
        (RunningFacts, replies.Attempt),
        (OrphanMachine, replies.Orphan),
    ],
)
def test_all_that_is_told_is_promised_and_its_money_is_money(told: Any, promised: Any):
    mine, theirs = get_type_hints(told), get_type_hints(promised)
    assert set(names_of(told)) == set(theirs)
    money = {name for name, hint in mine.items() if hint in (Money, Money | None)}
    assert {name for name, hint in theirs.items() if hint in (Money, Money | None)} == money


def test_parts_of_others_are_promised_too():
    assert set(names_of(Explanation)) <= set(get_type_hints(replies.Explanation))
    machine = {*names_of(MachineRow), *names_of(MachineView)} - {"public_key"}
    assert machine | {"number"} == set(get_type_hints(replies.MachineLine))
    assert {*TOLD, "values", "parameters"} == set(get_type_hints(replies.TaskLine))


def test_money_is_told_as_exact_text_wherever_its_type_says_so():
    clusters = [{"name": "a", "price": money("0.25"), "limit": 3}]
    status = {"limit": money("5"), "left": None, "done": 5, "clusters": clusters}
    assert money_as_text(status, replies.Status) == {
        "limit": "5",
        "left": None,
        "done": 5,
        "clusters": [{"name": "a", "price": "0.25", "limit": 3}],  # of machines
    }


def test_a_number_is_no_money_for_what_its_key_is_called():
    assert money_as_text({"cost": 5}) == {"cost": 5}
    assert money_as_text({"results": [{"cost_share": 1, "task": 1}]}, replies.ResultsPart) == {
        "results": [{"cost_share": "0.000000001", "task": 1}]
    }


def test_a_dataclass_says_itself_what_of_it_is_money():
    offering = Offering(ClusterName("a"), money("0.1"), 3600.0, 2)
    (told,) = money_as_text({"offerings": (offering,)})["offerings"]
    assert (told["price"], told["max_machines"]) == ("0.1", 2)


def test_outputs_are_text():
    assert money_as_text({"data": b"caf\xe9"}, replies.Log) == {"data": "caf\ufffd"}

"""A policy of each kind from outside the package decides if it is named, simulated and live.

What each is shown can only be read; tests/brain/test_readonly.py holds that.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pytest
from helpers.service import over, sweep

from bats.common.messages import TaskId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.planning.knapsack import knapsack
from bats.master.brain.planning.mix import Cluster
from bats.master.brain.planning.planners import PLANNERS, Planner
from bats.master.brain.planning.problem import Plan, Problem, plan_of
from bats.master.brain.policies.by_name import PROVISIONERS, REPLICATORS, SAMPLERS
from bats.master.brain.policies.by_timetable import ByTimetable
from bats.master.brain.policies.provisioning import Aim
from bats.master.brain.policies.replication import Replicator, running_elsewhere
from bats.master.brain.policies.samplers import Sampler
from bats.master.brain.protocol.settings import Settings
from bats.master.brain.views.outlook import Outlook
from bats.master.brain.views.readonly import ClusterView, MachineView, RunView
from bats.master.client import Client
from bats.master.simulate.driver import Simulation

KINDS = (
    Offering(ClusterName("one"), money(1), 1.0, 2),
    Offering(ClusterName("other"), money(2), 1.0, 2),
)
BUDGET = money(100_000)
COMMAND = "test {x} = 7 && sleep 2; sleep 0.1"
KEYS = ("provisioner", "sampling", "tail", "planner")

Asked = Callable[[str], None]


class OneMachine(ByTimetable):
    """A single machine of the first kind does the rest."""

    def __init__(self, asked: Asked) -> None:
        super().__init__(1.0)
        self._asked = asked

    def plan(
        self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook, cause: str
    ) -> Aim | None:
        self._asked("provisioner")
        rest = plan_of(clusters, max(1, view.N_e), (1, *[0] * (len(run.clusters) - 1)))
        return Aim(rest, f"{cause}, and one will do")

    def watch(self, run: RunView, clusters: tuple[Cluster, ...], view: Outlook) -> Aim | None:
        return None


class TwoOfEach(Sampler):
    """Two machines of each kind, and two tasks on them."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def machines(
        self, run: RunView, clusters: Sequence[ClusterView], size: int
    ) -> Sequence[int] | None:
        self._asked("sampling")
        return [2 for _ in clusters]

    def tasks_on(self, run: RunView, cluster: ClusterView, size: int) -> int | None:
        return 2


class FirstThatRuns(Replicator):
    """Whatever runs elsewhere, be it a copy already."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked

    def copy(self, run: RunView, machine: MachineView) -> TaskId | None:
        self._asked("tail")
        return next((task for task, _ in running_elsewhere(run, machine)), None)

    paid_copy = copy


def recording(asked: Asked) -> Planner:
    def fastest(problem: Problem) -> Plan | None:
        asked("planner")
        return knapsack(problem)

    return Planner(fastest)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Which of the four, all called `mine`, have been consulted."""
    heard: set[str] = set()
    monkeypatch.setitem(PROVISIONERS, "mine", lambda _settings: OneMachine(heard.add))
    monkeypatch.setitem(SAMPLERS, "mine", TwoOfEach(heard.add))
    monkeypatch.setitem(REPLICATORS, "mine", FirstThatRuns(heard.add))
    monkeypatch.setitem(PLANNERS, "mine", recording(heard.add))
    return heard


@pytest.mark.parametrize("key", KEYS)
def test_simulated_it_decides_if_it_is_named(key: str, asked: set[str]) -> None:
    named: dict[str, Any] = {key: "mine"}

    def seconds(task: TaskId, cluster: int) -> float:
        return (1.0 if cluster else 2.0) * (300 if task == 7 else 60 + task)

    simulation = Simulation(Settings(60, KINDS, BUDGET, **named), seconds)
    history = simulation.run()
    simulation.engine.check()
    assert len(history.records) == 60
    assert asked == {key}


@pytest.mark.parametrize("key", KEYS)
async def test_live_it_decides_if_a_sweep_names_it(
    key: str, asked: set[str], client: Client
) -> None:
    work = sweep(60, COMMAND, policy={key: "mine"})
    offered = [asdict(one) for one in KINDS]
    bag = (await client.ask("submit", sweep=work, offerings=offered, budget=BUDGET))["bag"]
    status = await over(client, bag)
    assert (status["state"], status["done"]) == ("complete", 60)
    assert asked == {key}
    said = (await client.ask("decisions", bag=bag))["decisions"]
    assert any("one will do" in one["words"] for one in said) == (key == "provisioner")

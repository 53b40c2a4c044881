"""What a bag takes of earlier ones of the same command, and how a user sees and forgets it."""

import struct

import pytest
from helpers.service import over, sweep

from bats.common.errors import UsageError
from bats.master.api.asking import ask
from bats.master.api.requests import Forget, GetLearned
from bats.master.brain.learning.machine_speeds import KEPT_AS
from bats.master.client import Client
from bats.master.service.master import Master
from bats.master.store.rows import LearnedRow
from bats.master.sweep.workflow.task_list import ListedTask, TaskList, workflow_from


async def ran(client: Client, tasks: int, command: str = "sleep 0.0{x}") -> int:
    bag = int((await client.ask("submit", sweep=sweep(tasks, command)))["bag"])
    await over(client, bag)
    return bag


async def test_a_bag_learns_from_earlier_ones_of_the_same_command_and_of_no_other(
    master: Master, client: Client
) -> None:
    first = await ran(client, 8)
    (lesson,) = (await ask(client, GetLearned()))["learned"]
    assert (lesson["command"], lesson["tasks"]) == ("sleep 0.0{x}", 8)
    assert 0 < lesson["mean_seconds"] <= lesson["longest_seconds"]
    second, other = await ran(client, 8), await ran(client, 4, "true {x}")
    settings = {bag: master.bags.loaded[bag].bag.settings for bag in (other,)}
    with master.store.reader() as reader:
        from bats.master.bag import read_bag

        settings |= {bag: read_bag(reader, bag).settings for bag in (first, second)}  # type: ignore[arg-type]
    assert settings[first].learned == settings[other].learned == ()
    assert len(settings[second].learned[0]) == 8, "kept with the bag: a replay asks no table"
    assert settings[second].learned_weight[0] == pytest.approx(8, abs=0.01)
    lessons = (await ask(client, GetLearned()))["learned"]
    assert [(one["command"], one["tasks"]) for one in lessons] == [
        ("sleep 0.0{x}", 16),
        ("true {x}", 4),
    ]


async def test_what_was_learned_is_forgotten_by_command_or_wholly(client: Client) -> None:
    await ran(client, 4)
    await ran(client, 4, "true {x}")
    with pytest.raises(UsageError, match="Nothing was learned of 'false'"):
        await ask(client, Forget("false"))
    assert (await ask(client, Forget("true {x}")))["commands"] == 1
    assert len((await ask(client, GetLearned()))["learned"]) == 1
    assert (await ask(client, Forget()))["commands"] == 1
    assert (await ask(client, GetLearned()))["learned"] == []


async def test_how_machines_differ_is_told_beside_commands_and_forgotten_with_all(
    master: Master, client: Client
) -> None:
    await ran(client, 4)
    assert (await ask(client, GetLearned()))["speeds"] == []  # one machine tells nothing
    packed = struct.pack("<3d", 0.9, 1.0, 1.1)
    master.store.learned([LearnedRow(KEPT_AS, "here", 3, 1.0, packed)])
    await ran(client, 4, "true {x}")  # what is written later is read after it
    told = await ask(client, GetLearned())
    assert told["speeds"] == [
        {"of": "tasks", "offering": "here", "machines": 3, "slowness": [0.9, 1.0, 1.1], "at": 1.0}
    ]
    assert [one["command"] for one in told["learned"]] == ["sleep 0.0{x}", "true {x}"]
    assert (await ask(client, Forget()))["commands"] == 2
    assert (await ask(client, GetLearned()))["speeds"] == []


async def test_a_workflow_takes_from_all_bags_how_machines_differ(
    master: Master, client: Client
) -> None:
    packed = struct.pack("<3d", 0.9, 1.0, 1.1)
    master.store.learned([LearnedRow(KEPT_AS, "here", 3, 1.0, packed)])
    listed = [ListedTask("a", (), "true"), ListedTask("b", ("a",), "true")]
    flow = workflow_from(TaskList("flow", listed)).to_plain()
    bag = int((await client.ask("submit", sweep=flow))["bag"])
    await over(client, bag)
    with master.store.reader() as reader:
        from bats.master.bag import read_bag

        kept = read_bag(reader, bag)  # type: ignore[arg-type]
    assert kept.settings.learned_slowness[0] == (0.9, 1.0, 1.1)

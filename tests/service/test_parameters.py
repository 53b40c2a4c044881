"""A sweep's parameters reach the brain, and the user is told what follows from them."""

from pathlib import Path

from helpers.service import over, sweep

from bats.master.api.asking import ask
from bats.master.api.requests import Explain
from bats.master.bag import bag_from
from bats.master.client import Client
from bats.master.report.page import write
from bats.master.service.master import Master

TASKS = 24


async def test_what_runtimes_follow_from_is_told_live_and_in_the_report(
    master: Master, client: Client, tmp_path: Path
) -> None:
    work = sweep(TASKS, "sleep 0.$(printf %02d $((3 * {x})))")
    bag = int((await client.ask("submit", sweep=work))["bag"])
    await over(client, bag)
    told = await ask(client, Explain(bag))
    assert told["law"] is not None
    assert told["law"]["words"].startswith("runtime grows with x: × ")
    assert told["law"]["explained"] > 0.3
    with master.store.reader() as reader:
        (parameter,) = bag_from(reader.bag(bag)).settings.parameters
        assert (parameter.name, len(parameter.values)) == ("x", TASKS)
        write(reader, bag, tmp_path / "report.html")
    assert "Runtime grows with x: × " in (tmp_path / "report.html").read_text()

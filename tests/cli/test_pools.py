"""`bats pools` in words."""

from pathlib import Path

from click.testing import CliRunner

from bats.common.capacity.pool_rules import Pool
from bats.common.messages import MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.brain.pools.pool_events import Formed, Looked
from bats.master.brain.pools.standing_pool import StandingPool
from bats.master.brain.protocol.commands import StartMachines
from bats.master.brain.protocol.events import Charged, Joined
from bats.master.cli.commands.clouds import clouds
from bats.master.cli.display.tables.pool_table import pools_in_full, pools_in_short
from bats.master.queries.pools.pool_facts import lines

SMALL = Offering(ClusterName("small"), money("0.10"), 600.0, 10, lease_seconds=60.0)


def test_demand_supply_money_and_the_last_decision_are_told():
    pool = StandingPool(MachineId(1000))
    rules = Pool("lab", (SMALL,), 4, per_interval=money("0.50"))
    pool.handle(Formed(rules, MachineId(1000)), 0.0)
    for look in range(3):
        for one in pool.handle(Looked(2 * look, (), 0.0, (look,)), 30.0 * look):
            if isinstance(one, StartMachines):
                for machine in one.machines:
                    pool.handle(Charged(machine, 30.0 * look), 30.0 * look)
                    pool.handle(Joined(machine, 1, (), 0), 30.0 * look)
    told = lines([pool])
    words = pools_in_full(told)
    assert "Pool lab: 0 to 4 machines; react is asked every 30 s." in words
    assert "4 tasks to run, 2 places there." in words
    assert "$0.01 of $0.50 for the interval" in words
    assert "4 tasks to run, 1 small; react wants 2 small: started 1 small." in words
    assert "up to 4, in the last 1 min 00 s" in words
    assert "lab     2 of 4       2            4, 2" in pools_in_short(told)


def test_without_a_pool_it_says_how_one_comes_to_be():
    assert pools_in_full([]) == (
        "This master keeps no pool. A [[pool]] in its clouds file makes one."
    )


def test_the_pools_of_a_clouds_file_are_shown_with_its_offerings(tmp_path: Path) -> None:
    file = tmp_path / "clouds.toml"
    file.write_text(
        "[[offering]]\nname = 'node'\nprice = 1\nmax = 3\nlocal = {}\n"
        "[[pool]]\nname = 'lab'\nmax = 2\ninterval = '5s'\n"
    )
    for told in (["show"], ["check", "--no-start"]):
        said = CliRunner().invoke(clouds, [*told, str(file)]).stdout
        assert said.endswith("\npool lab: 0 to 2 machines of node; react is asked every 5.0 s\n")

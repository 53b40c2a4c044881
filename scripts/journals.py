#!/usr/bin/env python3
"""Journals of 200 simulated runs, digested: a change that moves code changes none of them.

usage: scripts/journals.py [--against COMMIT] [--quick] [--json]

The runs go through all scenarios, bag kinds and policies by name, in a world where machines start
late, break and fail tasks. With `--against` the same runs are made by the code of that commit, in a
checkout of its own, and each journal that differs is named.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np
from figures import Report
from studies.two_clusters import SCENARIOS

from bats.common.money import money
from bats.master.brain.policies.by_name import PROVISIONERS, REPLICATORS, SAMPLERS
from bats.master.brain.protocol.journal import plain
from bats.master.brain.protocol.settings import Settings
from bats.master.simulate.driver import Conditions, Simulation
from bats.master.simulate.workloads import WORKLOADS

RUNS: Final = 200
TASKS: Final = (1, 7, 40, 120)
BUDGETS: Final = (None, "60", "200", "1000")
ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Case:
    scenario: str
    workload: str
    provisioner: str
    sampling: str
    tail: str
    planner: str
    tasks: int
    budget: str | None
    seed: int

    @property
    def name(self) -> str:
        return (
            f"{self.seed}: {self.tasks} tasks, {self.workload}, {self.scenario}, "
            f"{self.budget or 'no budget'}, {self.provisioner}, {self.sampling}, "
            f"{self.tail}, {self.planner}"
        )


def cases() -> Iterator[Case]:
    """Every scenario with every bag kind, and again until there are enough; the rest by chance."""
    pairs = list(product(SCENARIOS, WORKLOADS))
    others = (PROVISIONERS, SAMPLERS, REPLICATORS, TASKS, BUDGETS)
    for seed in range(RUNS):
        provisioner, sampling, tail, tasks, budget = (
            drawn(seed, number, values) for number, values in enumerate(others)
        )
        planner = "milp" if seed % 25 == 0 else "knapsack"  # it takes seconds where others take ms
        yield Case(
            *pairs[seed % len(pairs)], provisioner, sampling, tail, planner, tasks, budget, seed
        )


def drawn(seed: int, what: int, values: Collection[Any]) -> Any:
    """One of them by chance; a new one that comes among them changes only the runs it is drawn in.

    So a commit with other policies still has most of its runs in common with this one.
    """
    return min(values, key=lambda one: hashlib.sha256(f"{seed} {what} {one}".encode()).digest())


def journal(case: Case) -> bytes:
    """The digest of all events of a run, with their times, as a master would write them."""
    scenario = SCENARIOS[case.scenario]
    speeds = (1.0, scenario.speed)
    drawn = WORKLOADS[case.workload].draw(case.tasks, np.random.default_rng([1, case.seed]))
    settings = Settings(
        case.tasks,
        scenario.offerings,
        None if case.budget is None else money(case.budget),
        rule="balanced" if case.seed % 2 else "fastest",
        provisioner=case.provisioner,
        sampling=case.sampling,
        tail=case.tail,
        planner=case.planner,
        seed=case.seed,
    )
    world = Conditions(
        start_seconds=lambda rng, _cluster: rng.uniform(0.0, 120.0),
        boot_seconds=30.0,
        stop_seconds=10.0,
        life_seconds=lambda rng, _cluster: rng.expovariate(1 / 36_000),
        start_fails=0.05,
        task_fails=0.02,
    )
    simulation = Simulation(
        settings,
        lambda task, cluster: float(drawn[task]) / speeds[cluster],
        world,
        case.seed,
        keep_events=True,
    )
    history = simulation.run()
    digest = hashlib.sha256()
    for now, event in history.events:
        digest.update(msgpack.packb([now, plain(event)]))
    run = simulation.engine.headline()
    digest.update(msgpack.packb([run.done, run.settled]))
    return digest.digest()


def digests(count: int) -> dict[str, str]:
    return {case.name: journal(case).hex() for case in islice(cases(), count)}


def of_commit(commit: str, count: int) -> dict[str, str]:
    """The same runs by the code of another commit, made by this script."""
    with tempfile.TemporaryDirectory(prefix="bats-journals.") as name:
        there, package = Path(name, "checkout"), Path(name, "bats")
        subprocess.run(["git", "worktree", "add", "-q", "--detach", there, commit],
                       cwd=ROOT, check=True)  # fmt: skip
        try:
            package.mkdir()
            (package / "__init__.py").touch()  # else what is installed here is found first
            for folder in ("common", "deploy", "master", "worker"):
                (package / folder).symlink_to(there / folder)
            script = there / "scripts" / Path(__file__).name
            script.write_bytes(Path(__file__).read_bytes())
            said = subprocess.run(
                [sys.executable, script, "--digests", str(count)],
                env={**os.environ, "PYTHONPATH": name},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", there], cwd=ROOT, check=True)
    found: dict[str, str] = json.loads(said)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Digest the journals of simulated runs; exit code 1 when some differ."
    )
    parser.add_argument("--against", metavar="COMMIT", help="compare with the code of that commit")
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    parser.add_argument("--digests", type=int, metavar="N", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.digests is not None:
        print(json.dumps(digests(chosen.digests)))
        return 0
    count = RUNS // 10 if chosen.quick else RUNS
    ours = digests(count)
    report = Report("journals")
    together = hashlib.sha256("".join(ours.values()).encode()).hexdigest()[:16]
    report.figure(f"digest of {count} journals", None, together)
    if chosen.against:
        theirs = of_commit(chosen.against, count)
        common = [name for name in ours if name in theirs]
        others = [name for name in common if ours[name] != theirs[name]]
        report.figure(f"runs that {chosen.against} can make, too", None, len(common))
        for name in others:
            print(f"another journal: run {name}", file=sys.stderr)
        report.bar(f"journals that {chosen.against} wrote otherwise", 0, len(others), not others)
    return report.finish(chosen.json)


if __name__ == "__main__":
    sys.exit(main())

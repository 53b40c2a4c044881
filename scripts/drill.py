#!/usr/bin/env python3
"""Harms a master and its workers at random while bags run, then checks that nothing was lost.

usage: scripts/drill.py [--minutes 10] [--seed N] [--quick] [--json] [--keep]
       scripts/drill.py --absence short|long [--seed N] [--quick] [--json] [--keep]

Real processes of this computer run real tasks for money with ATUs of some seconds. Afterwards an
account that the drill kept itself is compared with the master's; exit code 1 on any violation.
With --absence the only harm is that the master is killed and away, for less than the lease of
machines that are billed by the second, or for longer.
"""

import argparse
import asyncio
import contextlib
import json
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from drill.absence import LONG, SHORT, OneAbsence
from drill.bed import Bed, bag, make_folder, remove_folder, several
from drill.checks import Account, Check, check_all
from drill.faults import possible
from figures import Report

SHORT_MINUTES = 0.25
TASKS, TASKS_SHORT = (40, 120), (20, 40)  # of a bag
HEAL_SECONDS = 150.0  # for the last bags to end, undisturbed
ABSENCES = {"short": SHORT, "long": LONG}
QUICK_PACE = 0.25


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="of faults")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--quick", action="store_true", help="a fraction of a minute, for CI")
    parser.add_argument("--absence", choices=ABSENCES, help="instead: kill the master once")
    parser.add_argument("--only", action="append", help="only faults with these words")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    parser.add_argument("--keep", action="store_true", help="keep the folder, and say where")
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    minutes = SHORT_MINUTES if given.quick else given.minutes
    tasks = TASKS_SHORT if given.quick else TASKS
    harm: Harm = AtRandom(minutes, tasks, given.only or [])
    if given.absence:
        harm = OneAbsence(ABSENCES[given.absence], QUICK_PACE if given.quick else 1.0)
    folder = make_folder()
    try:
        if not given.json:
            print(f"fault drill: {harm.words}, seed {seed}", flush=True)
        facts = asyncio.run(_drill(folder, seed, harm))
    finally:
        if not given.keep:
            remove_folder(folder)
    if given.keep:
        facts["folder"] = str(folder)
    if given.json:
        print(json.dumps(facts | _as_report(facts).as_dict()))
    else:
        _print(facts)
    return 0 if facts["violations"] == 0 else 1


class Harm(Protocol):
    """The harm that is done in a drill."""

    @property
    def words(self) -> str: ...

    @property
    def offerings(self) -> list[dict[str, Any]]: ...

    async def do(self, bed: Bed, rng: random.Random) -> Counter[str]:
        """Submit bags and do harm, counted by its kinds."""
        ...

    def checks(self, account: Account) -> list[Check]:
        """Beside those of every drill."""
        ...


@dataclass(frozen=True, slots=True)
class AtRandom:
    minutes: float
    tasks: tuple[int, int]
    only: list[str]

    @property
    def words(self) -> str:
        return f"{self.minutes:g} min"

    @property
    def offerings(self) -> list[dict[str, Any]]:
        return several()

    async def do(self, bed: Bed, rng: random.Random) -> Counter[str]:
        return await _harm(bed, rng, self.minutes * 60, self.tasks, self.only)

    def checks(self, _: Account) -> list[Check]:
        return []


async def _drill(folder: Path, seed: int, harm: Harm) -> dict[str, Any]:
    rng = random.Random(seed)
    began = time.monotonic()
    async with Bed(folder, harm.offerings) as bed:
        done = await harm.do(bed, rng)
        statuses = await _heal(bed)
        account = Account(bed, statuses)
        await bed.kill_master(signal.SIGTERM)
        account.left_over = await _left(bed)
        account.read()
        checks = [*check_all(account), *harm.checks(account)]
        machines = bed.watch.machines.values()
        return {
            "name": "drill",
            "seed": seed,
            "harm": harm.words,
            "seconds": round(time.monotonic() - began, 1),
            "faults": dict(done),
            "skipped": [] if bed.disk else ["disk full: mounting a small disk needs root"],
            "bags": len(bed.bags),
            "tasks": sum(status.get("total", 0) for status in statuses.values()),
            "machines": len(machines),
            "machine_seconds": round(sum(one.uptime for one in machines), 1),
            "checks": [_fact(check) for check in checks],
            "violations": sum(len(check.violations) for check in checks),
        }


def _fact(check: Check) -> dict[str, Any]:
    return {
        "check": check.promise,
        "looked_at": check.looked_at,
        "violations": list(check.violations),
    }


async def _harm(
    bed: Bed, rng: random.Random, seconds: float, tasks: tuple[int, int], only: list[str]
) -> Counter[str]:
    """Keep bags coming and faults too, until time is up and all faults are over."""
    done: Counter[str] = Counter()
    faults = {
        name: fault
        for name, fault in possible(bed).items()
        if not only or any(words in name for words in only)
    }
    under_way: dict[asyncio.Task[None], str] = {}

    async def one(name: str) -> None:
        if await faults[name](bed, random.Random(rng.random())):
            done[name] += 1

    feeding = asyncio.create_task(_feed(bed, random.Random(rng.random()), tasks))
    ends = time.monotonic() + seconds
    await asyncio.sleep(1.5)
    while time.monotonic() < ends:
        busy = set(under_way.values())
        if free := [name for name in faults if name not in busy]:
            task = asyncio.create_task(one(name := rng.choice(free)))
            under_way[task] = name
            task.add_done_callback(lambda task: (under_way.pop(task), task.result()))
        await asyncio.sleep(rng.uniform(0.2, 3.0))
        await bed.mind_master()
        bed.note_done()
    feeding.cancel()
    await asyncio.gather(*under_way)
    with contextlib.suppress(asyncio.CancelledError):
        await feeding
    bed.link.heal()
    return done


async def _feed(bed: Bed, rng: random.Random, tasks: tuple[int, int]) -> None:
    """Two bags are always there: one runs, one waits."""
    while True:
        await bed.submit(bag(rng, rng.randint(*tasks)))
        while len(bed.bags) > 1:
            before = await bed.ask("status", bag=bed.bags[-2])
            if before.get("over") or before.get("state") not in ("queued", "running"):
                break
            await asyncio.sleep(1.0)


async def _heal(bed: Bed) -> dict[int, dict[str, Any]]:
    """The last bags end without further harm."""
    statuses: dict[int, dict[str, Any]] = {}
    ends = time.monotonic() + HEAL_SECONDS
    while time.monotonic() < ends:
        await bed.mind_master()
        # Also those of which no answer came: they were submitted once more.
        bed.bags = [one["bag"] for one in (await bed.ask("bags"))["bags"]]
        bed.note_done()
        statuses = {bag: await bed.ask("status", bag=bag) for bag in bed.bags}
        if all(_over(status) for status in statuses.values()):
            break
        await asyncio.sleep(0.5)
    return statuses


def _over(status: dict[str, Any]) -> bool:
    return status["state"] not in ("queued", "running", "held") and status.get("over", True)


async def _left(bed: Bed) -> list[str]:
    """Processes of ours that do not end with the master."""
    for _ in range(50):
        left = bed.watch.ours()
        if not left:
            break
        await asyncio.sleep(0.1)
    return [f"{seen.name} ({seen.pid})" for seen in left]


def _as_report(facts: dict[str, Any]) -> Report:
    """As every script here that measures says it."""
    report = Report(facts["name"])
    for what, times in facts["faults"].items():
        report.figure(what, None, times)
    for what in ("bags", "tasks", "machines"):
        report.figure(what, None, facts[what])
    for one in facts["checks"]:
        wrong = len(one["violations"])
        report.bar(one["check"], 0, wrong, wrong == 0)
    return report


def _print(facts: dict[str, Any]) -> None:
    print(f"\n{'fault':34}{'times':>7}")
    for name, times in sorted(facts["faults"].items()):
        print(f"{name:34}{times:>7}")
    for words in facts["skipped"]:
        print(f"skipped: {words}")
    print(
        f"\n{facts['bags']} bags of {facts['tasks']} tasks, {facts['machines']} machines "
        f"up for {facts['machine_seconds']:g} s"
    )
    print(f"\n{'looked at':>9}  {'wrong':>5}  what was promised")
    for check in facts["checks"]:
        wrong = check["violations"]
        print(f"{check['looked_at']:>9}  {len(wrong):>5}  {check['check']}")
        for words in wrong[:10]:
            print(f"{'':18}{words}")
    verdict = "nothing was lost" if not facts["violations"] else f"{facts['violations']} violations"
    print(f"\n{verdict}; {facts['seconds']:g} s; seed {facts['seed']}", flush=True)
    if folder := facts.get("folder"):
        print(f"kept: {folder}")


if __name__ == "__main__":
    sys.exit(main())

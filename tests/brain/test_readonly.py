"""What policies are shown can only be read: the type checker holds it, and ours keep to it."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.stories import invent

from bats.master.brain.books.state import Run
from bats.master.brain.policies import by_name
from bats.master.simulate.driver import Simulation

ROOT = Path(__file__).parents[2]
HEAD = """
from bats.master.brain.views.readonly import MachineView, RunView, TaskState
def policy(run: RunView, machine: MachineView) -> None:
"""
READING = (
    "run.tasks.waiting + len(machine.active)",
    "run.ledger.covers(machine.offering.price)",
    "[c.profile.tail_mean(5.0) for c in run.clusters if c.profile.count]",
    "run.tasks.states[0] == TaskState.DONE and run.rng.random()",
)
CHANGING = {
    "run.choice.deadline_at = None": "read-only",
    "run.tasks.finish(0)": 'has no attribute "finish"',
    "run.tasks.states[0] = 2": "Unsupported target for indexed assignment",
    "run.ledger.limit = None": "read-only",
    "run.ledger.settle(machine.id, 0)": 'has no attribute "settle"',
    "run.pool.machines.clear()": 'has no attribute "clear"',
    "run.pool.living[0].pop(machine.id)": 'has no attribute "pop"',
    "run.canonical.add(5.0)": 'has no attribute "add"',
    "run.clusters[0].set_aside = 'no'": "has no attribute",
    "run.say('ha')": 'has no attribute "say"',
    "run.out": 'has no attribute "out"',
    "machine.leaving = True": "read-only",
    "machine.active.clear()": 'has no attribute "clear"',
    "[a.since for a in machine.attempts()].clear(); next(iter(machine.attempts())).since = 0.0": (
        "read-only"
    ),
}


@pytest.mark.checkout
def test_the_type_checker_refuses_whoever_would_change_something(tmp_path: Path) -> None:
    lines = [*READING, *CHANGING]
    snippet = tmp_path / "own.py"
    snippet.write_text(HEAD + "".join(f"    {line}\n" for line in lines))
    package = tmp_path / "typing" / "bats"  # where scripts/check has not made its own
    package.mkdir(parents=True)
    for folder in ("master", "common", "deploy", "worker"):
        (package / folder).symlink_to(ROOT / folder)
    words = [sys.executable, "-m", "mypy", "--no-error-summary", f"--cache-dir={tmp_path}/cache"]
    checked = subprocess.run(
        [*words, "--config-file", str(ROOT / "pyproject.toml"), str(snippet)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    refused = {
        int(line.split(":")[1]) - HEAD.count("\n") - 1: line
        for line in checked.stdout.splitlines()
        if line.startswith(str(snippet)) and ": error:" in line
    }
    assert [lines[k] for k in sorted(refused)] == list(CHANGING), checked.stdout + checked.stderr
    for k, line in enumerate(CHANGING.values()):
        assert line in refused[len(READING) + k]


def seen(value: Any, inside: frozenset[int] = frozenset()) -> Any:
    """All that can be reached from there, as plain data; chance and what is reckoned once aside."""
    if isinstance(value, dict):
        return [(seen(k), seen(v, inside)) for k, v in value.items()]
    if isinstance(value, list | tuple | set | frozenset):
        return [seen(one, inside) for one in value]
    if type(value).__module__.startswith("bats.master.brain.books") or hasattr(value, "tail_mean"):
        if id(value) in inside:
            return id(value)
        names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
        left = {"rng", "_rng", "_tails", "provisioner", "sampler", "replicator", "planner"}
        more = inside | {id(value)}
        return [(n, seen(getattr(value, n), more)) for n in sorted({*names} - left)]
    return repr(value)


class Watched:
    """A policy that is asked as before; what it is shown is compared afterwards."""

    def __init__(self, policy: Any, asked: list[str]) -> None:
        self._policy, self._asked = policy, asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._policy, name)
        if name == "time":
            return Watched(found, self._asked)
        return self._watching(name, found) if callable(found) else found

    def _watching(self, name: str, ask: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*shown: Any, **more: Any) -> Any:
            if not (shown and isinstance(shown[0], Run)):
                return ask(*shown, **more)
            before = seen(shown[0])
            answer = ask(*shown, **more)
            assert seen(shown[0]) == before, f"{name} of {type(self._policy).__name__} changes"
            self._asked.append(f"{type(self._policy).__name__}.{name}")
            return answer

        return watched


def test_no_policy_of_ours_changes_what_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def watched(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda settings: Watched(make(settings), asked)

    for name, make in by_name.PROVISIONERS.items():
        monkeypatch.setitem(by_name.PROVISIONERS, name, watched(make))
    for registry in (by_name.SAMPLERS, by_name.REPLICATORS):
        for name, one in registry.items():
            monkeypatch.setitem(registry, name, Watched(one, asked))
    for seed in range(40):
        story = invent(seed)
        if story.settings.tasks > 40:
            continue
        rng = random.Random(seed)
        named: dict[str, Any] = {
            "provisioner": rng.choice([*by_name.PROVISIONERS]),
            "tail": rng.choice([*by_name.REPLICATORS]),
        }
        Simulation(
            replace(story.settings, **named),
            lambda task, cluster, of=story: float(of.runtimes[task] / of.speeds[cluster]),
            story.conditions,
            seed,
        ).run()
    kinds = {one.partition(".")[0] for one in asked}
    assert kinds >= {"ByTimetable", "Paper", "Investing", "ByAtu", "Regression", "Migration"}

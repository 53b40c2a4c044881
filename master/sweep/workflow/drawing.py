"""The graph of a workflow as lines of text: step by step, further right the later it can begin."""

from collections.abc import Mapping
from typing import Any

from bats.master.brain.protocol.graph import Graph


def links(of: Graph) -> dict[int, dict[int, int]]:
    """The steps that each step waits for, with the pairs of tasks; 0 stands for all of it."""
    found: dict[int, dict[int, int]] = {step: {} for step in range(len(of.steps))}
    flat, starts = of.pairs(), of.starts()
    if flat:
        import numpy as np

        pairs = np.frombuffer(flat, "u4").reshape(-1, 2)
        steps = np.searchsorted(np.array(starts[1:]), pairs, side="right")
        between, counts = np.unique(steps, axis=0, return_counts=True)
        for (before, after), count in zip(between.tolist(), counts.tolist(), strict=True):
            found[after][before] = count
    for before, after in of.barriers:
        found[after][before] = 0
    return found


def depths(waits: Mapping[int, Mapping[int, int]]) -> list[int]:
    """The most steps that come one after another before each; a step within a circle ends it."""
    known: dict[int, int] = {}

    def depth(step: int, above: frozenset[int]) -> int:
        if step not in known:
            before = [one for one in waits[step] if one != step and one not in above]
            known[step] = max((depth(one, above | {step}) + 1 for one in before), default=0)
        return known[step]

    return [depth(step, frozenset()) for step in waits]


def facts_of(of: Graph) -> list[dict[str, Any]]:
    """Each step: its name, how many tasks, how far down, and what it waits for."""
    waits = links(of)
    deep = depths(waits)
    return [
        {
            "name": step.name,
            "tasks": step.tasks,
            "depth": deep[number],
            "after": [
                {"step": of.steps[before].name, "pairs": pairs or None}
                for before, pairs in sorted(waits[number].items())
            ],
        }
        for number, step in enumerate(of.steps)
    ]


def drawing(of: Graph) -> list[str]:
    """A line for each step, in an order in which they can be gone through."""
    rows = sorted(enumerate(facts_of(of)), key=lambda row: (row[1]["depth"], row[0]))
    shown = [
        ("  " * one["depth"] + ("└ " if one["after"] else "") + one["name"], one) for _, one in rows
    ]
    width = max(len(name) for name, _ in shown)
    digits = max(len(f"{one['tasks']:,}") for _, one in shown)
    lines = []
    for name, one in shown:
        after = [
            f"all of {link['step']}" if link["pairs"] is None else
            f"{link['step']} ({link['pairs']:,} pair{'s' if link['pairs'] > 1 else ''})"
            for link in one["after"]
        ]  # fmt: skip
        waits = f"  after {', '.join(after)}" if after else ""
        tasks = f"{one['tasks']:>{digits},} task{' ' if one['tasks'] == 1 else 's'}"
        lines.append(f"{name:<{width}}  {tasks}{waits}".rstrip())
    return lines

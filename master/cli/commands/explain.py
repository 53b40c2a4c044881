"""`bats explain`: what stands behind a bag's plan, or what became of one task and why."""

from collections.abc import Mapping
from typing import Any

import click

from bats.common.errors import UnreachableError
from bats.master.cli.base import Common, command, common
from bats.master.cli.display.bag_status import failure_lines
from bats.master.cli.display.formatting import count, duration, mix
from bats.master.cli.questions import ask, bag_argument

PLAN = "plan"


def plan_or_task(written: str) -> int | str:
    if written != PLAN and not written.isdecimal():
        raise click.BadParameter(f"{written!r} is neither `plan` nor the number of a task.")
    return written if written == PLAN else int(written)


@command(
    examples="""
bats explain               the plan of the newest bag, and the decisions that led to it
bats explain 3 plan        the same of bag 3
bats explain 3 17          task 17 of bag 3: why is it late, why did it fail
"""
)
@bag_argument
@click.argument("what", type=plan_or_task, default=PLAN, metavar="[plan|TASK]")
@common
def explain(common: Common, bag: int | str, what: int | str) -> None:
    """Answers why: of a bag's plan, or of one task."""
    if what != PLAN:
        task = what
        story = ask(common, "task", bag=bag, task=task)
        common.facts(story, lambda: _task(story))
        return
    try:
        facts = ask(common, "explain", bag=bag)
    except UnreachableError:  # of a bag that nobody serves its decisions are left
        facts = ask(common, "status", bag=bag)
    if facts.get("failed"):
        facts["failures"] = ask(common, "failures", bag=facts["bag"])["failures"]
    facts["decisions"] = ask(common, "decisions", bag=facts["bag"])["decisions"]
    common.facts(facts, lambda: _plan(facts))


def _plan(facts: Mapping[str, Any]) -> str:
    lines = [f"bag {facts['bag']} ({facts['name']}): {facts['words'] or facts.get('phase', '')}"]
    if paused := facts.get("paused"):
        lines = [f"bag {facts['bag']} ({facts['name']}): paused: {paused['reason']}"]
        lines.append(f"next      {paused['ways']}")
    lines += failure_lines(facts)
    if facts.get("sample_size"):
        lines.append(f"sample    {count(facts['sample_size'], 'task')} on each kind of machine")
    profiles = facts.get("profiles") or facts.get("clusters", [])
    names = [one["name"] for one in profiles]
    for one in profiles:
        if one["set_aside"]:
            lines.append(f"{one['name']:<9} set aside: {one['set_aside']}")
        elif one["known"]:
            lines.append(
                f"{one['name']:<9} a task takes {duration(one['mean_seconds'])}, from "
                f"{count(one['known'], 'runtime')}"
            )
        else:
            lines.append(f"{one['name']:<9} no task was done there yet")
    if plan := facts.get("plan"):
        lines.append(
            f"plan      {mix(plan['mix'], names)} for {count(plan['tasks'], 'task')}: "
            f"{duration(plan['makespan_seconds'])} from {duration(plan['at'])} on"
        )
    if facts.get("chosen"):
        lines.append(f"chosen    {facts['chosen']}")
    lines.append("decisions")
    lines += [f"  {duration(one['time']):>12}  {one['words']}" for one in facts["decisions"]]
    return "\n".join(lines)


def _task(story: Mapping[str, Any]) -> str:
    lines = [
        f"task {story['task']} of bag {story['bag']}: {story['state']}",
        f"  {story['command']}",
    ]
    for one in story["running"]:
        since = f" for {duration(one['seconds'])}" if one["seconds"] is not None else ""
        why = ", as part of the sample" if one["sampling"] else ""
        lines.append(
            f"  attempt {one['attempt']}: {one['state']}{since} on {one['cluster']} "
            f"{one['machine']}{why}"
        )
    for one in story["attempts"]:
        lines.append(
            f"  attempt {one['attempt']}: {one['outcome']} with exit code {one['exit_code']} after "
            f"{duration(one['wall_seconds'])} on {one['cluster']} {one['machine']}"
        )
        if one["outcome"] != "done" and one["excerpt"]:
            lines += [f"    | {line}" for line in one["excerpt"].strip().split("\n")[-5:]]
    if story.get("losses"):
        lines.append(f"  it lost its machine {count(story['losses'], 'time')}")
    if story.get("failures") and story["state"] in {"waiting", "running"}:
        lines.append(f"  it failed {count(story['failures'], 'time')}, and is tried again")
    if waits := story.get("waits"):
        lines.append(f"  it waits: {waits}")
    return "\n".join(lines)

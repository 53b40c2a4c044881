"""`bats explain`: the reasons behind a plan or a task; `bats learned`: what bags have taught."""

import time
from collections.abc import Sequence

import click

from bats.common.offering import machine_name
from bats.master.api import replies
from bats.master.api.requests import (
    Explain,
    Forget,
    GetDecisions,
    GetFailures,
    GetLearned,
    GetTask,
)
from bats.master.cli.base import Common, command, common
from bats.master.cli.display.bag_status import failure_lines, state_in_words
from bats.master.cli.display.formatting import count, duration, mix, runtime, shortened, table
from bats.master.cli.questions import ask, bag_argument

PLAN = "plan"


class Explained(replies.Explanation):
    """The numbers behind a plan, and what was decided by them."""

    decisions: list[replies.Decision]


def plan_or_task(written: str) -> int | str:
    if written != PLAN and not written.isdecimal():
        raise click.BadParameter(f"{written!r} is neither `plan` nor the number of a task.")
    return written if written == PLAN else int(written)


_WIDEST = 60  # of a command


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
    if isinstance(what, int):
        task = what
        story = ask(common, GetTask(bag, task=task))
        common.facts(story, lambda: _task(story), replies.Task)
        return
    status = ask(common, Explain(bag))
    number = status["bag"]
    if status.get("failed"):
        status["failures"] = ask(common, GetFailures(number))["failures"]
    facts: Explained = {**status, "decisions": ask(common, GetDecisions(number))["decisions"]}
    common.facts(facts, lambda: _plan(facts), Explained)


def _plan(facts: Explained) -> str:
    lines = [f"bag {facts['bag']} ({facts['name']}): {facts['words'] or facts.get('phase', '')}"]
    if paused := facts.get("paused"):
        lines = [f"bag {facts['bag']} ({facts['name']}): paused: {paused['reason']}"]
        lines.append(f"next      {paused['ways']}")
    lines += failure_lines(facts)
    if facts.get("sample_size"):
        lines.append(f"sample    {count(facts['sample_size'], 'task')} on each kind of machine")
    profiles: Sequence[replies.Profile | replies.ClusterStatus]
    profiles = facts.get("profiles") or facts.get("clusters", [])
    names = [one["name"] for one in profiles]
    where = " there and, converted, on other kinds" if len(profiles) > 1 else ""
    for one in profiles:
        if one["set_aside"]:
            lines.append(f"{one['name']:<9} set aside: {one['set_aside']}")
        elif one["known"]:
            lines.append(
                f"{one['name']:<9} a task takes {runtime(one['mean_seconds'])}, from "
                f"{count(one['known'], 'runtime')}{where}"
            )
        else:
            lines.append(f"{one['name']:<9} no task was done there yet")
    if law := facts.get("law"):
        lines.append(
            f"law       {law['words']}; of {count(law['runtimes'], 'runtime')} it foretells "
            f"{100 * law['explained']:.0f} % of how they differ"
        )
    if (plan := facts.get("plan")) and plan["tasks"]:
        lines.append(
            f"plan      {mix(plan['mix'], names)} for {count(plan['tasks'], 'task')}: "
            f"{duration(plan['makespan_seconds'])} from {duration(plan['at'])} on"
        )
    if facts.get("chosen"):
        lines.append(f"chosen    {facts['chosen']}")
    lines += _share(facts.get("share"))
    lines.append("decisions")
    lines += [f"  {duration(one['time']):>12}  {one['words']}" for one in facts["decisions"]]
    return "\n".join(lines)


def _share(share: replies.Share | None) -> list[str]:
    """The part of machines that what was told counts with; nothing if other bags leave all."""
    if share is None:
        return []
    scarce = [one for one in share["offerings"] if min(one["counted"], one["limit"]) < one["most"]]
    counted, now, kept = [], [], []
    if share["counted"] or share["now"]:
        counted.append(f"{count(share['counted'], 'slot')} of common machines")
        now.append(f"{share['now']}")
        kept.append(count(share["kept"], "slot"))
    for one in scarce:
        counted.append(f"{one['counted']} of {one['most']} {one['name']}")
        now.append(f"{one['limit']} {one['name']}")
        kept.append(f"{one['kept']} {one['name']}")
    if not counted:
        return []
    return [
        f"share     told with {', '.join(counted)}; now it may have {', '.join(now)}",
        f"kept      {', '.join(kept)}: bags that came later have no more than the rest",
    ]


def _task(story: replies.Task) -> str:
    lines = [
        f"task {story['task']} of bag {story['bag']}: {state_in_words(story['state'])}",
        f"  {story['command']}",
    ]
    for one in story["running"]:
        since = f" for {duration(one['seconds'])}" if one["seconds"] is not None else ""
        why = ", as part of the sample" if one["sampling"] else ""
        lines.append(
            f"  attempt {one['attempt']}: {one['state']}{since} on "
            f"{machine_name(one['cluster'], one['machine'])}{why}"
        )
    for ended in story["attempts"]:
        lines.append(
            f"  attempt {ended['attempt']}: {ended['outcome']} with exit code {ended['exit_code']} "
            f"after {runtime(ended['wall_seconds'])} on "
            f"{machine_name(ended['cluster'], ended['machine'])}"
        )
        if ended["outcome"] != "done" and ended["excerpt"]:
            lines += [f"    | {line}" for line in ended["excerpt"].strip().split("\n")[-5:]]
    if story.get("losses"):
        lines.append(f"  it lost its machine {count(story['losses'], 'time')}")
    if story.get("failures") and story["state"] in {"waiting", "running"}:
        lines.append(f"  it failed {count(story['failures'], 'time')}, and is tried again")
    if waits := story.get("waits"):
        lines.append(f"  it waits {waits}" if waits.startswith("for ") else f"  it waits: {waits}")
    return "\n".join(lines)


@command(
    examples="""
bats learned                                what is known of commands that ran before
bats learned --forget 'python sim.py {x}'   it does other work now
bats learned --forget-all
"""
)
@click.option("--forget", metavar="COMMAND", help="Forget what was learned of this command.")
@click.option("--forget-all", is_flag=True, help="Forget everything.")
@common
def learned(common: Common, forget: str | None, forget_all: bool) -> None:
    """Shows what earlier bags tell of a command's runtimes: offers of the next bag count on it."""
    if forget is not None and forget_all:
        raise click.UsageError("--forget-all forgets everything; leave --forget out.")
    if forget is not None or forget_all:
        forgotten = ask(common, Forget(forget))
        number = count(forgotten["commands"], "command")
        common.facts(forgotten, lambda: f"Forgotten: what was learned of {number}.")
        return
    known = ask(common, GetLearned())
    common.facts(known, lambda: _lessons(known))


def _lessons(known: replies.Learned) -> str:
    if not known["learned"]:
        return "Nothing has been learned yet: no bag has ended."
    now = time.time()
    table_of_losses = _losses(known)
    rows = [
        (
            shortened(one["command"], _WIDEST),
            one["offering"],
            f"{one['tasks']:,}",
            runtime(one["mean_seconds"]),
            duration(one["longest_seconds"]),
            f"{duration(max(0.0, now - one['at']))} ago",
        )
        for one in known["learned"]
    ]
    told = table(("command", "machines", "tasks", "mean", "longest", "last"), rows)
    return f"{told}\n\n{table_of_losses}" if table_of_losses else told


def _losses(known: replies.Learned) -> str:
    """The losses on unreliable machines, as a table; "" where there are none."""
    rows = [
        (
            shortened(one["command"], _WIDEST),
            one["offering"],
            *(f"{lost[key]:.0%}" for key in ("known", "lately", "ahead")),
            f"{lost['hazard_per_hour']:.2g}",
            f"{lost['effective_size']:.0f}" if lost["effective_size"] else "",
        )
        for one in known["learned"]
        if (lost := one["lost"]) is not None
    ]
    heads = ("command", "machines", "return", "lately", "expected", "lost an hour", "slots had")
    return table(heads, rows) if rows else ""

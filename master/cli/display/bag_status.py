"""The state of a bag in words, in a few lines."""

import time
from typing import Final

from bats.common.money import Money
from bats.master.api.replies import BagLine, Promise, Status
from bats.master.cli.display.formatting import (
    amount,
    bar,
    count,
    duration,
    printable,
    runtime,
    shortened,
)

_DAY_SECONDS: Final = 86400.0
_WIDEST: Final = 120  # of a failure's words


def words_of(bag: BagLine | Status) -> str:
    if paused := bag.get("paused"):
        return paused["reason"]
    if said := unserved(bag) or str(bag.get("held_by_cap") or bag.get("words", "")):
        return said
    if bag.get("phase") == "choosing":
        number = bag["bag"]
        return f"a choice is wanted: `bats schedules {number}`, `bats choose {number} NAME`"
    return ""


def unserved(bag: BagLine | Status) -> str:
    """Words where no master runs: when one last did, and how to go on; else ""."""
    if not (since := bag.get("unserved_since")):
        return ""
    when = time.strftime("%H:%M", time.localtime(since))
    if (ago := time.time() - since) > _DAY_SECONDS:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
    return (
        f"no master runs; the last wrote at {when} ({duration(max(0.0, ago))} ago); "
        f"`bats resume {bag['bag']}` or `bats master` goes on"
    )


def in_full(facts: Status) -> str:
    """One bag, as a few lines."""
    total, done, failed = facts["total"], facts.get("done", 0), failed_of(facts)
    words = words_of(facts)
    lines = [
        f"bag {facts['bag']} ({facts['name']}): {state_of(facts)}"
        + (f": {words}" if words else ""),
        f"tasks     {bar((done + failed) / total if total else 0)} {done:,} of {total:,} done"
        + (" so far" if facts.get("open") else "")
        + (f", {failed:,} failed" if failed else "")
        + (f", {facts['running']:,} running" if facts.get("running") else "")
        + waiting_words(facts),
    ]
    lines += step_lines(facts)
    lines += failure_lines(facts)
    if facts.get("trouble"):
        lines.append(f"trouble   {facts['trouble']}")
    if "spent" not in facts:
        return "\n".join(lines)
    lines.append(f"money     {money_line(facts)}")
    now = facts.get("now", 0.0)
    if facts["over"]:
        lines.append(f"time      {duration(seconds_of(facts))}")
        lines += deadline_line(facts)
    else:
        eta = eta_words(facts) or "the rest is not known yet"
        lines.append(f"time      {duration(now)} so far, {eta}")
        lines += deadline_line(facts)
        lines += [f"machines  {line}" for line in cluster_lines(facts)]
    lines += told_line(facts)
    if strategy := facts.get("strategy"):
        lines.append(f"strategy  {strategy}")
    lines.append(f"output    {facts['output_folder']}")
    if facts.get("open"):
        number = facts["bag"]
        lines.append(
            f"open      more tasks may come: `bats add {number}`, then `bats close {number}`"
        )
    if paused := facts.get("paused"):
        lines.append(f"next      {paused['ways']}")
    return "\n".join(lines)


def failed_of(facts: BagLine | Status) -> int:
    """Tasks that failed, be it that those which paused their bag have tries left."""
    return facts.get("failed", 0) + facts.get("failing", 0)


def waiting_words(facts: Status) -> str:
    """`, 3 ready, 80 waiting, 5 cut off` of a workflow."""
    said = ""
    if facts.get("blocked"):
        said += f", {facts['waiting']:,} ready, {facts['blocked']:,} waiting"
    if facts.get("cut_off"):
        said += f", {facts['cut_off']:,} cut off"
    return said


def step_lines(facts: Status) -> list[str]:
    """A line for each step of a workflow: `sweep  40 of 100 done, 8 running`."""
    steps = facts.get("steps") or ()
    width = max((len(one["name"]) for one in steps), default=0)
    lines = []
    for one in steps:
        said = f"{one['name']:<{width}}  {one['done']:,} of {one['total']:,} done"
        said += f", {one['failed']:,} failed" if one["failed"] else ""
        said += f", {one['running']:,} running" if one["running"] else ""
        said += f", {one['waiting']:,} ready" if one["waiting"] else ""
        said += f", {one['blocked']:,} waiting" if one["blocked"] else ""
        said += f", {one['cut_off']:,} cut off" if one["cut_off"] else ""
        lines.append(said)
    return [f"{'steps' if not k else '':<9} {line}" for k, line in enumerate(lines)]


def state_in_words(state: str) -> str:
    """The state of a task as it is told."""
    return {"blocked": "waiting", "cut_off": "cut off"}.get(state, state)


_KINDS: Final = 3
"""Of failures that are told one by one."""


def failure_lines(facts: Status) -> list[str]:
    """Reasons why tasks failed: `200: exit code 2, 'No such file' (all alike); bats logs 1 0`."""
    kinds = facts.get("failures") or []
    lines = [
        f"{one['tasks']:,}: {shortened(printable(one['why']), _WIDEST)}"
        + (" (all alike)" if len(kinds) == 1 and one["tasks"] > 1 else "")
        + f"; bats logs {facts['bag']} {one['first']}"
        for one in kinds[:_KINDS]
    ]
    if rest := sum(one["tasks"] for one in kinds[_KINDS:]):
        lines.append(f"{rest:,} in other ways; bats results {facts['bag']} --failed")
    paused = facts.get("paused")  # others that failed are tried again, once it is resumed
    head = "given up" if paused and paused["again"] else "failed"
    return [f"{head if not k else '':<9} {line}" for k, line in enumerate(lines)]


def state_of(facts: BagLine | Status) -> str:
    """The state in a word: how it ended, that it is paused, or what it is at."""
    if facts.get("paused"):
        return "paused"
    if facts.get("unserved_since"):
        return "stands still"
    if facts.get("over"):
        return str(facts["state"])
    return str(facts.get("phase") or facts["state"])


def deadline_line(facts: Status) -> list[str]:
    """The line of the deadline; nothing where there is none."""
    said = deadline_words(facts)
    return [f"deadline  {said}"] if said else []


def deadline_words(facts: Status) -> str:
    """`in 5 min 10 s`, `kept, with 12 s to spare` or `missed by 8 s`."""
    due = facts.get("deadline_at")
    if due is None:
        return ""
    ended = facts.get("ended_at")
    left = due - (facts.get("now", 0.0) if ended is None else ended)
    if left < 0:
        return f"missed by {duration(-left)}"
    return f"in {duration(left)}" if ended is None else f"kept, with {duration(left)} to spare"


def money_line(facts: Status) -> str:
    currency = facts.get("currency", "$")
    said = f"{amount(facts['spent'], currency)} spent"
    if facts.get("reserved"):
        said += f", {amount(facts['reserved'], currency)} more promised to machines"
    if cap := cap_of(facts):
        what = "budget" if facts.get("budget") is not None else "limit"
        said += f", {what} {amount(cap, currency)}"
    return said


def seconds_of(facts: Status) -> float:
    """Until it was decided that all is done, or until now; machines may take longer to end."""
    ended = facts.get("ended_at")
    return float(facts.get("now", 0.0) if ended is None else ended)


def cap_of(facts: Status) -> Money | None:
    """The money that may be spent; before the choice the limit is only that of the sample."""
    if (budget := facts.get("budget")) is not None:
        return budget
    return facts.get("limit") if facts.get("chosen") else None


def eta_words(facts: Status) -> str:
    """`about 5 min 10 s to go, 4 min 20 s to 6 min 40 s`; "" when nothing is known."""
    if facts.get("eta_seconds") is None:
        return ""
    said = f"about {duration(facts['eta_seconds'])} to go"
    if low_high := facts.get("eta_bounds"):
        low, high = map(duration, low_high)
        said += f" (90 %: {low} to {high})" if low != high else ""
    return said


def told_line(facts: Status) -> list[str]:
    """`told      $0.12 (90 %: $0.14) and 5 min (90 %: 6 min) in all`; the same as of now."""
    told, looks = facts.get("told"), facts.get("looks") or []
    lines = [f"told      {_promise(told, facts)}"] if told else []
    if looks and not facts["over"]:
        lines.append(f"by now    {_promise(looks[-1], facts)}")
    if risk := facts.get("at_risk"):
        lines.append(f"at risk   {risk}")
    return lines


def _promise(told: Promise, facts: Status) -> str:
    currency = facts.get("currency", "$")
    price, bound = (amount(told[key], currency) for key in ("cost", "cost_bound"))
    time, within = (duration(told[key]) for key in ("seconds", "seconds_bound"))
    said = f"{price} (90 %: {bound}) and {time} (90 %: {within}) in all"
    tasks = told.get("tasks", 0)
    if tasks and (facts.get("open") or tasks < facts["total"]):
        said += f", for the {tasks:,} tasks known {'so far' if tasks == facts['total'] else 'then'}"
    return said


def cluster_lines(facts: Status) -> list[str]:
    lines = []
    for one in facts.get("clusters", ()):
        said = f"{one['name']}: {count(one['machines'], 'machine')}"
        if one["leaving"]:
            said += f", {one['leaving']} leaving"
        if one["known"]:
            said += f", a task takes {runtime(one['mean_seconds'])} ({one['known']:,} known)"
        if one["set_aside"]:
            said += f", set aside: {one['set_aside']}"
        lines.append(said)
    return lines

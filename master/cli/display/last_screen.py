"""The last words of `bats run`: what became of the bag, what it cost, where all of it is."""

from bats.master.api.replies import Schedule, Status
from bats.master.cli.display.bag_status import (
    cap_of,
    deadline_line,
    failed_of,
    failure_lines,
    seconds_of,
    waiting_words,
)
from bats.master.cli.display.formatting import amount, count, duration


class Ended(Status):
    promise: Schedule | None  # what its schedule had foretold


def last_screen(facts: Ended) -> str:
    currency = facts["currency"]
    total, done, failed = facts["total"], facts["done"], failed_of(facts)
    paused = facts.get("paused")
    words = "paused" if paused else {"complete": "done"}.get(facts["state"], facts["state"])
    lines = [
        f"{words}: {done:,} of {count(total, 'task')} done"
        + (f", {failed:,} failed" if failed else "")
        + waiting_words(facts)
        + f" in {duration(seconds_of(facts))}"
    ]
    lines += deadline_line(facts)
    if paused:
        lines.append(f"because   {paused['reason']}")
        lines.append(f"next      {paused['ways']}")
    elif facts["state"] not in {"complete", "with failures"} and facts["words"]:
        lines.append(f"because   {facts['words']}")
        if facts.get("dropped"):
            lines.append(f"next      `bats resume {facts['bag']}` goes on with what is not done")
    spent = amount(facts["spent"], currency)
    cap = cap_of(facts)
    lines.append(f"cost      {spent}" + (f" of {amount(cap, currency)}" if cap else ""))
    lines[1:1] = failure_lines(facts)
    if promise := facts["promise"]:
        said = (
            f"promised  {amount(promise['cost'], currency)} and "
            f"{duration(promise['makespan_seconds'])} after the sample, by {promise['name']}"
        )
        if bounds := promise.get("bounds"):
            said += (
                f"; 90 %: within {amount(bounds['cost'], currency)} and "
                f"{duration(bounds['makespan_seconds'])}"
            )
        lines.append(said)
        if facts["ended_at"] is not None:
            cost = amount(max(0, facts["spent"] - facts["chosen_committed"]), currency)
            stood = facts.get("stood_still", 0.0)  # a store of before has none
            took = duration(facts["ended_at"] - facts["chosen_at"] - stood)
            rest = f", and stood still for {duration(stood)}" if stood else ""
            lines.append(f"took      {cost} and {took} after the sample{rest}")
    lines.append(f"output    {facts['output_folder']}")
    lines.append(f"more      bats results {facts['bag']}; bats explain {facts['bag']}")
    return "\n".join(lines)

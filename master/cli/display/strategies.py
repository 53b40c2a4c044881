"""Strategies for unreliable machines, as a table with a picture of price and time."""

import shutil
import sys

from bats.master.api import replies
from bats.master.cli.display.formatting import amount, count, duration, table
from bats.master.cli.display.scatter import scatter


def _taking(facts: replies.Frontier) -> str:
    if facts["may_change"] and facts["current"]:
        return f'The best by that: bats choose {facts["bag"]} --strategy "{facts["chosen"]}"'
    return f'The best by that: --tail ntdmr --strategy "{facts["chosen"]}"'


def said(facts: replies.Frontier) -> str:
    found, currency = facts["strategies"], facts["currency"]
    if not facts["tasks"]:
        return "Nothing is known of unreliable machines: the bag has none, or none has done a task."
    if not found:
        return "No strategy ends the bag: nothing comes back from its unreliable machines."
    head = ["", "strategy", "time", "±", "price", "±"]
    rows = [
        [
            str(number),
            one["name"] + (" <" if one["name"] == facts["chosen"] else ""),
            duration(one["makespan_seconds"]),
            duration(one["makespan_spread"]),
            amount(one["cost"], currency),
            amount(one["cost_spread"], currency),
        ]
        for number, one in enumerate(found, 1)
    ]
    lines = [
        (
            f"{count(facts['tasks'], 'task')} on {count(facts['machines'], 'unreliable slot')}: "
            f"{facts['reliability']:.0%} of what is sent there returns, "
            f"after {duration(facts['mean_seconds'])} on average"
        ),
        "",
        table(head, rows),
    ]
    screen = shutil.get_terminal_size() if sys.stdout.isatty() else None
    if screen and (drawn := scatter(found, currency, width=screen.columns)):
        lines += ["", drawn]
    lines.append("")
    lines.append(_taking(facts) if facts["chosen"] else "None of them keeps the limits given.")
    return "\n".join(lines)

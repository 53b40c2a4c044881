"""Schedules on offer, as a table with a picture of price and time."""

from collections.abc import Iterator, Sequence
from typing import Final

from bats.master.api.replies import Schedule, Schedules
from bats.master.cli.display.formatting import amount, count, duration, mix, shortened, table
from bats.master.cli.display.scatter import scatter

_MIX: Final = 2  # the column of the mixes
_LEAST_MIX: Final = 8  # characters that are left of one


def offers(facts: Schedules, *, width: int | None = None, height: int = 0) -> str:
    """The schedules as a numbered table, and a picture of them in so many lines if that is given.

    Prices are for what is left to do. A `width` shortens the mixes until the table fits.
    """
    found = facts["schedules"]
    if not found:
        if facts["phase"] == "sampling":
            return "The sample is still running; schedules are offered after it."
        return "There is nothing to choose: no schedule is offered."
    currency = facts["currency"]
    head, rows = _columns(facts)
    said = table(head, rows)
    over = max(map(len, said.split("\n"))) - width if width else 0
    if over > 0:
        room = max(_LEAST_MIX, max(len(row[_MIX]) for row in rows) - over)
        for row in rows:
            row[_MIX] = shortened(row[_MIX], room)
        said = table(head, rows)
    lines = [said]
    if height and (drawn := scatter(found, currency, width=width or 80, height=height)):
        lines += ["", drawn, ""]
    lines += _risks(found, currency)
    if any(one.get("bounds") for one in found):
        lines.append("at most, within: with 90 % confidence; chance: that its budget will do")
    until = "Until it was chosen" if facts["chosen"] else "So far"  # who thinks it over takes time
    gone = f"{amount(facts['committed'], currency)} and {duration(facts['at'])}"
    rest = "the rest"
    if facts.get("open") and not facts["chosen"]:
        rest += f", for the {count(facts['tasks'], 'task')} known so far"
    lines.append(f"{until}: {gone}; the table is of {rest}.")
    lines += _in_all(facts)
    return "\n".join(lines)


def _in_all(facts: Schedules) -> Iterator[str]:
    """The price and the time of the whole bag, by the schedule that was chosen."""
    for one in facts["schedules"]:
        if one["name"] == facts["chosen"] and (bounds := one.get("bounds")):
            price, bound = (
                amount(facts["committed"] + cost, facts["currency"])
                for cost in (one["cost"], bounds["cost"])
            )
            time, within = (
                duration(facts["at"] + seconds)
                for seconds in (one["makespan_seconds"], bounds["makespan_seconds"])
            )
            yield f"All of it by {one['name']}: {price} (90 %: {bound}) in {time} (90 %: {within})."


def _risks(found: Sequence[Schedule], currency: str) -> Iterator[str]:
    """Schedules that may leave tasks over, and what would pay for those."""
    alike: dict[tuple[int, int], list[str]] = {}
    for number, one in enumerate(found, 1):
        if one["delta_n"] > 0:
            alike.setdefault((one["delta_n"], one["cushion"]), []).append(str(number))
    for (tasks, cushion), numbers in alike.items():
        yield (
            f"{', '.join(numbers)}: {count(tasks, 'task')} may not fit into the time paid for; "
            f"{amount(cushion, currency)} more would pay"
        )


def _columns(facts: Schedules) -> tuple[list[str], list[list[str]]]:
    found, currency = facts["schedules"], facts["currency"]
    bounded = any(one.get("bounds") for one in found)
    head = ["", "schedule", "machines", "price", "time"]
    if bounded:
        head = [*head[:4], "at most", "time", "within", "chance"]
    rows = []
    for number, one in enumerate(found, 1):
        price, time = amount(one["cost"], currency), duration(one["makespan_seconds"])
        row = [
            str(number),
            one["name"] + (" <" if one["name"] == facts["chosen"] else ""),
            mix(one["mix"], facts["clusters"]),
        ]
        if bounds := one.get("bounds"):
            row += [price, amount(bounds["cost"], currency)]
            row += [time, duration(bounds["makespan_seconds"]), f"{bounds['chance_in_budget']:.0%}"]
        else:
            row += [price, "–", time, "–", "–"] if bounded else [price, time]
        rows.append(row)
    return head, rows

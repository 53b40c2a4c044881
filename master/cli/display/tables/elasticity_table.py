"""The measures of autoscalers in words."""

import time
from typing import Final

from bats.master.api import replies
from bats.master.cli.display.formatting import count, duration, table

HOUR: Final = 3600.0
SHARES: Final = (
    ("a_u", "a_U", "places short, of all there can be"),
    ("a_o", "a_O", "places too many, of all there can be"),
    ("mean_a_u", "ā_U", "places short, of those wanted"),
    ("mean_a_o", "ā_O", "places too many, of those wanted"),
    ("t_u", "t_U", "of the time with places short"),
    ("t_o", "t_O", "of the time with places too many"),
    ("k", "k", "of steps in which supply rose against demand"),
    ("k_less", "k'", "of steps in which supply fell against demand"),
    ("m_u", "m_U", "places idle, of all there can be"),
)


def measures(facts: replies.Elasticity) -> str:
    span = f"{duration(facts['since_seconds'])} to {duration(facts['until_seconds'])}"
    title = (
        f"Bag {facts['bag']}, from {span} after its beginning, of at most "
        f"{count(facts['most'], 'place')}; {facts['mean_supply']:.3g} on average."
    )
    return _told(title, facts)


def measures_of_all(facts: replies.MasterElasticity) -> str:
    since, until = (
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts[key])) for key in ("since", "until")
    )
    return _told(
        f"{count(facts['bags'], 'bag')} from {since} to {until}, of at most "
        f"{count(facts['most'], 'place')}; {facts['mean_supply']:.3g} on average.",
        facts,
    )


def _told(title: str, facts: replies.Measures) -> str:
    numbers: dict[str, float] = dict(facts)  # type: ignore[arg-type]  # those named are numbers
    rows = [(letters, f"{numbers[key]:.1%}", words) for key, letters, words in SHARES]
    told = [title, table(("", "share", ""), rows)]
    if facts["left_out"] > 0:
        told.append(
            f"{facts['left_out']:.0%} of the time is left out of this: more was wanted than there "
            "can be."
        )
    told.append(
        f"Machines were on for {_hours(facts['hours_on'])} and charged for "
        f"{_hours(facts['hours_charged'])}; all that there can be, always on, would have been on "
        f"for {_hours(facts['hours_always_on'])}."
    )
    if facts["score"] is not None:
        told.append(f"Elasticity score against that: {facts['score']:.2f}; more is better.")
    return "\n".join(told)


def _hours(hours: float) -> str:
    return duration(hours * HOUR)

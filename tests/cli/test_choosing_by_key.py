"""A key means the schedule that stands beside it, not one that has just come there."""

from typing import Any

from bats.master.cli.dialogue import Dialogue

ASKED = {"phase": "choosing", "paused": None}


class Shown:
    """A screen on which schedules of these names stand."""

    look_seconds = 1.0
    question = ""

    def __init__(self) -> None:
        self.offered: dict[str, Any] | None = None

    def offer(self, *names: str) -> None:
        self.offered = {"schedules": [{"name": name} for name in names], "balanced": names[0]}


async def test_while_schedules_change_places_a_key_chooses_none() -> None:
    shown, nobody = Shown(), object()
    dialogue: Any = Dialogue(nobody, 1, "ask", lambda _: shown, person=True)  # type: ignore[arg-type]
    shown.offer("cheapest", "fastest")
    await dialogue.heard(ASKED)
    await dialogue.heard(ASKED)
    shown.offer("cheapest", "fastest-20%", "fastest")
    await dialogue.heard(ASKED)
    await dialogue._take("2")
    await dialogue.heard(ASKED)
    assert shown.question.startswith("The schedules have just changed: press again. Which?")
    await dialogue._take("7")
    await dialogue.heard(ASKED)
    assert shown.question.startswith("7 is none of them.")
    assert not dialogue._moved, "from now on it is what it was"

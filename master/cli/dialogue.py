"""The dialogue of `bats run` with who sits there: which schedule, and whether to go on."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from bats.common.errors import BatsError
from bats.common.money import Money
from bats.master.api.asking import Asks, ask
from bats.master.api.replies import Status
from bats.master.api.requests import Allow, Cancel, Choose, Resume
from bats.master.cli.display.follower import Display, Screen


class Dialogue:
    """With nobody there nothing is asked; the bag is shown and may be cancelled all the same."""

    def __init__(
        self,
        client: Asks,
        bag: int,
        rule: str,
        show: Callable[[Callable[[str], None]], Display],
        *,
        person: bool,
    ) -> None:
        """`show` makes a display that calls back with the keys that are pressed."""
        self.bag = bag
        self.shown = show(self._pressed)
        self.stays = person and isinstance(self.shown, Screen)  # to be asked while it is paused
        self._client = client
        self._rule = rule
        self._paused = False
        self._enough: int | None = None  # money that would do, if it waits for that
        self._said = ""  # to a key that means nothing
        self._before: dict[str, str] = {}  # schedules by their keys, when last looked at
        self._moved = False  # since then a key means another one
        self._answers: set[asyncio.Task[Any]] = set()  # on their way to the master

    def interrupted(self, number: int) -> None:
        """Cancel the bag in order, for a signal."""
        self.shown.close()
        pressed = number == signal.SIGINT
        reason = f"stopped by {'Ctrl-C' if pressed else signal.Signals(number).name}"
        self._answer(ask(self._client, Cancel(self.bag, reason)))

    def _answer(self, doing: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(doing)
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def heard(self, status: Status) -> None:
        """Ask as long as it is open how to go on: something may be chosen in another shell too."""
        shown = self.shown
        names = self._names()  # news come once a second: so long a key would mean another schedule
        self._moved = len(self._before) > 1 and names != self._before
        self._before = names
        paused = status.get("paused")
        self._paused = paused is not None
        self._enough = paused["budget"] if paused else None
        if not self._is_asked(status):
            shown.question = self._said = ""
        elif not self._answers:
            shown.question = f"{self._said} {self._question()}".lstrip()

    def _is_asked(self, status: Status) -> bool:
        if self._paused:
            return self.stays
        may_choose = status.get("phase") == "choosing" and self._rule == "ask"
        return may_choose and self.shown.offered is not None

    def _question(self) -> str:
        if self._paused and self._enough:
            return "Press a to allow it, q to cancel."
        if self._paused:
            return "Press r to go on, q to cancel."
        names = self._names()
        balanced = next((key for key, name in names.items() if name == names["b"]), "b")
        return f"Which? Press its number, b for balanced ({balanced}), q to cancel."

    def _pressed(self, key: str) -> None:
        # What is typed before there is a question, or again, is no answer to it.
        if self.shown.question and not self._answers:
            self._answer(self._take(key))

    async def _take(self, key: str) -> None:
        self._said = ""
        try:
            if key == "q":
                self.shown.question = "Cancelling."
                reason = "cancelled while paused" if self._paused else "nothing was chosen"
                await ask(self._client, Cancel(self.bag, reason))
            elif self._paused and self._enough and key in {"a", "r"}:
                self.shown.question = "Going on."
                await ask(self._client, Allow(self.bag, Money(self._enough)))
            elif self._paused and key == "r":
                self.shown.question = "Going on."
                await ask(self._client, Resume(self.bag))
            elif self._moved and key in self._names():
                self._said = "The schedules have just changed: press again."
            elif name := self._names().get(key):
                self.shown.question = f"Taking {name}."
                await ask(self._client, Choose(self.bag, name))
            else:
                self._said = f"{key} is none of them."
        except BatsError as error:  # what was asked cannot be had any more
            self._said = str(error)

    def _names(self) -> dict[str, str]:
        """The schedules on the screen by the keys that mean them."""
        facts = None if self._paused else self.shown.offered
        if facts is None:
            return {"b": ""}
        names = [one["name"] for one in facts["schedules"]]
        return {**dict(zip("123456789", names, strict=False)), "b": facts["balanced"]}

"""A user: submits bags until they are there, has what is paused go on, and changes their mind."""

import hashlib
import random
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bats.common.messages import BagId, BlobChunk, Reply, Request, TaskId
from bats.common.wire.codec import decode, encode
from bats.master.bag_states import PAUSED
from bats.master.service.wire.router import Heard
from bats.master.store.reader import Reader
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis, OpenSpace, Space, space_to_plain
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.workflow.after import After
from bats.master.sweep.workflow.workflow import Workflow
from fate.stories import Errand

if TYPE_CHECKING:
    from fate.world import World

_LOOK_SECONDS: Final = 1.0
_MOST_RESUMED: Final = 6
_CHUNK_BYTES: Final = 64 << 10
_ANSWER_SECONDS: Final = 30.0
_UPLOAD_SECONDS: Final = 0.1
_LOST: Final = 0.3  # the share of answers to an open bag's user that are lost


class User:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._left = list(world.story.errands)  # to be submitted
        self._asked: dict[str, int] = {}  # in which life of the master
        self._asks = 0
        self._asked_for: dict[int, Errand] = {}  # by which request
        self._open: dict[int, tuple[str, int, float]] = {}  # asked of which life, when
        self._heard = 0  # answers
        self._to_say = {one.name: _words_to(one) for one in self._left if one.batches}
        self._said: dict[int, str] = {}  # of which bag, by request
        self._losing = random.Random(f"answers {world.seed}")
        self._waits: dict[str, int] = {}  # for an answer of which life of the master
        self._resumed = 0
        self.refusals: list[str] = []  # of submissions, for reasons that do not pass
        self._cap_asked_in = 0  # which life of the master
        self._cap_ask = -1
        self.capped = world.story.cap is None  # as it is to be, before the first bag
        self.lifted_at: float | None = None
        self._lift_asked_in = 0  # which life of the master

    @property
    def has_submitted_all(self) -> bool:
        return not self._left and not any(self._to_say.values())

    def look(self) -> None:
        """Look in now and then, as long as bags are to be submitted."""
        world = self._world
        if world.master is not None:
            self._hear()
            self._see_to_cap()
            there = self._bags()
            self._left = [one for one in self._left if one.name not in there]
            for errand in self._left if self.capped else ():
                if world.loop.now >= errand.at and self._asked.get(errand.name) != world.lives:
                    self._submit(errand)
            for name in [name for name, words in self._to_say.items() if words and name in there]:
                self._say_next(name, there[name])
        if not self.has_submitted_all:
            world.loop.outside(_LOOK_SECONDS, self.look)

    def _say_next(self, name: str, bag: BagId) -> None:
        """Add the next batch, or close the bag: the same again until it is answered."""
        if self._waits.get(name) == self._world.lives:
            return
        verb, body = self._to_say[name][0]
        self.ask(verb, bag=bag, **body)
        self._said[self._asks], self._waits[name] = name, self._world.lives

    def _answered(self, reply: Reply) -> None:
        name = self._said.pop(reply.id)
        self._waits.pop(name, None)
        if self._losing.random() < _LOST:
            return  # it never reached whoever asked, who asks again
        if not reply.error:
            self._to_say[name].pop(0)
        elif "has ended" in reply.error:  # cancelled, or out of money
            self._to_say[name].clear()

    def _see_to_cap(self) -> None:
        """Set the cap before anything is submitted, and again until that was answered."""
        cap = self._world.story.cap
        if cap is not None and not self.capped and self._cap_asked_in != self._world.lives:
            self.ask("cap", amount=cap)
            self._cap_asked_in, self._cap_ask = self._world.lives, self._asks

    def lift_cap(self) -> None:
        """When all troubles are over and the cap lets nothing more be bought, lift it."""
        world = self._world
        said = self._lift_asked_in == world.lives  # a master that is killed may not have heard it
        if world.story.cap is not None and self.capped and world.master is not None and not said:
            self.lifted_at = world.loop.now if self.lifted_at is None else self.lifted_at
            self._lift_asked_in = world.lives
            self.ask("uncap", period="ever")

    def resume_paused(self) -> None:
        """When all troubles are over, what was paused by them goes on."""
        bags = self._world.master.bags.known.values() if self._world.master else ()
        for bag in bags:
            if bag.state == PAUSED and self._resumed < _MOST_RESUMED:
                self._resumed += 1
                self.ask("resume", bag=bag.id)

    def wants_again(self, seconds: float, bag: BagId, tasks: list[int]) -> None:
        """What was left out is wanted, after all."""
        self._world.left_out |= {(bag, TaskId(task)) for task in tasks}
        self._world.loop.outside(seconds, partial(self.ask, "retry", bag=bag, tasks=tasks))

    def ask(self, verb: str, **body: Any) -> None:
        """Over the master's socket like anybody."""
        self._asks += 1
        if self._say(Request(self._asks, verb, body)):
            self._open[self._asks] = verb, self._world.lives, self._world.loop.now

    def _hear(self) -> None:
        """Answers to submissions: what was not taken for want of room is submitted again."""
        answers = self._world.network.answers
        for _, frame in answers[self._heard :]:
            reply = decode(frame)
            if isinstance(reply, Reply) and reply.id in self._said:
                self._answered(reply)
            if isinstance(reply, Reply) and reply.id == self._cap_ask:
                self.capped |= not reply.error
                self._cap_asked_in = self._cap_asked_in if self.capped else 0
            if not isinstance(reply, Reply) or not (errand := self._asked_for.get(reply.id)):
                continue
            if not reply.error or "It will be done when it can" in reply.error:
                continue
            if "has not been sent" in reply.error or "make room there" in reply.error:
                self._asked.pop(errand.name, None)
            else:
                self.refusals.append(reply.error)
        self._heard = len(answers)

    def _submit(self, errand: Errand) -> None:
        self._asked[errand.name] = self._world.lives
        inputs = []
        for name, content in errand.inputs.items():
            sha256 = hashlib.sha256(content).hexdigest()
            inputs.append([name, sha256, len(content), 0o644])
            for at in range(0, max(1, len(content)), _CHUNK_BYTES):
                self._say(BlobChunk(sha256, at, len(content), content[at : at + _CHUNK_BYTES]))
        body: dict[str, Any] = {"sweep": _sweep(errand).to_plain(), "inputs": inputs}
        if errand.budget is not None:
            body["budget"] = errand.budget
        self._world.loop.outside(_UPLOAD_SECONDS, self._ask_for, errand, body)

    def _ask_for(self, errand: Errand, body: dict[str, Any]) -> None:
        self.ask("submit", **body)
        self._asked_for[self._asks] = errand

    def unanswered(self, ended_at: float) -> Iterator[str]:
        """Requests that a master which lives on has not answered, though it was patiently asked."""
        world = self._world
        told = [(at, decode(frame)) for at, frame in world.network.answers]
        heard = {reply.id: at for at, reply in told if isinstance(reply, Reply)}
        still = ("master_frozen", "last_words_late")
        frozen = sum(seconds for _, what, seconds in world.story.befalls if what in still)
        patience = _ANSWER_SECONDS + frozen
        for number, (verb, life, at) in self._open.items():
            if number not in heard and life == world.lives and at + patience < ended_at:
                yield f"`{verb}` of {at:.0f} s is not answered"
            elif (seconds := heard.get(number, at) - at) > patience:
                yield f"`{verb}` of {at:.0f} s is answered after {seconds:.0f} s"

    def _say(self, message: Any) -> bool:
        """True if there was a master to hear it."""
        master, network = self._world.master, self._world.network
        if master is None or network.master is None:
            return False
        heard = Heard(b"client", master.home.client.public, memoryview(encode(message)))
        self._world.loop.within(network.master.process, 0.0, network.master.hear, [heard])
        return True

    def _bags(self) -> dict[str, BagId]:
        with Reader(self._world.state) as reader:
            return {bag.name: bag.id for bag in reader.bags()}


def _words_to(errand: Errand) -> list[tuple[str, dict[str, Any]]]:
    """The requests that give an open bag its later tasks, each with its key, and close it."""
    words: list[tuple[str, dict[str, Any]]] = []
    first = errand.tasks - sum(errand.batches)
    for count in errand.batches:
        space = space_to_plain(_numbers(first, count))
        words.append(("add", {"space": space, "key": f"from {first}"}))
        first += count
    return [*words, ("close", {})]


def _numbers(first: int, count: int) -> Space:
    return Space((Axis(("x",), (Listed(map(str, range(first, first + count))),)),))


def _sweep(errand: Errand) -> Sweep | Workflow:
    steps = []
    first = 0
    for k, size in enumerate(errand.steps):
        later = sum(errand.batches)
        space: Space | OpenSpace = _numbers(first, size - later) if size > later else Space()
        if errand.batches:
            space = OpenSpace(("x",), [_numbers(first, size - later)] if size > later else [])
        name = errand.name if len(errand.steps) == 1 else f"step{k}"
        steps.append(
            Sweep(
                space,
                name=name,
                command="work {x}",
                inputs=tuple(errand.inputs),
                outputs=("left",),
                retries=errand.retries,
            )
        )
        first += size
    if len(steps) == 1:
        return steps[0]
    after = tuple((After(before.name),) for before in steps[:-1])
    return Workflow(tuple(steps), ((), *after), (errand.retries,) * len(steps), name=errand.name)

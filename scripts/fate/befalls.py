"""All that can befall a world, each for so many seconds."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bats.common.messages import BagId, Outcome, Result, Results
from bats.common.wire.codec import decode, encode
from bats.deploy.protocol import Gone

if TYPE_CHECKING:
    from fate.world import World

_FULL: Final = 28
_BROKEN: Final = 5


def links_break(world: "World", _seconds: float) -> None:
    world.network.cut_all()


def links_down(world: "World", seconds: float) -> None:
    _weather(world, seconds, down=True)
    world.network.cut_all()


def links_slow(world: "World", seconds: float) -> None:
    _weather(world, seconds, bytes_per_second=2e4, delay_seconds=0.5)


def links_drop(world: "World", seconds: float) -> None:
    _weather(world, seconds, dropped=0.2)


def links_double(world: "World", seconds: float) -> None:
    _weather(world, seconds, doubled=0.2)


def links_reorder(world: "World", seconds: float) -> None:
    _weather(world, seconds, overtaken=0.1)


def last_words_late(world: "World", seconds: float) -> None:
    """Links are slow; then the master stands still, and its last words are still on their way."""
    _weather(world, seconds / 4, delay_seconds=min(seconds / 20, 3.0))
    world.loop.call_later(seconds / 4, master_frozen, world, seconds)


def master_killed(world: "World", seconds: float) -> None:
    world.kill_master()
    world.loop.call_later(seconds, world.begin_master)


def killed_midway(world: "World", seconds: float) -> None:
    """The master is killed just when a worker has heard from it."""
    world.network.when_told = lambda: master_killed(world, seconds)


def disk_slow(world: "World", seconds: float) -> None:
    _for_a_while(world, world.loop.pace, seconds, sync_seconds=1.0)


def power_cut(world: "World", seconds: float) -> None:
    world.kill_master()
    world.cuts += 1
    world.disk.power_cut()
    world.loop.call_later(seconds, world.begin_master)


def master_frozen(world: "World", seconds: float) -> None:
    if process := world.master_process:
        process.frozen = True
        world.loop.call_later(seconds, world.loop.thaw, process)


def machine_vanishes(world: "World", _seconds: float) -> None:
    if living := world.provider.alive():
        world.provider.end(world.rng.choice(living), Gone.PREEMPTED)


def machine_frozen(world: "World", seconds: float) -> None:
    if living := world.provider.alive():
        process = world.rng.choice(living).process
        process.frozen = True
        world.loop.call_later(seconds, world.loop.thaw, process)


def disk_full(world: "World", seconds: float) -> None:
    """Somebody asks for something meanwhile."""
    _for_a_while(world, world.disk, seconds, trouble=_FULL)
    for bag in world.bags:
        world.loop.call_later(
            seconds / 4, lambda bag=bag: world.user.ask("weigh", bag=bag, weight=2)
        )


def disk_broken(world: "World", seconds: float) -> None:
    _for_a_while(world, world.disk, seconds, trouble=_BROKEN)


def worker_disk_full(world: "World", seconds: float) -> None:
    _for_a_while(world, world.workers_disk, seconds, trouble=_FULL)


def outputs_full(world: "World", seconds: float) -> None:
    """The output folder is on a disk of its own, which has no room."""
    _for_a_while(world, world.outputs, seconds, trouble=_FULL)


def answers_lost(world: "World", seconds: float) -> None:
    _for_a_while(world, world.provider.mood, seconds, loses_answers=0.6)


def provider_busy(world: "World", seconds: float) -> None:
    _for_a_while(world, world.provider.mood, seconds, busy=0.8)


def provider_short(world: "World", seconds: float) -> None:
    """The provider has little to give: answers get lost, machines are taken back soon."""
    _for_a_while(world, world.provider.mood, seconds, loses_answers=0.6, takes_back=0.7)


def lists_stale(world: "World", seconds: float) -> None:
    _for_a_while(world, world.provider.mood, seconds, stale_seconds=8.0)


def one_lies(world: "World", _seconds: float) -> None:
    living = [one for one in world.provider.alive() if one.session and not one.liar]
    if living:
        machine = world.rng.choice(living)
        machine.liar = True
        machine.process.context.run(make_lie, world, machine.session.session)


def user_pauses(world: "World", seconds: float) -> None:
    """A user has all bags stand still for a while."""
    for bag in world.bags:
        world.user.ask("pause", bag=bag)
        world.loop.call_later(seconds, lambda bag=bag: world.user.ask("resume", bag=bag))


def user_changes_mind(world: "World", seconds: float) -> None:
    """A user leaves out a task that waits or runs, and wants it after all."""
    for bag, errand in world.bags.items():
        tasks = [world.rng.randrange(errand.tasks)]
        world.user.ask("drop", bag=bag, tasks=tasks)
        again = world.rng.uniform(0.0, min(2.0, seconds))
        world.user.wants_again(again, bag, tasks)


def _weather(world: "World", seconds: float, **changed: Any) -> None:
    _for_a_while(world, world.network.weather, seconds, **changed)


def _for_a_while(world: "World", what: Any, seconds: float, **changed: Any) -> None:
    usual = type(what)()
    for name, value in changed.items():
        setattr(what, name, value)
        world.loop.call_later(seconds, setattr, what, name, getattr(usual, name))


_HAPPENS: Final = {
    befall.__name__: befall
    for befall in (
        links_break, links_down, links_slow, links_drop, links_double, links_reorder,
        master_killed, power_cut, master_frozen, machine_vanishes, machine_frozen,
        killed_midway, disk_slow, disk_full, disk_broken, outputs_full, answers_lost, lists_stale,
        provider_busy, provider_short,
        one_lies, worker_disk_full, user_pauses, user_changes_mind,
    )
}  # fmt: skip
BEFALLS: Final = tuple(_HAPPENS)
HAPPENS: Final[dict[str, Callable[["World", float], None]]] = {
    **_HAPPENS, "last_words_late": last_words_late,
}  # fmt: skip


# --- a worker that lies ---------------------------------------------------------------------------


def make_lie(world: "World", session: Any) -> None:
    """It tells of tasks that it was never given, and of files that it does not have."""
    link, rng = session._link, world.rng
    honest = link.send

    def send(frame: bytes) -> bool:
        message = decode(frame)
        if isinstance(message, Results):
            results = tuple(_lie(world, one) for one in message.results)
            frame = encode(Results(message.serial, results))
        return bool(honest(frame))

    def lie_of_its_own() -> None:
        bag = rng.randint(1, len(world.story.errands) + 1)
        told = Result(BagId(bag), rng.randrange(25), rng.randint(1, 3), Outcome.DONE, 0, 1e300,
                      0.0, 0.0, 0, 0, "forged", 0)  # fmt: skip
        if rng.random() < 0.5 and link.up:
            honest(encode(Results(10**6 + rng.randrange(10**6), (told,))))
        world.loop.call_later(rng.uniform(1, 60), lie_of_its_own)

    link.send = send
    world.loop.call_later(rng.uniform(1, 20), lie_of_its_own)


def _lie(world: "World", result: Result) -> Result:
    if world.rng.random() < 0.3:
        return result._replace(outputs=tuple((n, "ab" * 32, s) for n, _, s in result.outputs))
    return result._replace(wall_seconds=1e300) if world.rng.random() < 0.3 else result

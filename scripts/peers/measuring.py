"""Figures of a task runner, two tasks at a time, beside those of `xargs` in the same minute."""

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import Final

from peers.catalogue import PEERS, XARGS, Peer
from peers.sitting import FailedError, sitting
from peers.sources import UnavailableError

YARD: Final = 2_000


def rate(peer: Peer, tasks: int, command: str = "true") -> float:
    """Tasks per second, from when it is ready until all results are known."""
    with sitting(peer.source.environment) as here:
        ready, done = peer.recipe(here, tasks, command)
        return tasks / (done - ready)


def share_of_ideal(peer: Peer, naps: int, seconds: float) -> float:
    """Of the time of two slots, what tasks that sleep are given."""
    return rate(peer, naps, f"sleep {seconds}") * seconds / 2


def first_task(peer: Peer) -> float:
    """Seconds from nothing to one task done."""
    began = time.time()
    with sitting(peer.source.environment) as here:
        _, done = peer.recipe(here, 1, "true")
        return done - began


def beside(measured: Callable[[], float], tasks: int) -> tuple[float, float]:
    """A rate, and over that of `xargs` right before and right after: computers vary by 2."""
    before = rate(XARGS, min(YARD, tasks))
    found = measured()
    after = rate(XARGS, min(YARD, tasks))
    return found, found / statistics.mean((before, after))


def rates(names: Iterable[str], tasks: int) -> dict[str, float]:
    """Tasks per second by title, of those that are installed; says which are not."""
    found, absent = {}, []
    for name in names:
        peer = PEERS[name]
        if not peer.source.there:
            absent.append(name)
            continue
        try:
            found[peer.title] = rate(peer, min(tasks, peer.most))
        except FailedError as error:
            print(f"{peer.title}: {error}", file=sys.stderr)
    if absent:
        print(f"not installed: scripts/peers.py --install {' '.join(absent)}", file=sys.stderr)
    return found


def installed(name: str) -> bool:
    """Have it; says why not."""
    source = PEERS[name].source
    try:
        if not source.there:
            print(f"installing {name} {source.version} …", file=sys.stderr)
        source.install()
    except UnavailableError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return False
    return True

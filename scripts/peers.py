#!/usr/bin/env python3
"""Other task runners beside BaTS: two tasks at a time on this computer, shell commands.

usage: scripts/peers.py NAME… [--install] [--quick] [--json]

Each is had from its registry on first use, as pinned in scripts/peers, into `.cache/peers` (or
the folder that BATS_PEERS names): Ray takes 260 MB, the others less. Nothing is installed into
the system. Told of each are the rate of `true`, also as a share of what `xargs -P2` does right
before and after; of 200 × `sleep 0.05`, the share of the ideal; and the seconds from nothing to
one task done. The bar is held against those that can use other computers, as BaTS does.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from benches import latency, spawn
from benches.efficiency import NAP, share
from figures import Report
from peers.catalogue import PEERS, Peer
from peers.measuring import beside, first_task, installed, rate, share_of_ideal
from peers.sitting import FailedError


@dataclass(frozen=True)
class Size:
    tasks: int = 10_000
    naps: int = 200
    times: int = 3


@dataclass(frozen=True)
class Runner:
    """What is measured: tasks per second, the share of the ideal, seconds to the first task."""

    title: str
    rate: Callable[[int], float]
    share: Callable[[int], float]
    first: Callable[[], float]


QUICK = Size(tasks=100, naps=20, times=1)


def main(arguments: list[str] | None = None) -> int:
    names = [*PEERS, "all"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--install", action="store_true", help="have them; measure nothing")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK.tasks} tasks, once")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    given = parser.parse_args(arguments)
    wanted = list(PEERS) if "all" in given.name else given.name
    there = [name for name in wanted if installed(name)]
    if given.install:
        return int(len(there) < len(wanted))
    report = Report("peers")
    measure(report, [PEERS[name] for name in there], quick=given.quick)
    return report.finish(given.json)


def measure(report: Report, peers: list[Peer], *, quick: bool) -> None:
    size = QUICK if quick else Size()
    latency.first_task()  # which may compile our modules
    ours = tell(report, BATS, size)
    fastest = 0.0
    for peer in peers:
        try:
            theirs = tell(report, of(peer), replace(size, tasks=min(size.tasks, peer.most)))
        except FailedError as error:
            print(f"{peer.title} is left out: {error}", file=sys.stderr)
            continue
        if peer.elsewhere:
            fastest = max(fastest, theirs)
    if fastest and not quick:  # a start counts as much as so few tasks
        ratio = ours / fastest
        report.bar("BaTS over the fastest that can use other computers", 2, ratio, ratio >= 2)


BATS = Runner("BaTS", spawn.ours, lambda naps: share(1, 2, naps, NAP), latency.first_task)


def of(peer: Peer) -> Runner:
    return Runner(
        f"{peer.title} {peer.source.version}",
        lambda tasks: rate(peer, tasks),
        lambda naps: share_of_ideal(peer, naps, NAP),
        lambda: first_task(peer),
    )


def tell(report: Report, runner: Runner, size: Size) -> float:
    """Medians of so many times; the share of `xargs`'s rate is given back."""
    seen = [beside(partial(runner.rate, size.tasks), size.tasks) for _ in range(size.times)]
    found, compared = (median(column) for column in zip(*seen, strict=True))
    idle = median(runner.share(size.naps) for _ in range(size.times))
    begun = median(runner.first() for _ in range(size.times))
    report.figure(f"{runner.title}: {size.tasks:,} × true", None, found, "tasks/s")
    report.figure(f"{runner.title}: the same", None, compared, "of xargs -P2")
    report.figure(f"{runner.title}: {size.naps} × sleep {NAP}", None, idle, "of ideal")
    report.figure(f"{runner.title}: first task done after", None, begun, "s")
    return compared


if __name__ == "__main__":
    sys.exit(main())

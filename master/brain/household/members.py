"""Members of the household: bags that run, and the users above them, with what each has had."""

import math
from collections import Counter
from collections.abc import Collection

from bats.common.messages import BagId
from bats.master.brain.household.common_machines import Group
from bats.master.brain.household.notices import Keeps, Opened
from bats.master.brain.household.sharing import Claim
from bats.master.brain.protocol.course import Course


class Served:
    """The part of the common machines that somebody has had: slot seconds per weight."""

    __slots__ = ("seconds", "weight")

    def __init__(self, weight: float, seconds: float) -> None:
        self.weight = weight
        self.seconds = seconds


class Member:
    """One bag that runs."""

    __slots__ = (
        "bag", "began", "course", "granted", "held", "keeps", "needs", "order", "places",
        "priority", "served", "takes", "task", "user",
    )  # fmt: skip

    def __init__(self, opened: Opened, served: Served) -> None:
        self.bag = opened.bag
        self.user = opened.user
        self.priority = opened.priority
        self.takes = frozenset(opened.takes)
        self.task = opened.task
        self.began = opened.began
        self.order = opened.order
        self.course: Course | None = None  # as it was told last
        self.served = served
        self.needs = 0  # tasks that it could run
        self.keeps = Keeps(opened.bag, math.inf, 0)  # of what it was told, nothing yet
        self.granted: Counter[Group] = Counter()  # slots, by group of machines
        self.held = 0  # slots, those included that are on their way to others
        self.places = 0  # tasks that have room in those

    @property
    def used(self) -> int:
        """Its slots that count as had: what nobody needs costs nothing."""
        if self.places <= self.needs:
            return self.held
        return self.held * self.needs // self.places

    @property
    def short(self) -> bool:
        return self.needs > self.places


class Members:
    """One that comes begins with what the least served has had."""

    def __init__(self) -> None:
        self.bags: dict[BagId, Member] = {}
        self.users: dict[str, Served] = {}

    def open(self, opened: Opened, user_weight: float) -> None:
        peers = [one.served for one in self.bags.values() if one.user == opened.user]
        if not peers:
            present = [self.users[one.user] for one in self.bags.values()]
            self.users[opened.user] = Served(user_weight, _least(present))
        served = Served(opened.weight, _least(peers))
        self.bags[opened.bag] = Member(opened, served)
        self.bags = dict(sorted(self.bags.items()))

    def close(self, bag: BagId) -> None:
        member = self.bags.pop(bag)
        if all(one.user != member.user for one in self.bags.values()):
            del self.users[member.user]

    def serve(self, seconds: float) -> None:
        """So much time has passed with the slots that each has.

        Who needs no more counts as served like those who do: it is not owed what it left to them.
        """
        by_user: dict[str, list[Member]] = {user: [] for user in self.users}
        for member in self.bags.values():
            by_user[member.user].append(member)
        for own in by_user.values():
            _serve([(one.served, one.used, one.short) for one in own], seconds)
        _serve(
            [
                (
                    self.users[user],
                    sum(one.used for one in own),
                    any(one.short for one in own),
                )
                for user, own in by_user.items()
            ],
            seconds,
        )

    def claim(self, member: Member, needs: int, keeps: int, width: int, now: float) -> Claim:
        user = self.users[member.user]
        return Claim(
            member.bag,
            member.user,
            needs,
            keeps,
            member.keeps.since,
            width,
            member.served.weight,
            member.priority,
            member.served.seconds,
            user.weight,
            user.seconds,
            now - member.began,
            member.course,
        )


def _serve(peers: Collection[tuple[Served, int, bool]], seconds: float) -> None:
    """Slots in use, and whether more are needed, of each."""
    short = [(served, used) for served, used, needs_more in peers if needs_more]
    weights = sum(served.weight for served, _ in short)
    pace = sum(used for _, used in short) / weights if weights else 0.0
    for served, used, needs_more in peers:
        own = used / served.weight
        served.seconds += seconds * (own if needs_more else max(own, pace))


def _least(peers: Collection[Served]) -> float:
    return min((peer.seconds for peer in peers), default=0.0)

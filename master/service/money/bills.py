"""Bills of machines as the store has them, for caps: also of bags that have ended or are pruned."""

import json
from collections.abc import Collection, Iterable, Sequence

import msgpack

from bats.common.billing import atus, begun_before
from bats.common.messages import BagId
from bats.common.money import Money
from bats.common.records import dataclass
from bats.master.brain.household.notices import Spent
from bats.master.brain.protocol.journal import settings_from
from bats.master.brain.protocol.numbering import bag_of, serves_all
from bats.master.store.reader import Reader
from bats.master.store.rows import BagRow, MachineRow


@dataclass(frozen=True, slots=True)
class Bill:
    """ATUs of one machine, one after the other; times by the calendar."""

    bag: BagId
    user: str
    currency: str
    since: float
    atu_seconds: float
    price: Money
    count: int

    def from_then(self, at: float) -> Money:
        """The price of those that begin at that time or later."""
        begun = min(self.count, begun_before(self.atu_seconds, self.since, at))
        return Money((self.count - begun) * self.price)


def bills(reader: Reader, but: Collection[BagId], now: float) -> list[Bill]:
    """The bills of all other bags; a machine of which no end is known is charged until now.

    Pools tell their own.
    """
    by_bag: dict[BagId, list[MachineRow]] = {}
    for row in reader.machines():
        if row.charged_since is not None and not serves_all(row.id) and bag_of(row.id) not in but:
            by_bag.setdefault(bag_of(row.id), []).append(row)
    short = {row.id: row for row in reader.bags()}
    spent = {bag for bag in short if bag not in but and _spent(short[bag])}
    found: list[Bill] = []
    for bag in sorted(by_bag.keys() | spent):
        if bag in short:
            found += _of_bag(reader.bag(bag), by_bag.get(bag, []), now)
    return found


def spent(found: Iterable[Bill], since: Sequence[float]) -> list[Spent]:
    """The money of each bag for ATUs that begin at each of these times or later."""
    by_bag: dict[BagId, list[Bill]] = {}
    for bill in found:
        by_bag.setdefault(bill.bag, []).append(bill)
    return [
        Spent(
            bag,
            own[0].user,
            own[0].currency,
            tuple((at, Money(sum(bill.from_then(at) for bill in own))) for at in since),
        )
        for bag, own in by_bag.items()
    ]


def _of_bag(row: BagRow, machines: Iterable[MachineRow], now: float) -> list[Bill]:
    settings = settings_from(msgpack.unpackb(row.settings))
    offerings = {one.name: one for one in settings.offerings}
    summary = json.loads(row.summary) if row.summary else {}
    user, began = summary.get("user", ""), summary.get("began") or row.created
    found = []
    for machine in machines:
        offering = next((o for name, o in offerings.items() if name == machine.offering), None)
        if offering is None or offering.free or machine.charged_since is None:
            continue
        count = machine.cost // offering.price
        since = began + machine.charged_since
        if machine.gone is None:
            count = atus(offering, max(0.0, now - since))
        each = offering.atu_seconds, offering.price
        found.append(Bill(row.id, user, settings.currency, since, *each, count))
    rest = _spent(row) - sum(bill.price * bill.count for bill in found)
    if rest > 0:  # of workers started by hand, whose rows belong to no bag: counted rather late
        ended = row.ended or now
        found.append(Bill(row.id, user, settings.currency, ended, 1.0, Money(rest), 1))
    return found


def _spent(row: BagRow) -> Money:
    """As its engine told last; nothing of a bag that was never looked at."""
    summary = json.loads(row.summary) if row.summary else {}
    return Money((summary.get("view") or {}).get("spent", 0))

"""The pools of a clouds file, checked against its offerings."""

from collections.abc import Collection, Sequence
from zoneinfo import ZoneInfo

from bats.common.billing import charge_atus, first_atus
from bats.common.capacity.pool_rules import RELEASES, SCALERS, Pool
from bats.common.errors import UsageError, quoted
from bats.common.money import show
from bats.common.offering import Offering
from bats.common.units import in_words
from bats.master.clouds.clouds_model import CloudsFile, PoolTable
from bats.master.model_checks import suggestion
from bats.master.userfile import Document, sentence

_OF_TASKS = ("plf", "scf")


def read_pools(
    file: CloudsFile, offerings: Sequence[Offering], document: Document
) -> tuple[Pool, ...]:
    """Raises UsageError with one sentence for whatever is wrong in them."""
    found: list[Pool] = []
    for at, table in enumerate(file.pool):
        one = _Reading(table, at, document).pool(offerings, file.currency, found)
        found.append(one)
    return tuple(found)


class _Reading:
    def __init__(self, table: PoolTable, at: int, document: Document) -> None:
        self._table = table
        self._at = at
        self._document = document

    def pool(self, offerings: Sequence[Offering], currency: str, others: Collection[Pool]) -> Pool:
        table = self._table
        if any(table.name == one.name for one in others):
            raise self._wrong("name", f"another pool is called {table.name}; give each its own")
        kinds = self._kinds(offerings, others)
        total = sum(one.max_machines for one in kinds)
        most = total if table.max is None else table.max
        if most > total:
            names = " + ".join(one.name for one in kinds)
            said = f"{most} machines, of {total} that {names} may have; raise `max` there"
            raise self._wrong("max", said)
        if table.min > min(most, kinds[0].max_machines):
            said = (
                f"{table.min} machines are more than {min(most, kinds[0].max_machines)}, the most"
            )
            raise self._wrong("min", f"{said} that {kinds[0].name} may have in this pool")
        pool = Pool(
            name=table.name,
            kinds=kinds,
            most=most,
            least=table.min,
            interval_seconds=table.interval,
            scaler=self._scaler(),
            release=self._release(),
            quantile=table.quantile,
            per_interval=table.per_interval,
            per_day=table.per_day,
            per_month=table.per_month,
            zone=table.zone,
            currency=currency,
        )
        self._check_money(pool)
        if table.zone:
            self._check_zone(table.zone)
        return pool

    def _check_zone(self, name: str) -> None:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            said = f"this computer knows no time zone {quoted(name)}; write for example"
            raise self._wrong("zone", f"{said} Europe/Berlin") from None

    def _kinds(
        self, offerings: Sequence[Offering], others: Collection[Pool]
    ) -> tuple[Offering, ...]:
        """The offerings named; of a file with one, that one."""
        known = {str(one.name): one for one in offerings}
        names = self._table.offerings
        if not names and len(known) == 1:
            names = list(known)
        if not names:
            raise self._wrong("offerings", f"which of {', '.join(known)}? Name those of the pool")
        for name in names:
            if name not in known:
                said = f"there is no offering {quoted(name)}; {suggestion(name, list(known))}"
                raise self._wrong("offerings", said)
            if names.count(name) > 1:
                raise self._wrong("offerings", f"{name} is named twice")
            for other in others:
                if any(kind.name == name for kind in other.kinds):
                    said = f"{name} is of the pool {other.name}; an offering is of one pool"
                    raise self._wrong("offerings", said)
        return tuple(known[name] for name in names)

    def _scaler(self) -> str:
        name = self._table.scaler
        if name in _OF_TASKS:
            said = f"{name} says which task runs where, too, which is for `bats placement` here"
            raise self._wrong("scaler", f"{said}; use one of {', '.join(SCALERS)}")
        if name not in SCALERS:
            raise self._wrong("scaler", f"there is no {quoted(name)}; {suggestion(name, SCALERS)}")
        if name == "pfa" and self._table.per_interval is None:
            raise self._wrong("scaler", "pfa spends money for an interval; give `per_interval`")
        return name

    def _release(self) -> str:
        name = self._table.release
        if name not in RELEASES:
            said = f"should be one of {', '.join(RELEASES)}, not {quoted(name)}"
            raise self._wrong("release", said)
        return name

    def _check_money(self, pool: Pool) -> None:
        """A limit that no machine fits under would be a pool that never starts any."""
        least = min(charge_atus(one, first_atus(one)) for one in pool.kinds)
        for key in ("per_day", "per_month"):
            limit = getattr(pool, key)
            if limit is not None and limit < least:
                said = f"{show(limit, pool.currency)} pay for no machine: the cheapest costs"
                raise self._wrong(key, f"{said} {show(least, pool.currency)} at the least")
        cheapest = min(pool.kinds, key=lambda one: one.price / one.atu_seconds)
        rate = cheapest.price * pool.interval_seconds / cheapest.atu_seconds
        if pool.per_interval is not None and pool.per_interval < int(rate):
            said = f"{show(pool.per_interval, pool.currency)} pay for no machine of {cheapest.name}"
            lasts = in_words(pool.interval_seconds)
            raise self._wrong("per_interval", f"{said} for an interval of {lasts}")

    def _wrong(self, key: str, said: str) -> UsageError:
        return UsageError(sentence(self._document.where(["pool", self._at, key]), said))

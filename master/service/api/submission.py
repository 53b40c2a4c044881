"""Submissions, checked key by key and made into a bag's settings."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from bats.common.capacity.packing import packed
from bats.common.capacity.pool_rules import as_common
from bats.common.errors import CannotBeMetError, UsageError, quoted
from bats.common.messages import BagId
from bats.common.money import Money
from bats.common.offering import MANUAL, ClusterName, Offering
from bats.deploy import registry
from bats.master.api.requests import Submit
from bats.master.bag import Bag, Standing
from bats.master.bag_states import HELD, QUEUED
from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.policies.by_name import NTDMR, PROVISIONERS, REPLICATORS, SAMPLERS
from bats.master.brain.protocol.numbering import before_first
from bats.master.brain.protocol.parameters import MOST_TASKS, Parameters, parameters_of
from bats.master.brain.protocol.settings import ASK, Settings
from bats.master.brain.unreliable import preference
from bats.master.brain.views.told.refusals import pays_for_nothing
from bats.master.service.options import Options
from bats.master.store.blobs import is_sha256
from bats.master.store.database import make_folder
from bats.master.sweep.work import Work, checked, work_from_plain
from bats.master.sweep.workflow.workflow import Workflow

Check = Callable[[Any], bool]

MOST_WEIGHT: Final = 1000

RULES: Final = (
    ASK,
    "cheapest",
    "cheapest+10%",
    "cheapest+20%",
    "balanced",
    "fastest-20%",
    "fastest-10%",
    "fastest",
)
"""Ways to choose a schedule: by its name, `balanced`, or by asking the user."""


def bag_of(want: Submit, bag: BagId, options: Options, after: Iterable[BagId] = ()) -> Bag:
    """Raises UsageError that names the key, what it held and what is allowed."""
    sweep = checked(work_from_plain(want.sweep))
    if unknown := sorted(set(sweep.policy) - set(POLICY)):
        raise UsageError(f"`{unknown[0]}` is no policy; known are {', '.join(POLICY)}.")
    given = {**sweep.policy, **want.body()}
    for key, (fits, what) in _KEYS.items():
        if given.get(key) is not None and not fits(given[key]):
            said = what if isinstance(what, str) else f"one of {', '.join(what)}"
            raise UsageError(f"`{key}` should be {said}, not {quoted(given[key])}.")
    if (tail := given.get("tail")) and REPLICATORS[tail].clairvoyant:
        live = ", ".join(name for name, one in REPLICATORS.items() if not one.clairvoyant)
        raise UsageError(
            f"The tail strategy `{tail}` knows how long every task will take, which only a "
            f"simulation does: see what it saves with `bats simulate --tail {tail}`, and run the "
            f"bag with one of {live}."
        )
    if given.get("strategy") and given.get("tail") != NTDMR:
        raise UsageError(
            f"`strategy` is of the tail {NTDMR}, for unreliable machines: add --tail {NTDMR}, in a "
            f'sweep file `tail = "{NTDMR}"`, or leave it out.'
        )
    offerings = _places(
        sweep, _of_pools(given, sweep, _offerings(want.offerings, options), options)
    )
    if want.output_folder and options.fixed_offerings:
        raise UsageError("This master puts output into its own folder; leave out `output_folder`.")
    folder = Path(want.output_folder or options.output_folder / str(bag))
    return Bag(
        bag,
        want.name or sweep.name,
        sweep,
        replace(_settings(given, sweep, offerings, options), numbers_after=before_first(bag)),
        time.time(),
        str(folder),
        _inputs(want.inputs or []) or (),
        state=HELD if want.hold else QUEUED,
        standing=Standing(want.weight or 1, want.priority or 0, tuple(after)),
    )


def make_output_folder(bag: Bag) -> None:
    """Made here, so that a worker that finds it knows that it shares our file system."""
    try:
        make_folder(Path(bag.output_folder))
    except OSError as error:
        raise UsageError(
            f"The output folder {bag.output_folder} cannot be made: {error.strerror}."
        ) from None


def offerings_from_plain(written: Any) -> tuple[Offering, ...]:
    """Offerings as a client sends them: a list of tables with the fields of `Offering`."""
    if not isinstance(written, Sequence) or isinstance(written, str | bytes) or not written:
        raise UsageError(f"`offerings` should be a list of tables, not {quoted(written)}.")
    offerings = tuple(_offering(one) for one in written)
    names = [one.name for one in offerings]
    if len(set(names)) < len(names):
        raise UsageError(f"Two offerings have the same name, of: {', '.join(names)}.")
    return offerings


def _offering(written: Any) -> Offering:
    known = {part.name for part in fields(Offering)}
    if not isinstance(written, Mapping) or not {
        "name",
        "price",
        "atu_seconds",
        "max_machines",
    } <= set(written):
        raise UsageError(
            f"An offering needs name, price, atu_seconds and max_machines: {quoted(written)}."
        )
    if strange := set(written) - known:
        raise UsageError(f"offering {written['name']}: unknown key `{min(strange)}`.")
    where = f"offering {written['name']}"
    for key, value in written.items():
        if not _OFFERING[key](value):
            raise UsageError(f"{where}: `{key}` cannot be {quoted(value)}.")
    try:
        made = Offering(
            **{**written, "name": ClusterName(written["name"]), "price": Money(written["price"])}
        )
    except ValueError as error:
        raise UsageError(f"{error}.") from None
    if made.backend != MANUAL and not registry.is_known(made.backend):
        raise UsageError(
            f"{where}: there is no back end `{made.backend}`; "
            f"known are {', '.join([*registry.names(), MANUAL])}."
        )
    return made


def _offerings(written: Any, options: Options) -> tuple[Offering, ...]:
    if written is not None and options.fixed_offerings:
        names = ", ".join(one.name for one in options.offerings) or "none"
        raise UsageError(
            f"This master runs bags on its own machines alone ({names}); leave out the clouds file."
        )
    offerings = options.offerings if written is None else offerings_from_plain(written)
    if not offerings:
        raise UsageError(
            "There is nowhere to run: this master has no offerings and the submission brings none. "
            "Name a clouds file."
        )
    return offerings


def _is_kept(offerings: Iterable[Offering], options: Options) -> bool:
    """True of a bag that runs on pools alone: a copy would keep a machine that none needs."""
    names = {kind.name for pool in options.pools for kind in pool.kinds}
    return all(one.name in names for one in offerings)


def _of_pools(
    given: Mapping[str, Any], sweep: Work, offerings: tuple[Offering, ...], options: Options
) -> tuple[Offering, ...]:
    """A bag that says nothing of money or time runs on the master's pools alone, if they fit it."""
    names = {kind.name for pool in options.pools for kind in pool.kinds}
    pooled = tuple(
        as_common(one) if one.name in names and not one.free else one for one in offerings
    )
    limits = ("budget", "deadline_seconds", "rule")
    limited = any(given.get(key) not in (None, ASK) for key in limits)
    own = sweep.budget is not None or sweep.deadline_seconds is not None or bool(sweep.pick)
    common = tuple(one for one in pooled if one.name in names)
    return pooled if limited or own or not common else common


def _places(sweep: Work, offerings: tuple[Offering, ...]) -> tuple[Offering, ...]:
    """The offerings as this bag's tasks find them: places for whole tasks, no idle machines.

    A schedule must not promise what a limit on tasks at a time forbids. Of one offering no more
    machines are bought than have work; of several, whose mixes may be any, all must have some.
    """
    places = packed(offerings, sweep.needs)
    if not sweep.at_once:
        return places
    useful = [
        replace(one, max_machines=min(one.max_machines, -(-sweep.at_once // one.slots)))
        for one in places
    ]
    together = sum(one.slots * one.max_machines for one in useful)
    if len(useful) > 1 and together > sweep.at_once and not all(one.free for one in useful):
        names = ", ".join(one.name for one in useful)
        raise UsageError(
            f"At most {sweep.at_once} tasks may run at a time, and {names} have room for "
            f"{together:,} together: what a schedule of them promises would not hold. Lower `max` "
            f"in the clouds file, name one offering, or leave %{sweep.at_once} out of `array`."
        )
    return tuple(useful)


def _settings(
    given: Mapping[str, Any], sweep: Work, offerings: tuple[Offering, ...], options: Options
) -> Settings:
    def value(key: str, otherwise: Any) -> Any:
        found = given.get(key)
        return otherwise if found is None else found

    usual = Settings(tasks=sweep.count, offerings=offerings)
    budget = value("budget", sweep.budget)
    if refusal := pays_for_nothing(budget, offerings, value("currency", options.currency)):
        raise CannotBeMetError(refusal)
    return Settings(
        tasks=sweep.count,
        offerings=offerings,
        budget=None if budget is None else Money(budget),
        deadline_seconds=value("deadline_seconds", sweep.deadline_seconds),
        rule=value("rule", sweep.pick or usual.rule),
        sampling=value("sampling", usual.sampling),
        initial_workers=value("initial_workers", usual.initial_workers),
        replicated=value("replicated", usual.replicated),
        replicate=value("replicate", sweep.replicate) and not _is_kept(offerings, options),
        tail=value("tail", usual.tail),
        strategy=value("strategy", usual.strategy),
        provisioner=value("provisioner", usual.provisioner),
        planner=value("planner", usual.planner),
        upgrade=value("upgrade", usual.upgrade),
        prudence=float(value("prudence", usual.prudence)),
        monitor_seconds=float(value("monitor_seconds", usual.monitor_seconds)),
        retries=value("retries", usual.retries if isinstance(sweep, Workflow) else sweep.retries),
        max_failures=value("max_failures", sweep.max_failures),
        at_once=sweep.at_once,
        task_slots=sweep.needs.cpus,
        task_memory=sweep.needs.memory_bytes,
        task_gpus=sweep.needs.gpus,
        losses=value("losses", usual.losses),
        foresight=True,
        patience_seconds=float(value("patience_seconds", usual.patience_seconds)),
        currency=value("currency", options.currency),
        seed=value("seed", usual.seed),
        graph=sweep.graph,
        parameters=_parameters(sweep),
        open=sweep.open,
    )


def _parameters(sweep: Work) -> Parameters:
    """The values of each parameter, task by task, unless more will come: runtimes may follow."""
    if isinstance(sweep, Workflow) or sweep.open or sweep.count > MOST_TASKS:
        return ()
    rows = [sweep.space.values(index) for index in range(sweep.count)]
    return parameters_of(dict(zip(sweep.names, zip(*rows, strict=True), strict=True)))


def _inputs(written: Any) -> tuple[tuple[str, str, int, int], ...] | None:
    """The inputs as rows; None if they are no such rows."""
    if not isinstance(written, list):
        return None
    rows = []
    for row in written:
        match row:
            case [str() as name, str() as sha256, int() as size, int() as mode] if is_sha256(
                sha256
            ):
                rows.append((name, sha256, size, mode))
            case _:
                return None
    return tuple(rows)


def is_rule(value: Any) -> bool:
    """True if a rule names a way to choose a schedule."""
    return value in RULES


def _whole(low: int, high: int = 1 << 62) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _real(value: Any, low: float = 0.0) -> bool:
    return type(value) in {int, float} and low <= value < math.inf


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 4096


def _is_strategy(value: Any) -> bool:
    try:
        preference.check(value if _text(value) else "")
    except ValueError:
        return False
    return True


POLICY: Final = (
    "tail",
    "strategy",
    "provisioner",
    "planner",
    "sampling",
    "prudence",
    "upgrade",
    "monitor_seconds",
    "patience_seconds",
    "initial_workers",
    "replicated",
    "losses",
    "seed",
)
"""Keys of a sweep that say how the scheduler decides; a key of the submission wins over it."""

_KEYS: Final[Mapping[str, tuple[Check, str | Iterable[str]]]] = {
    "name": (lambda value: _text(value) and len(value) <= 100, "a text of up to 100 characters"),
    "budget": (_whole(0), "an amount in billionths, 0 or more"),
    "deadline_seconds": (lambda value: _real(value) and value > 0, "a number of seconds above 0"),
    "rule": (is_rule, RULES),
    "sampling": (lambda value: _text(value) and value in SAMPLERS, SAMPLERS),
    "initial_workers": (_whole(1, 1000), "a whole number from 1"),
    "replicated": (_whole(1, 1000), "a whole number from 1"),
    "tail": (lambda value: _text(value) and value in REPLICATORS, REPLICATORS),
    "strategy": (
        _is_strategy,
        "one such as N=3 T=1x D=2x M_r=0.1, a name such as AUR, or product",
    ),
    "provisioner": (lambda value: _text(value) and value in PROVISIONERS, PROVISIONERS),
    "planner": (lambda value: _text(value) and value in PLANNERS, PLANNERS),
    "replicate": (_truth, "true or false"),
    "upgrade": (_truth, "true or false"),
    "prudence": (_real, "a number, 0 or more (1 keeps room for two standard errors)"),
    "monitor_seconds": (_real, "a number of seconds"),
    "term_seconds": (_real, "a number of seconds"),  # until 0.1.0; without effect
    "patience_seconds": (_real, "a number of seconds"),
    "retries": (_whole(0, 1000), "a whole number from 0 to 1000"),
    "max_failures": (_whole(1), "a whole number from 1"),
    "losses": (_whole(0, 1000), "a whole number from 0 to 1000"),
    "seed": (_whole(0), "a whole number, 0 or more"),
    "currency": (_text, "a text"),
    "inputs": (lambda value: _inputs(value) is not None, "rows of name, sha256, bytes and mode"),
    "hold": (_truth, "true or false"),
    "weight": (_whole(1, MOST_WEIGHT), f"a whole number from 1 to {MOST_WEIGHT}"),
    "priority": (_whole(-1000, 1000), "a whole number from -1000 to 1000"),
    "after": (lambda value: isinstance(value, list | tuple), "a list of bags"),
    "output_folder": (lambda value: _text(value) and value.startswith("/"), "an absolute path"),
}

_OFFERING: Final[Mapping[str, Check]] = {
    "name": lambda value: _text(value) and 0 < len(value) <= 100 and "/" not in value,
    "price": _whole(0),
    "atu_seconds": lambda value: _real(value) and value > 0,
    "max_machines": _whole(0, 100_000),
    "slots": _whole(1, 100_000),
    "memory_bytes": _whole(0),
    "gpus": _whole(0, 1000),
    "minimum_seconds": _real,
    "boundary_seconds": _real,
    "lease_seconds": _real,
    "backend": _text,
    "settings": lambda value: isinstance(value, Mapping),
    "priced": lambda value: isinstance(value, str),
    "reliable": _truth,
}

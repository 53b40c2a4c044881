"""A master's numbers as Prometheus reads them (text format 0.0.4)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from bats.common.messages import BagId
from bats.common.money import UNITS
from bats.master.brain.views.told.view import RunView

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[Mapping[str, Any], float]


def metrics(snapshot: Mapping[str, Any], views: Mapping[BagId, RunView]) -> str:
    """`snapshot` is the master's; `views` those of the bags that run."""
    lines: list[str] = []

    def add(name: str, kind: str, words: str, samples: Iterable[_Sample]) -> None:
        found = list(samples)
        if found:
            lines.append(f"# HELP bats_{name} {words}")
            lines.append(f"# TYPE bats_{name} {kind}")
            lines.extend(f"bats_{name}{_labels(label)} {value!r}" for label, value in found)

    def one(name: str, kind: str, words: str, value: float) -> None:
        add(name, kind, words, [({}, value)])

    one("up_seconds", "gauge", "How long the master has been up.", snapshot["up_seconds"])
    one("loop_lag_seconds", "gauge", "How late the event loop was last.", snapshot["lag_seconds"])
    one("store_backlog", "gauge", "Writes that wait to be committed.", snapshot["store_backlog"])
    one(
        "store_trouble",
        "gauge",
        "1 while the store cannot be written.",
        int(bool(snapshot["trouble"])),
    )
    one("messages_total", "counter", "Messages from workers and clients.", snapshot["messages"])
    add(
        "refused_total",
        "counter",
        "What was refused at the link, by what it was.",
        [({"what": what}, count) for what, count in snapshot["refused"].items()],
    )
    workers = snapshot["workers"]
    silent = sum(worker["silent"] for worker in workers)
    add(
        "workers",
        "gauge",
        "Workers that are connected.",
        [({"state": "heard"}, len(workers) - silent), ({"state": "silent"}, silent)],
    )
    one("bags_waiting", "gauge", "Bags that wait for their turn.", len(snapshot["queued_bags"]))
    one("bags_paused", "gauge", "Bags that wait to be resumed.", len(snapshot["paused_bags"]))
    one("bags_running", "gauge", "Bags that run.", len(snapshot["running_bags"]))
    add(
        "shared_slots",
        "gauge",
        "Slots of common machines that a bag has.",
        [({"bag": one["bag"]}, one["slots"]) for one in snapshot["shares"]],
    )
    for name, words, key in _OF_CAPS:
        add(name, "gauge", words, [(_cap(line), line[key] / UNITS) for line in snapshot["caps"]])
    for name, words, pool_samples in _OF_POOLS:
        found = [
            ({"pool": line["name"], **labels}, value)
            for line in snapshot["pools"]
            for labels, value in pool_samples(line)
        ]
        add(name, "gauge", words, found)
    for name, kind, words, samples in _OF_BAGS:
        add(
            name,
            kind,
            words,
            (
                ({"bag": bag, **labels}, value)
                for bag, view in views.items()
                for labels, value in samples(view)
            ),
        )
    return "\n".join(lines) + "\n"


_OF_CAPS: Final = (
    ("cap_money", "What may be spent by several bags together.", "amount"),
    ("cap_money_committed", "What counts under a cap: spent, and reserved.", "committed"),
)


def _cap(line: Mapping[str, Any]) -> dict[str, Any]:
    return {"user": line["user"], "period": line["period"]}


def _pool_machines(line: Mapping[str, Any]) -> Iterator[_Sample]:
    for kind in line["kinds"]:
        for state in ("wanted", "starting", "working", "idle", "leaving"):
            yield {"offering": kind["offering"], "state": state}, kind[state]


_OF_POOLS: Final[tuple[tuple[str, str, Callable[[Mapping[str, Any]], Iterable[_Sample]]], ...]] = (
    ("pool_machines", "Machines of a pool by state, and how many are wanted.", _pool_machines),
    ("pool_demand", "Places that tasks fill or could fill.", lambda one: [({}, one["demand"])]),
    ("pool_supply", "Places of machines that are there.", lambda one: [({}, one["supply"])]),
    ("pool_money_spent", "For ATUs entered.", lambda one: [({}, one["spent"] / UNITS)]),
    ("pool_money_reserved", "For ATUs to come.", lambda one: [({}, one["reserved"] / UNITS)]),
)


def _tasks(view: RunView) -> Iterator[_Sample]:
    for state in ("waiting", "running", "done", "failed", "dropped"):
        yield {"state": state}, getattr(view, state)


def _machines(view: RunView) -> Iterator[_Sample]:
    machines = Counter((m.cluster, "leaving" if m.leaving else m.state) for m in view.machines)
    for (name, state), count in sorted(machines.items()):
        yield {"cluster": name, "state": state}, count


def _planned(view: RunView) -> Iterator[_Sample]:
    for cluster in view.clusters:
        yield {"cluster": cluster.name}, cluster.planned


def _single(value: Callable[[RunView], float | None]) -> Callable[[RunView], Iterator[_Sample]]:
    def samples(view: RunView) -> Iterator[_Sample]:
        if (known := value(view)) is not None:
            yield {}, known

    return samples


_OF_BAGS: Final[tuple[tuple[str, str, str, Callable[[RunView], Iterable[_Sample]]], ...]] = (
    ("tasks", "gauge", "Tasks by state.", _tasks),
    (
        "duplicates_total",
        "counter",
        "Results of tasks that had one.",
        _single(lambda view: view.duplicates),
    ),
    ("machines", "gauge", "Machines by cluster and state.", _machines),
    ("machines_planned", "gauge", "Machines in the current mix.", _planned),
    ("money_spent", "gauge", "For ATUs entered.", _single(lambda view: view.spent / UNITS)),
    (
        "money_reserved",
        "gauge",
        "For ATUs promised to machines.",
        _single(lambda view: view.reserved / UNITS),
    ),
    (
        "money_limit",
        "gauge",
        "What may be spent at most.",
        _single(lambda view: None if view.limit is None else view.limit / UNITS),
    ),
    (
        "tasks_per_second",
        "gauge",
        "Speed of the machines that stay.",
        _single(lambda view: view.speed),
    ),
    (
        "eta_seconds",
        "gauge",
        "Time to the end, at that speed.",
        _single(lambda view: view.eta_seconds),
    ),
)
"""The numbers of each bag that runs: name, kind, words, and its samples."""


def _labels(labels: Mapping[str, Any]) -> str:
    if not labels:
        return ""
    return (
        "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items()) + "}"
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

"""A master's numbers as Prometheus reads them (text format 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bats.common.money import UNITS
from bats.master.brain.views.view import RunView

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[Mapping[str, Any], float]


def metrics(snapshot: Mapping[str, Any], view: RunView | None) -> str:
    """`snapshot` is the master's; `view` the running bag's, if one runs."""
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
    one("bag", "gauge", "Number of the bag that runs; 0: none.", snapshot["running_bag"] or 0)
    if view is not None:
        _of_bag(view, add, one)
    return "\n".join(lines) + "\n"


def _of_bag(view: RunView, add: Any, one: Any) -> None:
    states = ("waiting", "running", "done", "failed", "dropped")
    add(
        "tasks",
        "gauge",
        "Tasks of the running bag by state.",
        [({"state": state}, getattr(view, state)) for state in states],
    )
    one("duplicates_total", "counter", "Results of tasks that had one.", view.duplicates)
    machines = Counter((m.cluster, "leaving" if m.leaving else m.state) for m in view.machines)
    add(
        "machines",
        "gauge",
        "Machines by cluster and state.",
        [({"cluster": name, "state": state}, n) for (name, state), n in sorted(machines.items())],
    )
    add(
        "machines_planned",
        "gauge",
        "Machines in the current mix.",
        [({"cluster": cluster.name}, cluster.planned) for cluster in view.clusters],
    )
    one("money_spent", "gauge", "For ATUs entered.", view.spent / UNITS)
    one("money_reserved", "gauge", "For ATUs promised to machines.", view.reserved / UNITS)
    if view.limit is not None:
        one("money_limit", "gauge", "What may be spent at most.", view.limit / UNITS)
    one("tasks_per_second", "gauge", "Speed of the machines that stay.", view.speed)
    if view.eta_seconds is not None:
        one("eta_seconds", "gauge", "Time to the end, at that speed.", view.eta_seconds)


def _labels(labels: Mapping[str, Any]) -> str:
    if not labels:
        return ""
    return (
        "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items()) + "}"
    )


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

"""Limits of tasks, as a bag's workers can keep them; where the kernel does not, it is said."""

from collections.abc import Callable
from dataclasses import replace

from bats.common.messages import LIMITS_ENFORCED, LIMITS_WATCHED, BagSpec
from bats.master.service.machines.worker import Worker


class TaskLimits:
    """Of one bag; `note` writes down what its user should know, once for each offering."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._said: set[tuple[str, str]] = set()

    def for_worker(self, spec: BagSpec, worker: Worker) -> BagSpec:
        """The spec that this worker can read, which may know no limits."""
        if not worker.limits:
            spec = replace(spec, cpus=1, gpus=0)
        if not (spec.memory_bytes or spec.pids) or worker.limits == LIMITS_ENFORCED:
            return spec
        where = f"{spec.cluster or 'a worker'} ({worker.host})"
        if worker.limits == LIMITS_WATCHED:
            self._say(
                worker.limits,
                spec.cluster,
                f"limits of tasks are looked at each second on {where}, whose worker has no"
                " control groups with limits: a task may take more in between",
            )
            return spec
        self._say(
            worker.limits,
            spec.cluster,
            f"tasks have no limits on {where}, whose worker is of an older release; "
            "upgrade bats-scheduler there",
        )
        return replace(spec, memory_bytes=0, pids=0)

    def _say(self, how: str, cluster: str, words: str) -> None:
        if (how, cluster) not in self._said:
            self._said.add((how, cluster))
            self._note(words)

"""None (No AS): all machines are on, whatever there is to do."""

from collections.abc import Sequence

from bats.master.brain.scaling.scaler import ElasticView


class Constant:
    sees_tasks = False

    def want(self, pool: ElasticView) -> Sequence[int]:
        return [kind.most for kind in pool.kinds]

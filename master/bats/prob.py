"""Planning with distributions instead of means: the library of PROB, for planners of one's own.

    from bats.prob import Evaluation, add, from_samples, is_more, maximum, preprocessed

    took = from_samples([31.0, 28.5, 44.0, 30.2])  # a runtime as it varies
    twice, longer = add(took, took), maximum(took, took)
    print(twice.mean, longer.quantile(0.9))

    graph = preprocessed([[], [0], [0], [1, 2]])  # which task waits for which, once per structure
    makespan = Evaluation({"any": took}).of(graph, lambda task: "any")

The seven verbs of the paper (Table 1):

    preprocessed         a graph as sums and maxima
    bundled              tasks in a row on one kind of machine as one
    clustered            tasks that share a machine as one, stretched
    maximum              the longer of two
    add                  one after the other
    is_more              whether X is more than Y
    partially_evaluated  the part in which two plans differ, under each

What they work on: `from_samples`, `from_weighted`, `constant`, `mixture` and `runtime` (the time of
a processor, and data by bandwidths) make a `Histogram`; `Evaluation` has those of a graph's tasks;
`Structure` holds what comes of it against a simulation. The page
`master/brain/probability/README.md` turns a planner that counts with means into one with these.
"""

from bats.master.brain.probability.combination import Evaluation
from bats.master.brain.probability.histogram import (
    Histogram,
    bhattacharyya,
    chance_more,
    constant,
    from_samples,
    from_weighted,
    mixture,
    product,
    runtime,
    transfer,
)
from bats.master.brain.probability.prob_verbs import (
    add,
    bundled,
    clustered,
    is_more,
    maximum,
    partially_evaluated,
    preprocessed,
)
from bats.master.brain.probability.structure import Makespan, Structure
from bats.master.brain.probability.windows import Measured, best_window

__all__ = [
    "Evaluation",
    "Histogram",
    "Makespan",
    "Measured",
    "Structure",
    "add",
    "best_window",
    "bhattacharyya",
    "bundled",
    "chance_more",
    "clustered",
    "constant",
    "from_samples",
    "from_weighted",
    "is_more",
    "maximum",
    "mixture",
    "partially_evaluated",
    "preprocessed",
    "product",
    "runtime",
    "transfer",
]

"""`[[step]]` tables: several commands in one file, and which of their tasks wait for which."""

from pathlib import Path

import pytest

from bats.common.capacity.resources import Resources
from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.master.brain.protocol.graph import Graph, Step
from bats.master.sweep.sweep_reading import load
from bats.master.sweep.work import Work, work_from_plain
from bats.master.sweep.workflow.drawing import drawing
from bats.master.sweep.workflow.workflow import Workflow

MOSAIC = """
name = "mosaic"
budget = 12
timeout = "1h"
retries = 3

[[step]]
name = "project"
command = "mProject {image}"
zip = [{image = ["a", "b", "c"], weight = [1, 2, 3]}]

[[step]]
name = "diff"
command = "mDiffFit {left} {right}"
after = [
  { step = "project", where = { image = "left" } },
  { step = "project", where = { image = "right" } },
]
retries = 0
[[step.zip]]
left = ["a", "b"]
right = ["b", "c"]

[[step]]
name = "model"
command = "mBgModel"
after = "diff"
timeout = "5m"

[[step]]
name = "background"
command = "mBackground {image}"
after = ["model", { step = "project", each = "image" }]
[step.grid]
image = ["c", "b", "a"]
"""


def written(folder: Path, text: str, name: str = "sweep.toml") -> Work:
    path = folder / name
    path.write_text(text)
    return load(path)


def workflow(folder: Path, text: str) -> Workflow:
    made = written(folder, text)
    assert isinstance(made, Workflow)
    return made


def edges(of: Graph) -> list[tuple[int, int]]:
    flat = of.pairs()
    return list(zip(flat[::2], flat[1::2], strict=True))


def test_steps_become_tasks_numbered_step_by_step_and_edges_between_equal_values(
    tmp_path: Path,
) -> None:
    mosaic = workflow(tmp_path, MOSAIC)
    assert mosaic.count == 3 + 2 + 1 + 3
    assert mosaic.graph.steps == (
        Step("project", 3, 3), Step("diff", 2, 0), Step("model", 1, 3), Step("background", 3, 3)
    )  # fmt: skip
    assert mosaic.graph.barriers == ((1, 2), (2, 3))
    assert edges(mosaic.graph) == [(0, 3), (0, 8), (1, 3), (1, 4), (1, 7), (2, 4), (2, 6)]
    assert [mosaic.preview(k) for k in (0, 4, 5, 8)] == [
        "mProject a", "mDiffFit b c", "mBgModel", "mBackground a"
    ]  # fmt: skip
    assert mosaic.names == ("step", "image", "weight", "left", "right")
    assert mosaic.values(4) == ("diff", "", "", "b", "c")
    assert mosaic.parameters(0) == {"step": "project", "image": "a", "weight": "1"}
    assert mosaic.filling(4) == ("b", "c")
    assert mosaic.types()["weight"] is int


def test_what_stands_above_the_steps_holds_where_a_step_does_not_say_otherwise(
    tmp_path: Path,
) -> None:
    mosaic = workflow(tmp_path, MOSAIC)
    timeouts = [mosaic.spec(BagId(1), step=k).timeout_seconds for k in range(4)]
    assert timeouts == [3600.0, 3600.0, 300.0, 3600.0]
    assert mosaic.budget == 12_000_000_000
    assert mosaic.spec(BagId(1), step=1).command == "mDiffFit {left} {right}"


def test_limits_hold_for_all_steps_but_one_that_has_its_own(tmp_path: Path) -> None:
    two = workflow(
        tmp_path,
        """
        memory = "1G"
        pids = 40
        step = [{name = "a", command = "a"}, {name = "b", command = "b", memory = "2G"}]
        """,
    )
    limits = [
        (spec.memory_bytes, spec.pids) for spec in (two.spec(BagId(1), step=k) for k in (0, 1))
    ]
    assert limits == [(1 << 30, 40), (2 << 30, 40)]


def test_each_step_says_what_its_tasks_take_and_a_machine_has_room_for_the_largest(
    tmp_path: Path,
) -> None:
    text = """
        memory = "2G"
        resources = { slots = 2 }
        [[step]]
        name = "small"
        command = "true"
        [[step]]
        name = "large"
        command = "true"
        cpus = 1
        gpus = 2
        memory = "8G"
    """
    work = workflow(tmp_path, text)
    assert [step.needs for step in work.steps] == [
        Resources(2, 2 << 30),
        Resources(1, 8 << 30, 2),
    ]
    assert work.needs == Resources(2, 8 << 30, 2)
    spec = work.spec(BagId(1), step=1)
    assert (spec.cpus, spec.memory_bytes, spec.gpus) == (1, 8 << 30, 2)


def test_numbers_are_equal_however_they_are_written(tmp_path: Path) -> None:
    two = workflow(
        tmp_path,
        """
        step = [
        {name = "a", command = "a {x}", grid = {x = [0.5, 1]}},
        {name = "b", command = "b", after = {step = "a", each = "x"}, grid = {x = ["1.0", "0.50"]}},
        ]
        """,
    )
    assert edges(two.graph) == [(0, 3), (1, 2)]


def test_a_chain_within_a_step_is_no_circle(tmp_path: Path) -> None:
    chain = workflow(
        tmp_path,
        """
        [[step]]
        name = "first"
        command = "sim 0"
        grid = {t = [0]}
        [[step]]
        name = "sim"
        command = "sim {before} {t}"
        zip = [{before = [1, 2], t = [2, 3]}]
        after = {step = "sim2", where = {t = "before"}}
        [[step]]
        name = "sim2"
        command = "sim {t}"
        grid = {t = [1, 2]}
        after = {step = "first"}
        """,
    )
    assert edges(chain.graph) == [(3, 1), (4, 2)]


def test_a_workflow_goes_over_the_wire_and_comes_back_the_same(tmp_path: Path) -> None:
    mosaic = workflow(tmp_path, MOSAIC)
    back = work_from_plain(mosaic.to_plain())
    assert back == mosaic
    with pytest.raises(UsageError, match="cannot be understood"):
        work_from_plain({**mosaic.to_plain(), "after": [[]]} | {"retries": [-1]})
    with pytest.raises(UsageError, match="use the same release"):
        work_from_plain({**mosaic.to_plain(), "workflow": 2})


def test_a_step_gets_its_own_input_files_only(tmp_path: Path) -> None:
    two = workflow(
        tmp_path,
        """
        [[step]]
        name = "a"
        command = "cat x.txt"
        inputs = ["x.txt"]
        [[step]]
        name = "b"
        command = "ls data"
        inputs = ["data"]
        """,
    )
    files = tuple((name, "0" * 64, 1, 0o644) for name in ("x.txt", "data/1", "data/2"))
    assert two.input_paths() == ("x.txt", "data")
    assert [one[0] for one in two.spec(BagId(1), inputs=files, step=0).inputs] == ["x.txt"]
    mine = two.spec(BagId(1), inputs=files, step=1).inputs
    assert [one[0] for one in mine] == ["data/1", "data/2"]


def test_the_graph_is_drawn_step_by_step(tmp_path: Path) -> None:
    assert drawing(workflow(tmp_path, MOSAIC).graph) == [
        "project             3 tasks",
        "  └ diff            2 tasks  after project (4 pairs)",
        "    └ model         1 task   after all of diff",
        "      └ background  3 tasks  after project (3 pairs), all of model",
    ]


A = '[[step]]\nname = "a"\ncommand = "a {x}"\ngrid = {x = [1, 2]}\n'
B = '[[step]]\nname = "b"\ncommand = "b {x}"\ngrid = {x = [2, 3]}\n'

MISTAKES = [
    (A + B + 'after = "aa"', "line 9: `step[2].after`: no step is called 'aa'; did you mean a?"),
    (A + B + 'after = ["a", {step = "zzz"}]', "no step is called 'zzz'; the steps are a, b."),
    (A + B + 'after = {step = "a", each = "y"}', ("line 9: `step[2].after`: step a has no "
     "parameter 'y'; it has x.")),
    (A + B + 'after = {step = "a", where = {x = "y"}}', "step b has no parameter 'y'; it has x."),
    (A + B + 'after = {step = "a", each = "x"}', ("line 9: `step[2].after`: no task of a has "
     "x = 3, which task 1 of b waits for.")),
    (A + B + 'after = {step = "a", ech = "x"}', "`ech` is no key here; did you mean `each`?"),
    (A + B + "after = 5", "5 names no step; write"),
    (A + 'after = "a"', "line 5: `step[1].after`: a -> a: a step cannot wait for all of itself."),
    (A + 'after = "b"\n' + B + 'after = "a"', "these wait for one another, so none can begin"),
    (A + 'after = "b"\n' + B + 'after = "a"', "a -> b -> a"),
    (A + A, "line 6: `step[2].name`: two steps are called 'a'; rename one."),
    ('[[step]]\ncommand = "a"', "line 1: `step[1]`: the step has no `name`."),
    ('command = "x"\n' + A, "line 1: `command`: with [[step]] tables each step has its own"),
    (A + "budget = 5", "`step[1].budget`: unknown key"),
    ('[[step]]\nname = "a"\ncommand = "a {y}"', "line 3: `step[1].command`: {y} has no values"),
    ('[[step]]\nname = "a"\ncommand = "a"\n[step.grid]\nx = [1]\nafter = "b"',
     "line 6: `step[1].grid.after`: `after` is a key of the whole step"),
    ('[[step]]\nname = "a"\ncommand = "a"\narray = "1-9%3"', "leave % out"),
    ('[[step]]\nname = "a"\ncommand = "a"\ncsv = "no.csv"', "line 4: `step[1].csv`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_every_mistake_is_told_in_one_sentence_with_its_place(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        written(tmp_path, text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


BROUGHT = """
[[step]]
name = "make"
command = "make {x}"
grid = { x = "0:3" }
outputs = ["part-*"]

[[step]]
name = "twice"
command = "twice {x}"
grid = { x = "1:2" }
after = { step = "make", each = "x" }
inputs = ["{after.make.outputs}", "lib.txt"]
outputs = ["*.out"]

[[step]]
name = "sum"
command = "sum"
after = ["make", { step = "twice", where = {} }]
inputs = ["{after.make.outputs}"]
"""


def test_outputs_of_tasks_that_are_waited_for_are_inputs(tmp_path: Path) -> None:
    made = workflow(tmp_path, BROUGHT.replace('{ step = "twice", where = {} }', '"twice"'))
    assert made.brings == ((), ("make",), ("make",))
    assert [step.inputs for step in made.steps] == [(), ("lib.txt",), ()]
    assert [step.cwd for step in made.steps] == ["", "", ""]  # a folder of each task's own
    assert [made.is_brought(task) for task in (3, 4, 6)] == [False, True, True]
    assert [list(tasks) for _, tasks in made.sources(5)] == [[2]]
    assert [list(tasks) for _, tasks in made.sources(6)] == [[0, 1, 2, 3]]
    assert Workflow.from_plain(made.to_plain()).brings == made.brings


@pytest.mark.parametrize(
    ("was", "instead", "said"),
    [
        ('inputs = ["{after.make.outputs}"]', 'inputs = ["{after.tiwce.outputs}"]',
         "line 20: `step[3].inputs`: the outputs of 'tiwce' are wanted and it is not waited for"),
        ('outputs = ["part-*"]', "",
         "line 13: `step[2].inputs`: the step make leaves nothing; say in its `outputs` which"),
    ],
)  # fmt: skip
def test_outputs_that_cannot_be_had_are_refused_with_the_line(
    tmp_path: Path, was: str, instead: str, said: str
) -> None:
    text = BROUGHT.replace(', { step = "twice", where = {} }', "")
    with pytest.raises(UsageError) as refused:
        written(tmp_path, text.replace(was, instead))
    assert said in str(refused.value)

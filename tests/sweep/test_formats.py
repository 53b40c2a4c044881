"""Other people's workflows: WfFormat, DAGMan, DAX, lists of tasks; what is not read is named."""

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bats.common.errors import UsageError
from bats.master.sweep.arguments import from_arguments
from bats.master.sweep.workflow.formats import foreign_workflow
from bats.master.sweep.workflow.task_list import Emulation
from bats.master.sweep.workflow.workflow import Workflow


def read(path: Path, **emulation: Any) -> Workflow:
    made = foreign_workflow(path, Emulation(**emulation) if emulation else None)
    assert made is not None
    return made


def order(of: Workflow) -> dict[str, set[str]]:
    """The ids that each id waits for."""
    ids = [of.parameters(k)["id"] for k in range(of.count)]
    waits: dict[str, set[str]] = {one: set() for one in ids}
    flat = of.graph.pairs()
    for parent, child in zip(flat[::2], flat[1::2], strict=True):
        waits[ids[child]].add(ids[parent])
    return waits


def run_all(of: Workflow, folder: Path) -> None:
    """Every task, as a worker would run it, in an order that keeps to the graph."""
    from bats.master.brain.protocol.graph import worked_off

    for task in worked_off(of.graph):
        step, _ = of.place(task)
        subprocess.run(["sh", "-c", of.preview(task)], cwd=step.cwd or folder, check=True,
                       env={**os.environ, **step.env})  # fmt: skip


# --- WfFormat -------------------------------------------------------------------------------------


def wfformat(**changes: Any) -> dict[str, Any]:
    def task(number: str, parents: list[str], children: list[str]) -> dict[str, Any]:
        name = number.partition("_")[0]
        return {"id": number, "name": name, "parents": parents, "children": children}

    def ran(number: str, seconds: float, *arguments: str) -> dict[str, Any]:
        command = {"program": number.partition("_")[0], "arguments": list(arguments)}
        return {"id": number, "runtimeInSeconds": seconds, "command": command}

    return {
        "name": "tiny",
        "schemaVersion": "1.5",
        "workflow": {
            "specification": {
                "tasks": [
                    task("split_1", [], ["work_1", "work_2"]),
                    task("work_1", ["split_1"], ["merge_1"]),
                    task("work_2", ["split_1"], ["merge_1"]),
                    task("merge_1", ["work_1", "work_2"], []),
                ],
            },
            "execution": {
                "tasks": [
                    ran("split_1", 10.0, "a b"),
                    ran("work_1", 20.0, "1"),
                    ran("work_2", 25.0, "2"),
                    ran("merge_1", 5.0),
                ],
            },
        },
        **changes,
    }


def test_wfformat_becomes_steps_by_name_with_commands_and_edges(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(wfformat(), indent=1))
    made = read(path)
    assert [(step.name, step.count) for step in made.steps] == [
        ("split", 1), ("work", 2), ("merge", 1)
    ]  # fmt: skip
    assert [made.preview(k) for k in range(4)] == ["split 'a b'", "work 1", "work 2", "merge"]
    assert order(made) == {
        "split_1": set(), "work_1": {"split_1"}, "work_2": {"split_1"},
        "merge_1": {"work_1", "work_2"},
    }  # fmt: skip
    assert made.name == "tiny"
    assert made.seconds == (10.0, 20.0, 25.0, 5.0)


def test_recorded_runtimes_are_slept_or_burnt_as_fast_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json.gz"
    path.write_bytes(gzip.compress(json.dumps(wfformat()).encode()))
    assert read(path, speedup=100.0).preview(0) == "sleep 0.1"
    burning = read(path, processor=True, speedup=200.0)
    before = os.times()
    subprocess.run(["sh", "-c", burning.preview(0)], check=True)
    after = os.times()
    assert after.children_user - before.children_user >= 0.05


def test_what_wfformat_tells_twice_must_agree(tmp_path: Path) -> None:
    written = wfformat()
    written["workflow"]["specification"]["tasks"][1]["children"] = []
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(written, indent=1))
    with pytest.raises(UsageError, match=r"line \d+: 'work_1' comes before 'merge_1' by `parents`"):
        read(path)


def test_a_workflow_without_commands_or_runtimes_says_what_would_help(tmp_path: Path) -> None:
    written = wfformat()
    del written["workflow"]["execution"]
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(written, indent=1))
    with pytest.raises(UsageError, match="'split_1' has no command; with --emulate"):
        read(path)
    with pytest.raises(UsageError, match="no runtime is recorded of the task 'split_1'"):
        read(path, speedup=1.0)
    path.write_text(json.dumps(wfformat(schemaVersion="1.3"), indent=1))
    with pytest.raises(UsageError, match=r"line 3: WfFormat 1\.3 is not read, only 1\.5 and 1\.6"):
        read(path)


def test_a_json_sweep_is_no_foreign_workflow_and_emulation_is_for_those_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sweep.json"
    path.write_text('{"command": "true"}')
    assert foreign_workflow(path) is None
    with pytest.raises(UsageError, match="--emulate is for workflows with recorded runtimes"):
        from_arguments(file=path, emulation=Emulation())


def test_options_hold_for_a_foreign_workflow_too(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(wfformat()))
    made = from_arguments(
        file=path, settings={"budget": "2", "retries": 4, "timeout": "1m", "name": "mine"}
    )
    assert isinstance(made, Workflow)
    assert (made.name, made.budget, made.retries) == ("mine", 2_000_000_000, (4, 4, 4))
    assert {step.timeout_seconds for step in made.steps} == {60.0}
    with pytest.raises(UsageError, match="it has its commands and values already"):
        from_arguments(file=path, parameters=["x=1,2"])


# --- DAGMan ---------------------------------------------------------------------------------------

DAG = r'''# a diamond
JOB A work.sub
JOB B work.sub DIR sub
JOB C {
  executable = /bin/echo
  arguments = "'c''s own' $(what) ""quoted"""
  output = c.out
}
JOB D work.sub
JOB N work.sub NOOP
PARENT A CHILD B C
PARENT B C CHILD D
PARENT D CHILD N
VARS ALL_NODES what="x y"
VARS A name="first \"one\""
RETRY D 3 UNLESS-EXIT 2
SCRIPT PRE D prepare.sh $JOB
SCRIPT POST D check.sh $RETURN
PRIORITY A 10
'''

SUB = """
# what each node runs
universe = vanilla
executable = work.sh
arguments = $(JOB) $(name:nobody)
environment = "COLOUR=red SHAPE='a square'"
output = $(JOB).out
request_memory = 1G
queue
"""


def dag(folder: Path, text: str = DAG) -> Path:
    (folder / "sub").mkdir(exist_ok=True)
    for where in (folder, folder / "sub"):
        (where / "work.sub").write_text(SUB)
        script(where / "work.sh", 'echo "$1 $2 $COLOUR $SHAPE"')
    script(folder / "prepare.sh", "echo before $1 > before.out")
    script(folder / "check.sh", "echo after $1 > after.out")
    path = folder / "flow.dag"
    path.write_text(text)
    return path


def script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def test_a_dag_runs_its_nodes_scripts_and_variables_in_order(tmp_path: Path) -> None:
    made = read(dag(tmp_path))
    assert order(made) == {
        "A": set(), "B": {"A"}, "C": {"A"}, "D": {"B", "C"}, "N": {"D"}
    }  # fmt: skip
    run_all(made, tmp_path)
    assert (tmp_path / "A.out").read_text() == "A first red a square\n"
    assert (tmp_path / "sub" / "B.out").read_text() == "B nobody red a square\n"
    assert (tmp_path / "c.out").read_text() == 'c\'s own x y "quoted"\n'
    assert (tmp_path / "before.out").read_text() == "before D\n"
    assert (tmp_path / "after.out").read_text() == "after 0\n"
    retries = dict(zip((step.name for step in made.steps), made.retries, strict=True))
    assert sorted(retries.values()) == [0, 0, 0, 3]


def test_what_a_dag_has_and_we_do_not_is_named_with_its_line(tmp_path: Path) -> None:
    path = dag(tmp_path)
    assert read(path).notes == (
        (
            f"{path}, line 16: UNLESS-EXIT means nothing here: whatever its exit code, it is tried "
            "again"
        ),
        f"{path}, line 19: PRIORITY means nothing here",
        f"{tmp_path / 'work.sub'}, line 8: `request_memory` means nothing here",
        f"{tmp_path / 'sub' / 'work.sub'}, line 8: `request_memory` means nothing here",
    )


def test_a_rescue_file_leaves_out_what_is_done(tmp_path: Path) -> None:
    path = dag(tmp_path)
    for number, done in ((1, "A"), (2, "A B")):
        lines = "".join(f"DONE {name}\n" for name in done.split())
        path.with_name(f"flow.dag.rescue{number:03}").write_text(f"# rescue\n{lines}")
    made = read(path)
    assert order(made) == {"C": set(), "D": {"C"}, "N": {"D"}}
    assert any("rescue002: 2 of 5 nodes are done and left out" in note for note in made.notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("JOB A work.sub\nSUBDAG EXTERNAL B b.dag\n", "line 2: SUBDAG: a DAG within a DAG is not"),
        ("JOB A work.sub\nPARENT A CHILD B\n", "line 2: there is no node 'B' above."),
        ("JOB A work.sub\nJOB A work.sub\n", "line 2: the node A is given before, in line 1."),
        ("JOBS A work.sub\n", "line 1: 'JOBS' is no command of DAGMan that is known."),
        ("JOB A work.sub\nJOB B none.sub\n", "flow.dag, line 2: the submit description"),
        ("JOB A {\nexecutable = x\nqueue 3\n}\n", "line 3: `queue 3` starts several processes"),
        ("JOB A work.sub\nJOB B work.sub\nPARENT A CHILD B\nPARENT B CHILD A\n", "A -> B -> A"),
        ("JOB A work.sub DONE\n", "every node is done"),
    ],
)
def test_a_dag_that_cannot_be_run_is_refused_with_the_line(
    text: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read(dag(tmp_path, text))
    assert said in str(caught.value)


# --- DAX ------------------------------------------------------------------------------------------

DAX = """<?xml version="1.0"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="waves">
  <job id="ID1" name="touch"><argument><file name="a.txt"/> b.txt</argument>
    <uses name="a.txt" link="output"/>
    <profile namespace="condor" key="priority">3</profile>
  </job>
  <job id="ID2" name="cp"><argument>a.txt <filename file="c.txt"/></argument></job>
  <child ref="ID2"><parent ref="ID1"/></child>
</adag>
"""

RECORDED = """<adag name="sipht">
<job id="ID1" namespace="SIPHT" name="Patser" runtime="1.27"/>
<job id="ID2" namespace="SIPHT" name="Patser" runtime="2.5"/>
<job id="ID3" namespace="SIPHT" name="Concat" runtime="0.08"/>
<child ref="ID3"><parent ref="ID1"/><parent ref="ID2"/></child>
</adag>
"""


def test_a_dax_runs_its_programs_in_order(tmp_path: Path) -> None:
    path = tmp_path / "waves.dax"
    path.write_text(DAX)
    made = read(path)
    assert order(made) == {"ID1": set(), "ID2": {"ID1"}}
    assert made.name == "waves"
    run_all(made, tmp_path)
    assert (tmp_path / "c.txt").exists()
    assert made.notes[0] == f"{path}, line 5: <profile> means nothing here"


def test_a_dax_of_recorded_runtimes_is_emulated(tmp_path: Path) -> None:
    path = tmp_path / "sipht.xml"
    path.write_text(RECORDED)
    made = read(path, speedup=2.0)
    assert [made.preview(k) for k in range(3)] == ["sleep 0.635", "sleep 1.25", "sleep 0.04"]
    assert order(made)["ID3"] == {"ID1", "ID2"}
    with pytest.raises(UsageError, match="line 2: the task 'ID1' has no command; with --emulate"):
        read(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<adag>\n<job id='a'/></adag>", "line 2: <job> has no 'name'."),
        ("<adag>\n<dax id='a' name='b'/></adag>", "line 2: a DAX within a DAX is not read"),
        ("<adag><job", "this is not XML"),
        ("<adag></adag>", "there is no job in it"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><adag/>", "entities are not read"),
        ("<adag><child ref='x'/></adag>", "there is no job 'x'"),
    ],
)
def test_a_dax_that_cannot_be_run_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "flow.dax"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read(path)
    assert said in str(caught.value)


# --- lists ----------------------------------------------------------------------------------------


def test_a_list_of_tasks_has_ids_commands_and_what_they_wait_for(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        '{"id": 1, "command": "echo one > one"}\n'
        '\n{"id": "two", "argv": ["cp", "one", "two of it"], "after": 1, "step": "copy"}\n'
        '{"id": 3, "command": "cat one", "after": [1, "two"], "retries": 2, "seconds": 4}\n'
    )
    made = read(path)
    assert order(made) == {"1": set(), "two": {"1"}, "3": {"1", "two"}}
    assert made.retries == (None, None, 2)
    run_all(made, tmp_path)
    assert (tmp_path / "two of it").read_text() == "one\n"


def test_a_task_recorded_as_taking_none_is_no_task_that_was_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(
        '{"id": 1, "command": "x", "seconds": 0}\n{"id": 2, "command": "x", "seconds": 4}\n'
        '{"id": 3, "command": "x"}\n'
    )
    assert read(path).seconds == (0.001, 4.0, 0.0)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: this is not JSON"),
        ("[]", "line 2: should be an object"),
        ('{"id": 2}', "line 2: a task needs `command`, a text, or `argv`"),
        ('{"id": 1, "command": "x"}', "line 2: the task '1' is given before, at "),
        ('{"id": 2, "command": "x", "after": 7}', "line 2: '2' waits for '7', which is no task"),
        ('{"id": 2, "command": "x", "wait": 7}', "line 2: `wait` is no key here"),
        ('{"id": 2, "command": "x", "after": 2}', "line 2: 2 -> 2: these wait for one another"),
        ('{"command": "x"}', "line 2: `id` should be a text or a number"),
        ('{"id": 2, "command": "x", "seconds": -1}', "line 2: `seconds` should be a number"),
        ('{"id": 2, "command": "x", "retries": 0.5}', "line 2: `retries` should be a whole"),
    ],
)
def test_a_mistake_in_a_list_is_told_with_its_line(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(f'{{"id": 1, "command": "x"}}\n{line}\n')
    with pytest.raises(UsageError) as caught:
        read(path)
    assert said in str(caught.value)

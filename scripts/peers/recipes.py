"""How each task runner is given shell commands to run, two at a time.

A recipe does `tasks` times the same and tells two times of the clock: when it could have begun the
first, and when whoever asked knew that the last was done.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from peers.sitting import FailedError, Sitting
from peers.sources import PYTHON

Times = tuple[float, float]
Recipe = Callable[[Sitting, int, str], Times]
PROGRAMS: Final = Path(__file__).with_name("programs")

_SNAKEFILE: Final = """\
rule all:
    input: expand("done/{{i}}", i=range({tasks}))
rule one:
    output: touch("done/{{i}}")
    shell: "{command}"
"""
_MAKEFILE: Final = """\
TASKS := $(shell seq {tasks})
.PHONY: all $(TASKS)
all: $(TASKS)
$(TASKS):
\t@{command};
"""  # the ; has make ask a shell


def of_lines(*words: str) -> Recipe:
    """Commands are lines of its standard input."""

    def run(here: Sitting, tasks: int, command: str) -> Times:
        path = here.write("commands", [command] * tasks)
        began = time.time()
        with path.open() as lines:
            here.run(*words, given=lines)
        return began, time.time()

    return run


def make(here: Sitting, tasks: int, command: str) -> Times:
    here.write("Makefile", [_MAKEFILE.format(tasks=tasks, command=command)])
    began = time.time()
    here.run("make", "-s", "-j2")
    return began, time.time()


def spooler(here: Sitting, tasks: int, command: str) -> Times:
    """A client for each task: it knows no other way."""
    own = {"TS_SOCKET": str(here.folder / "socket"), "TS_MAXFINISHED": "10"}
    here.run("tsp", "-S", "2", **own)
    began = time.time()
    one = f"tsp -n /bin/sh -c '{command}'"
    loop = f"i=0; while [ $i -lt {tasks} ]; do {one}; i=$((i+1)); done; tsp -w"
    here.run("sh", "-c", loop, **own)
    ended = time.time()
    here.run("tsp", "-K", **own)
    return began, ended


def snakemake(here: Sitting, tasks: int, command: str) -> Times:
    """A rule of `tasks` files that must be made."""
    here.write("Snakefile", [_SNAKEFILE.format(tasks=tasks, command=command)])
    began = time.time()
    here.run(PYTHON, "-m", "snakemake", "--quiet", "all", "--nolock", "--cores", "2", "--", "all")
    ended = time.time()
    if (made := len(list((here.folder / "done").iterdir()))) != tasks:
        raise FailedError(f"{made} of {tasks} files made")
    return began, ended


def of_python(program: str, *words: str) -> Recipe:
    """A program of ours that speaks its Python interface, in processes that know only it."""

    def run(here: Sitting, tasks: int, command: str) -> Times:
        path = PROGRAMS / f"with_{program}.py"
        said = here.run(PYTHON, path, str(tasks), command, *words)
        told = json.loads(said.splitlines()[-1])
        if told["failed"]:
            raise FailedError(f"{told['failed']} of {tasks} tasks failed")
        return told["ready"], told["done"]

    return run

"""What a task finds and what is told of it: real daemon, real socket, real processes."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bats.common import messages as m

Master = Any  # the small one in conftest.py
PROGRAM = (
    "import json,os,sys;"
    "print(json.dumps([dict(os.environ), os.getcwd(), sys.argv[1:], sys.stdin.read()]))"
)


def _told(folder: Path, task: int = 0) -> Any:
    return json.loads((folder / "0" / f"{task}.out").read_text())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def test_a_task_is_measured(master: Master, worker: Any) -> None:
    done, failed, killed = master.run("true", "exit 3", "kill -SEGV $$")
    assert (done.outcome, done.exit_code, done.excerpt) == (m.Outcome.DONE, 0, "")
    assert (failed.outcome, failed.exit_code) == (m.Outcome.FAILED, 3)
    assert (killed.outcome, killed.exit_code) == (m.Outcome.FAILED, -11)
    python = shlex.quote(sys.executable)
    (busy,) = master.run(f"{python} -c 'a = b\"x\" * 300_000_000; sum(range(3_000_000))'")
    assert busy.wall_seconds >= busy.user_seconds > 0
    assert busy.peak_kib > 290_000


def test_output_is_kept_where_the_user_looks_and_failures_quote_it(
    master: Master, worker: Any, out: Path
) -> None:
    results = master.run(
        "echo good",
        "echo bad >&2; exit 1",
        "true",
        "echo one; echo two >&2",
        output_folder=str(out),
    )
    assert [r.output_bytes for r in results] == [5, 4, 0, 8]
    assert [r.excerpt for r in results] == ["good", "bad", "", "one"]
    kept = {str(p.relative_to(out)): p.read_text() for p in out.rglob("*.*")}
    assert kept == {"0/0.out": "good\n", "0/1.err": "bad\n", "0/3.out": "one\n", "0/3.err": "two\n"}


def test_later_attempts_and_high_tasks_have_names_of_their_own(
    master: Master, worker: Any, out: Path
) -> None:
    spec = m.BagSpec(m.BagId(1), ("c",), command="echo {c}", output_folder=str(out))
    master.say(spec, m.Run(m.BagId(1), (m.Order(m.TaskId(12_345), 3, ("a b",)),)))
    master.results(1)
    assert (out / "12" / "12345.3.out").read_text() == "a b\n"


def test_of_too_much_output_head_and_tail_are_kept(master: Master, worker: Any, out: Path) -> None:
    (result,) = master.run("seq 1 100000; exit 1", output_folder=str(out), output_cap_bytes=1000)
    text = (out / "0" / "0.out").read_text()
    assert result.output_bytes == 588_895
    assert text.startswith("1\n2\n3\n")
    assert "[bats: 587895 bytes cut here; 588895 were written]" in text
    assert text.endswith("99999\n100000\n")
    assert len(text) < 1100
    assert result.excerpt.endswith("99999\n100000")


def test_one_tasks_output_never_shows_in_anothers(master: Master, worker: Any, out: Path) -> None:
    results = master.run(
        *(f"echo {n}; (sleep 0.02; echo late {n}) &" if n % 3 else f"echo {n}" for n in range(40)),
        output_folder=str(out),
    )
    assert all(r.outcome is not None and r.exit_code == 0 for r in results)
    for n in range(40):
        lines = (out / "0" / f"{n}.out").read_text().splitlines()
        assert lines[0] == f"{n}"
        assert set(lines) <= {f"{n}", f"late {n}"}  # on a busy computer its own may be in time


def test_a_task_finds_itself_in_its_environment(
    master: Master, start: Callable[..., Any], out: Path, tmp_path: Path
) -> None:
    start(speed=0.5)
    master.welcome()
    spec = m.BagSpec(
        m.BagId(4),
        ("alpha", "beta-2"),
        argv=(sys.executable, "-c", PROGRAM, "{alpha}", "x{beta-2}"),
        cwd=str(tmp_path),
        env={"MIX": "{alpha}/{{}}", "PLAIN": "1"},
        stdin="a={alpha}\n",
        output_folder=str(out),
        cluster="fast",
        tasks=10,
    )
    master.say(spec, m.Run(m.BagId(4), (m.Order(m.TaskId(2), 1, ("0.5 ' é", "7")),)))
    (result,) = master.results(1)
    assert result.excerpt.startswith('[{"')
    env, cwd, argv, stdin = _told(out, 2)
    assert {k: v for k, v in env.items() if k.startswith("BATS_") and k != "BATS_SCRATCH"} == {
        "BATS_TASK_ID": "2",
        "BATS_INDEX": "2",
        "BATS_BAG": "4",
        "BATS_ATTEMPT": "1",
        "BATS_CPUS": "1",
        "BATS_CLUSTER": "fast",
        "BATS_SPEED": "0.5",
        "BATS_PARAM_ALPHA": "0.5 ' é",
        "BATS_PARAM_BETA_2": "7",
    }
    assert env["MIX"] == "0.5 ' é/{}"
    assert (env["PLAIN"], cwd, argv) == ("1", str(tmp_path), ["0.5 ' é", "x7"])
    assert stdin == "a=0.5 ' é\n"
    assert "SLURM_ARRAY_TASK_ID" not in env


@pytest.mark.parametrize(
    ("compat", "name", "expected"),
    [("slurm", "SLURM_ARRAY_TASK_ID", "17"), ("sge", "SGE_TASK_ID", "17")],
)
def test_scripts_for_array_jobs_find_their_number(
    master: Master, worker: Any, out: Path, compat: str, name: str, expected: str
) -> None:
    spec = m.BagSpec(
        m.BagId(1),
        ("array",),
        command=f"echo ${name} $BATS_INDEX",
        compat=compat,
        output_folder=str(out),
    )
    master.say(spec, m.Run(m.BagId(1), (m.Order(m.TaskId(3), 1, ("17",)),)))
    master.results(1)
    assert (out / "0" / "3.out").read_text() == f"{expected} 17\n"


def test_each_attempt_has_an_empty_scratch_folder_that_is_gone_afterwards(
    master: Master, worker: Any, out: Path
) -> None:
    look = 'ls -A "$BATS_SCRATCH"; pwd; touch left; mkdir -p d/e; echo "$BATS_SCRATCH"'
    master.run(*[look] * 6, output_folder=str(out))
    for n in range(6):
        cwd, scratch = (out / "0" / f"{n}.out").read_text().splitlines()
        assert cwd == scratch
        assert not Path(scratch, "left").exists()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"argv": ("no-such-program",), "command": ""}, "no program `no-such-program` on the PATH"),
        ({"argv": ("/no/such",), "command": ""}, "there is no program /no/such on this machine"),
        ({"argv": ("/etc/passwd",), "command": ""}, "/etc/passwd is not executable"),
        ({"cwd": "/no/such/folder"}, "cannot run in the folder /no/such/folder: No such file"),
        ({"command": "{d}"}, "no value for {d}. Allowed: {c}"),
        ({"command": "{c!raw}" * 200}, "longer than this machine allows"),
    ],
)
def test_what_cannot_start_says_why_and_does_not_stop_the_rest(
    master: Master, worker: Any, spec: dict[str, Any], why: str
) -> None:
    text = "x" * 20_000 if "c!raw" in spec.get("command", "") else "true"
    (result,) = master.run(text, **spec)
    assert result.outcome == m.Outcome.NOT_STARTED
    assert why in result.excerpt
    assert master.run("true")[0].outcome == m.Outcome.DONE


def test_a_task_meets_signals_as_any_program_does(master: Master, worker: Any) -> None:
    (result,) = master.run(
        "yes | head -1 >/dev/null; grep -E 'Sig(Ign|Blk)' /proc/self/status >&2; exit 1"
    )
    masks = [int(line.split()[1], 16) for line in result.excerpt.splitlines()]
    assert len(masks) == 2
    assert not any(mask & 0x7FFF_FFFF for mask in masks)  # 32 and 33 are the C library's own


def test_a_success_tells_its_last_line_and_the_values_before_it(
    master: Master, worker: Any
) -> None:
    told = master.run(
        "echo noise; echo loss=0.5; seq 2000; echo steps=7; echo the end",
        "echo x=1 >&2",
        "yes | head -c 3000000; echo; echo y=2",
    )
    assert [r.excerpt for r in told] == ["steps=7\nthe end", "x=1", "y=2"]

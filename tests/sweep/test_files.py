"""A sweep file means the same in TOML, YAML and JSON, and stays a template when compiled."""

import json
from pathlib import Path

import msgpack
import pytest

from bats.common.errors import UsageError
from bats.common.messages import BagId
from bats.common.money import money
from bats.master.sweep.sweep import Sweep
from bats.master.sweep.sweep_reading import load

FULL = """
name = "ising"
command = "python sim.py --alpha {alpha} --seed {seed} > out-{kind}.txt"
cwd = "run/{kind}"
stdin = "{seed}"
timeout = "1h 30m"
output_cap = "64K"
retries = 3
replicate = false
compat = "slurm"
budget = 12.50
deadline = "08:00:00"
pick = "cheapest+10%"
exclude = [{ alpha = 0.5, kind = "b" }, { seed = 3 }]

[grid]
alpha = "0.1:1:0.1"
seed = { range = [1, 5, 2] }

[[zip]]
kind = ["a", "b"]
weight = [0.10, 2]

[env]
OMP_NUM_THREADS = 4
LABEL = "{kind}"

[resources]
slots = 2
"""


def written(folder: Path, text: str, name: str = "sweep.toml") -> Sweep:
    path = folder / name
    path.write_text(text)
    return load(path)


def test_a_file_with_everything_in_it(tmp_path: Path):
    sweep = written(tmp_path, FULL)
    assert sweep.count == 38
    assert sweep.names == ("alpha", "seed", "kind", "weight")
    assert sweep.values(0) == ("0.1", "1", "a", "0.10")
    assert sweep.parameters(37) == {"alpha": "1.0", "seed": "5", "kind": "b", "weight": "2"}
    assert sweep.preview(0) == "python sim.py --alpha 0.1 --seed 1 > out-a.txt"
    assert sweep.cwd == f"{tmp_path}/run/{{kind}}"
    assert sweep.env == {"OMP_NUM_THREADS": "4", "LABEL": "{kind}"}
    assert (sweep.timeout_seconds, sweep.deadline_seconds) == (5400, 28800)
    assert (sweep.output_cap_bytes, sweep.retries, sweep.replicate) == (65536, 3, False)
    assert (sweep.budget, sweep.pick, sweep.slots) == (money("12.5"), "cheapest+10%", 2)


def test_its_spec_is_what_a_worker_needs(tmp_path: Path):
    spec = written(tmp_path, FULL).spec(BagId(7), output_folder="/shared/7", cluster="small")
    assert spec.bag == 7
    assert spec.names == ("alpha", "seed", "kind", "weight")
    assert spec.command.startswith("python sim.py")
    assert (spec.timeout_seconds, spec.output_cap_bytes, spec.compat) == (5400, 65536, "slurm")
    assert (spec.tasks, spec.output_folder, spec.cluster) == (38, "/shared/7", "small")


def test_the_same_sweep_in_yaml_and_json(tmp_path: Path):
    toml = written(
        tmp_path,
        'argv = ["run", "{a}", "{b}"]\n[grid]\na = [1, 0.10, "no"]\nb = "1:3"\n',
    )
    yaml = written(
        tmp_path,
        "argv: [run, '{a}', '{b}']\ngrid:\n  a: [1, 0.10, no]\n  b: 1:3\n",
        "sweep.yaml",
    )
    as_json = written(
        tmp_path,
        '{"argv": ["run", "{a}", "{b}"], "grid": {"a": [1, 0.10, "no"], "b": "1:3"}}',
        "sweep.json",
    )
    assert toml == yaml == as_json
    assert [toml.values(i)[0] for i in (0, 3, 6)] == ["1", "0.10", "no"]


def test_a_million_tasks_take_less_than_a_page_on_the_wire(tmp_path: Path):
    sweep = written(
        tmp_path,
        'command = "x {a} {b}"\nexclude = [{a = 3, b = "1:100"}]\n'
        '[grid]\na = "1:1000"\nb = "0.001:1:0.001"\n',
    )
    plain = msgpack.packb(sweep.to_plain())
    assert sweep.count == 1_000_000 - 1  # of 1..100 only 1 occurs in b
    assert len(plain) < 4096
    again = Sweep.from_plain(msgpack.unpackb(plain, use_list=False))
    assert again == sweep
    assert again.values(999_998) == ("1000", "1.000")


def test_the_plain_form_survives_json_too(tmp_path: Path):
    sweep = written(tmp_path, FULL)
    assert Sweep.from_plain(json.loads(json.dumps(sweep.to_plain()))) == sweep


def test_rows_of_a_csv_are_tasks(tmp_path: Path):
    (tmp_path / "rows.csv").write_text('name, x\r\n"a, b", 1\r\n\r\nc,2\r\n')
    sweep = written(tmp_path, 'argv = ["run", "{name}", "{x}"]\ncsv = "rows.csv"')
    assert [sweep.values(i) for i in range(sweep.count)] == [("a, b", "1"), ("c", "2")]
    assert sweep.preview(0) == "run 'a, b' 1"


def test_values_may_stand_in_a_file_one_to_a_line(tmp_path: Path):
    (tmp_path / "names.txt").write_text("x y\n\nz\n")
    sweep = written(tmp_path, 'command = "echo {n}"\n[grid]\nn = {file = "names.txt"}')
    assert [sweep.preview(i) for i in range(sweep.count)] == ["echo 'x y'", "echo z"]


def test_an_array_is_a_parameter_called_array(tmp_path: Path):
    sweep = written(tmp_path, 'command = "sim $SLURM_ARRAY_TASK_ID"\narray = "1-9:2%3"')
    assert [sweep.parameters(i)["array"] for i in range(sweep.count)] == ["1", "3", "5", "7", "9"]
    assert sweep.at_once == 3


def test_tasks_run_beside_the_sweep_file_unless_they_bring_files_along(tmp_path: Path):
    assert written(tmp_path, 'command = "pwd"').cwd == str(tmp_path)
    assert written(tmp_path, 'command = "pwd"\noutputs = ["*.txt"]').cwd == ""
    assert written(tmp_path, 'command = "pwd"\ncwd = ""').cwd == ""
    assert written(tmp_path, 'command = "pwd"\ncwd = "/data"').cwd == "/data"
    assert written(tmp_path, 'command = "pwd"\ncwd = "~/x"').cwd == str(Path.home() / "x")


def test_a_folder_with_braces_in_its_name_is_no_placeholder(tmp_path: Path):
    folder = tmp_path / "{x}"
    folder.mkdir()
    assert written(folder, 'command = "pwd"').cwd == f"{tmp_path}/{{{{x}}}}"


def test_inputs_name_each_file_that_some_task_needs_once(tmp_path: Path):
    sweep = written(
        tmp_path,
        'command = "x"\ninputs = ["sim.py", "data-{a}.csv"]\n[grid]\na = [1, 2]\nb = "1:50"',
    )
    assert sweep.input_paths() == ("sim.py", "data-1.csv", "data-2.csv")


def test_limits_of_a_task_reach_its_workers_and_of_older_sweeps_there_are_none(tmp_path: Path):
    sweep = written(tmp_path, 'command = "x"\nmemory = "2G"\npids = 50')
    spec = sweep.spec(BagId(1))
    assert (spec.memory_bytes, spec.pids) == (2 << 30, 50)
    plain = sweep.to_plain()
    assert Sweep.from_plain(plain) == sweep
    older = {key: value for key, value in plain.items() if key not in {"memory_bytes", "pids"}}
    assert Sweep.from_plain(older).spec(BagId(1)).memory_bytes == 0


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"sweep": 99},
        {"retries": -1},
        {"retries": True},
        {"timeout_seconds": float("nan")},
        {"env": {"A": 1}},
        {"argv": "ab"},
        {"argv": ["x"]},
        {"command": "{nobody}"},
        {"slots": 0},
        {"space": {"axes": [], "exclude": 5}},
        {"space": {"axes": [{"names": ["a"], "columns": [{"start": "1"}]}], "exclude": []}},
        {"space": {"axes": [{"names": ["a", "a"], "columns": [["1"], ["2"]]}], "exclude": []}},
        {"space": {"axes": [{"names": ["a"], "columns": [[1]]}], "exclude": []}},
        {"space": None},
        {"budget": 10.5},
    ],
)
def test_a_plain_form_that_is_none_is_refused(tmp_path: Path, broken: dict[str, object]):
    plain = written(tmp_path, 'command = "x"').to_plain()
    with pytest.raises(UsageError):
        Sweep.from_plain(plain | broken if broken else {})


def test_aliases_do_not_blow_a_yaml_file_up(tmp_path: Path):
    path = tmp_path / "sweep.yaml"
    path.write_text("command: x\nenv: &a {q: *a}\n")
    with pytest.raises(UsageError, match="recursive"):
        load(path)
    values, keys = "1," * 9000, "".join(f"  b{k}: *a\n" for k in range(900))
    path.write_text(f"grid:\n  a: &a [{values}]\n{keys}")
    with pytest.raises(UsageError, match=r"stands for 8\.1e\+06 values"):
        load(path)

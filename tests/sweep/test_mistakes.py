"""Every mistake in a sweep file is told in one sentence: where, what was seen, what is allowed."""

from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.master.sweep.sweep_reading import load

MISTAKES = [
    ("", "sweep.toml: there is nothing to run; give `command`"),
    ('comand = "x"', "line 1: `comand`: unknown key; did you mean `command`?"),
    ('command = "x"\nzzz = 1', "line 2: `zzz`: unknown key; allowed are name, "),
    ('command = "x"\nargv = ["y"]', "both given; keep one"),
    ("command = 5", "line 1: `command`: should be a text, not 5."),
    ('argv = "python x"', "`argv`: should be a list of texts"),
    ("x = = 1", "this is not TOML: invalid value (at line 1, column 5)."),
    ('command = "x"\nname = "a"\nname = "b"', "this is not TOML: cannot overwrite"),
    # placeholders
    ('command = "x {alfa}"\n[grid]\nalpha = [1]', "{alfa}; did you mean {alpha}?"),
    ('command = "x {a}"', "{a} has no values; the sweep has no parameters."),
    ('command = "x {"', "`command`: lone `{`"),
    ('command = "echo ${HOME}"', "write $HOME or ${{HOME}}"),
    ('command = "x"\ncwd = "{b}"\n[grid]\na = [1]', "line 2: `cwd`: {b} has no values"),
    ('command = "x"\n[env]\nN = "{b}"', "line 3: `env.N`: {b} has no values"),
    ('command = "x"\noutputs = ["ok", "{b}"]', "line 2: `outputs[2]`: {b} has no values"),
    # values
    ('command = "x"\n[grid]\na = []', "line 3: `grid.a`: the list is empty; write a list"),
    ('command = "x"\n[grid]\na = "1,2"', "`grid.a`: '1,2' gives no values; write a list"),
    ('command = "x"\n[grid]\na = [[1]]', "`grid.a`: should be a text or a number, not [1]."),
    ('command = "x"\n[grid]\na = "1:0:0.1"', "a falling range needs a negative step"),
    ('command = "x"\n[grid]\na = {range = [1, 2, 0]}', "the step must not be 0"),
    ('command = "x"\n[grid]\na = {range = [1]}', "range should be [start, stop]"),
    ('command = "x"\n[grid]\na = {rnge = [1, 2]}', "`rnge` is no key here; did you mean `range`?"),
    ('command = "x"\n[grid]\na = {range = [1, 1e18]}', "at most 10,000,000 are possible"),
    ('command = "x"\n[grid]\na = {file = "no.txt"}', "`grid.a`: The file of values"),
    ('command = "x"\n[grid]\na-b = [1]', "use letters, digits and _, a letter first"),
    ('command = "x"\n[grid]\nA = [1]\na = [2]', "would both be BATS_PARAM_A"),
    ('command = "x"\n[grid]\na = ["\\u0000"]', "holds a NUL"),
    ('command = "x"\n[grid]\na = "1:10000"\nb = "1:10000"', "more than 10,000,000 tasks"),
    ('command = "x"\n[[grid]]\na = [1]', "`grid`: should be a table"),
    ('command = "x"\n[zip]\na = [1]', "should be a list of tables; write [[zip]], with two"),
    ('command = "x"\n[[zip]]\na = [1, 2]\nb = [3]', "line 2: `zip[1]`: zipped parameters need"),
    ('command = "x"\n[[zip]]\na = [1]\n[grid]\na = [1]', "'a' is given twice"),
    ('command = "x"\narray = "5-1"', "line 2: `array`: 5-1 is empty"),
    ('command = "x"\narray = "a-b"', "write for example 1-1000"),
    ('command = "x"\nexclude = [{b = 1}]\n[grid]\na = [1]', "'b', no parameter; they are a"),
    ('command = "x"\nexclude = [{a = 1}]\n[grid]\na = [1]', "leaves no task over"),
    ('command = "x"\nexclude = [{a = 3}]\n[grid]\na = [1]', "rule a = 3 fits no task"),
    ('command = "x"\ninputs = ["../a"]', "'../a' does not lie beside the sweep file; name files"),
    ('command = "x"\noutputs = ["/tmp/a"]', "'/tmp/a' does not lie beside the sweep file"),
    # the rest
    ('command = "x"\ncwd = "sub"\ninputs = ["a"]', "line 2: `cwd`: tasks with `inputs` or"),
    ('command = "x"\ntimeout = "5 parsecs"', "'5 parsecs' is not a duration; write for example"),
    ('command = "x"\ntimeout = 0', "should be longer than 0"),
    ('command = "x"\ntimeout = [1]', "[1] is not a duration"),
    ('command = "x"\ndeadline = "12:30"', "'12:30' is not a duration"),
    ('command = "x"\nbudget = -5', "line 2: `budget`: -5 is negative"),
    ('command = "x"\nbudget = "ten"', "'ten' is not an amount of money"),
    ('command = "x"\nbudget = 1e999999999', "is not an amount of money"),
    ('command = "x"\nbudget = 0.0000000001', "finer than a billionth"),
    ('command = "x"\npick = "cheepest"', "did you mean `cheapest`?"),
    ('command = "x"\nretries = "three"', "should be a whole number, not 'three'."),
    ('command = "x"\nretries = -1', "should be 0 or more, not -1."),
    ('command = "x"\nretries = true', "should be a whole number, not true."),
    ('command = "x"\nreplicate = "maybe"', "should be true or false, not 'maybe'."),
    ('command = "x"\nmemory = "2"', "'2' is less memory than any program needs; write 512M or 2G"),
    ('command = "x"\nmemory = "much"', "'much' is not a size"),
    ('command = "x"\nmemory = "2000000T"', "is more memory than any machine has"),
    ('command = "x"\npids = 0', "pids"),
    ('command = "x"\noutput_cap = "lots"', "'lots' is not a size"),
    ('command = "x"\ncompat = "pbs"', "should be '', 'slurm' or 'sge', not 'pbs'."),
    ('command = "x"\nenv = ["a"]', "should be a table of keys and values"),
    ('command = "x"\nenv = {"A=B" = "c"}', "cannot be the name of an environment variable"),
    ('command = "x"\n[resources]\nslots = 0', "line 3: `resources.slots`: should be 1 or more"),
    ('command = "x"\ncpus = 0', "line 2: `cpus`: should be 1 or more, not 0."),
    ('command = "x"\ngpus = -1', "line 2: `gpus`: should be 0 or more, not -1."),
    (
        'command = "x"\ncpus = 2\nresources = {slots = 2}',
        "line 3: `resources`: `cpus` says the same",
    ),
    ('command = "x"\nretries = -1\ntimeout = "q"', "(1 more after that.)"),
]
TABLES = [
    ("", "is empty; its first line should name the parameters."),
    ("a,b\n", "has a header but no rows"),
    ("a,b\n1,2\n3\n", "line 3: 1 cells where the header has 2 (a, b)"),
    ("a,b\n1,\n", "line 2: the cell of b is empty"),
    ("a,a\n1,2\n", "two columns are called 'a'"),
    ("learning rate\n1\n", "line 1, column 1: 'learning rate' cannot be a parameter's name"),
    ('a\n"1\n', "line 2: this is not CSV"),
]
FILES = [
    ("no.toml", None, "The sweep file no.toml is not there."),
    ("swep.toml", None, "The sweep file swep.toml is not there; did you mean sweep.toml?"),
    ("sweep.ini", b"", "The name should end in .toml or .yaml or .json."),
    (".", None, "is a folder; name the file."),
    ("a.json", b'{"command": "x", "command": "y"}', "the key 'command' is given twice."),
    ("a.json", b"[1]", "should hold keys and values and holds [1]."),
    ("a.json", b'{"command": "\\ud800"}', "holds what no command line can carry"),
    ("a.json", b"[" * 100_000, "nested too deeply"),
    ("a.toml", b"a = " + b"[" * 100_000, "nested too deeply"),
    ("a.yaml", b"command: x\n\tb: 1", "this is not YAML: found character"),
    ("a.yaml", b"a: &a [*a]", "found unconstructable recursive node"),
    ("a.yaml", b"- " * 50_000, "nested too deeply"),
    ("a.toml", b"\nname = '\xff'", "line 2: not UTF-8 text; save the file in that encoding."),
]


def complaint(path: Path | str) -> str:
    with pytest.raises(UsageError) as caught:
        load(path)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?", ".)"))
    assert caught.value.exit_code == 2
    return said


@pytest.mark.parametrize(("text", "says"), MISTAKES)
def test_a_mistake_in_a_sweep_file(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(text)
    assert says in complaint("sweep.toml")


@pytest.mark.parametrize(("rows", "says"), TABLES)
def test_a_mistake_in_a_table(rows: str, says: str, tmp_path: Path):
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "sweep.toml").write_text('command = "x"\ncsv = "rows.csv"\n')
    said = complaint(tmp_path / "sweep.toml")
    assert says in said
    assert "sweep.toml, line 2: `csv`" in said


@pytest.mark.parametrize(("name", "content", "says"), FILES)
def test_a_file_that_cannot_be_read(
    name: str, content: bytes | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("")
    Path("sweep.toml").write_text("")
    if content is not None:
        Path(name).write_bytes(content)
    if name == "no.toml":
        Path("sweep.toml").unlink()
    assert says in complaint(name)

"""A value never runs: a placeholder is taken only where quoting keeps its value one word."""

import itertools
import subprocess
from pathlib import Path

import pytest

from bats.common.errors import UsageError
from bats.common.template import compile_template
from bats.master.sweep.columns import Listed
from bats.master.sweep.quoting import check_quoting
from bats.master.sweep.space import Axis, OpenSpace, Space
from bats.master.sweep.sweep import Sweep

SAFE = (
    "show {x}",
    "show --x={x}",
    "show a'b c'{x}\"d e\"",
    'show "$(show {x})"',
    "show `show a` {x}",
    'show "$(show {x}; (show {x}))"',
    "show 'it'\"'\"'s' {x} \\' {x}",
    'show "a \\" b" {x}',
    "show a#b {x}",
    "show {x} # a comment, isn't it?",
    "# isn't it?\nshow {x}",
    "cat <<END > /dev/null\nisn't it?\nEND\nshow {x}",
    "cat <<'END' <<-OTHER > /dev/null\n\"\nEND\n'\n\tOTHER\nshow {x}",
    "show ${{#}} {x}",
    "if true; then show {x}; fi",
    "show \\{{ {x}",
    "show $(( 1 + (2) )) {x}",
    'show "$( (show {x}) )"',
)
UNSAFE = (
    ("show '{x}'", "inside quotes"),
    ('show "{x}"', "inside quotes"),
    ('show "a=$HOME {x}"', "inside quotes"),
    ('show "$(show "{x}")"', "inside quotes"),
    ("sh -c 'show {x}'", "inside quotes"),
    ("awk '{{print ${x}}}'", "inside quotes"),
    ("show `show {x}`", "inside backquotes"),
    ("show \\{x}", "after a backslash"),
    ("show # {x}", "in a comment"),
    ("show $(( {x} + 1 ))", "in arithmetic"),
    ("show $(( (1 + {x}) * 2 ))", "in arithmetic"),
    ('show "$(( $(show {x}) ))"', "in arithmetic"),
    ("cat <<END\n{x}\nEND", "in a here-document"),
    ("cat <<'END' | show\na\n{x}\nEND\n", "in a here-document"),
    ('cat <<-"END" > a\n\t{x}\n\tEND\n', "in a here-document"),
)
NASTY = ("a b", "a[$(touch ran)]",
         "$(touch ran)", "`touch ran`", "'; touch ran; '", '"; touch ran; "', "a\ntouch ran",
         "'\"; touch ran #", "\\", "END\ntouch ran\n", "*", "")  # fmt: skip


def sweep(command: str) -> Sweep:
    return Sweep(Space((Axis(("x",), (Listed(NASTY),)),)), command=command)


@pytest.mark.parametrize(("command", "value"), list(itertools.product(SAFE, NASTY)))
def test_where_it_is_taken_the_shell_gives_every_value_back_and_runs_none(
    command: str, value: str, tmp_path: Path
) -> None:
    check_quoting(sweep(command))
    line = compile_template(command, ("x",), "command", shell=True)((value,))
    show = 'show() { for word; do printf "%s\\0" "$word"; done; }\n'
    done = subprocess.run(
        ["/bin/sh", "-c", show + line], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert value.rstrip("\n").encode() in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("command", "where"), UNSAFE)
def test_elsewhere_it_is_refused_with_the_ways_out(command: str, where: str) -> None:
    with pytest.raises(UsageError) as refused:
        check_quoting(sweep(command))
    assert f"{{x}} stands {where}" in str(refused.value)
    way_out = "`expr {x} + 1`" if where == "in arithmetic" else '"$BATS_PARAM_X"'
    assert way_out in str(refused.value)


def test_numbers_are_reckoned_with_as_long_as_no_other_value_can_come() -> None:
    numbers = Space((Axis(("x",), (Listed(("1", "20")),)),))
    check_quoting(Sweep(numbers, command="show $(( {x} + 1 ))"))
    with pytest.raises(UsageError):
        check_quoting(Sweep(OpenSpace(("x",), [numbers]), command="show $(( {x} + 1 ))"))


@pytest.mark.parametrize("command", [command for command, _ in UNSAFE])
def test_who_writes_raw_means_it(command: str) -> None:
    check_quoting(sweep(command.replace("{x}", "{x!raw}")))

"""Placeholders are filled as the sweep says, and no value can break out of its word in a shell."""

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bats.common.errors import UsageError
from bats.common.template import compile_template, placeholders


def test_values_go_in_by_name() -> None:
    fill = compile_template("sim --a {a} --b={b} {a}", ("b", "a"), "argv[0]")
    assert fill(("2", "1 x")) == "sim --a 1 x --b=2 1 x"


def test_text_without_placeholders_is_itself() -> None:
    assert compile_template("true", (), "command", shell=True)(()) == "true"


def test_doubled_braces_are_braces() -> None:
    fill = compile_template("awk '{{print ${n}}}'", ("n",), "command", shell=True)
    assert fill(("1",)) == "awk '{print $1}'"


def test_a_shell_sees_a_value_as_one_word_unless_it_is_asked_for_raw() -> None:
    fill = compile_template("echo {x} {x!raw}", ("x",), "command", shell=True)
    assert fill(("a b; rm -rf /",)) == "echo 'a b; rm -rf /' a b; rm -rf /"


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=30)
def test_whatever_the_value_the_shell_gives_it_back(values: list[str]) -> None:
    names = [f"v{i}" for i in range(len(values))]
    fill = compile_template(
        "printf '%s\\0' " + " ".join(f"{{{n}}}" for n in names), names, "command", shell=True
    )
    line = fill(values)
    assert shlex.split(line)[2:] == values
    echoed = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True).stdout
    assert echoed == "".join(v + "\0" for v in values).encode()


def test_an_unknown_placeholder_is_named_with_what_is_allowed() -> None:
    with pytest.raises(
        UsageError, match=r"command: no value for \{alhpa\}. Allowed: \{alpha\}, \{seed\}"
    ):
        compile_template("sim {alhpa}", ("alpha", "seed"), "command")


@pytest.mark.parametrize("text", ["a {", "a }", "{a", "{a}}", "{a!r}", "{}", "{ a }"])
def test_what_is_no_placeholder_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cwd: "):
        compile_template(text, ("a",), "cwd")


def test_the_names_used_can_be_asked_for() -> None:
    assert placeholders("{a} {{b}} {c!raw}") == {"a", "c"}

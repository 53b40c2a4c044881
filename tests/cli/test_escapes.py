"""A terminal is steered by nobody's tasks: escapes in names and outputs are seen, not obeyed."""

import contextlib
import csv
import io
import json
import os
from pathlib import Path
from typing import TextIO, cast

import pytest
from helpers.user import User

from bats.master.cli.display.follower import Screen
from bats.master.cli.display.terminal import Shown
from bats.master.cli.main import main

COPY = "\x1b]52;c;aGk=\x07"  # writes into the clipboard
SAID = COPY.encode() + b"\r\xff\xc3\xa9\n"
SWEEP = f"""
name = {json.dumps(f"mine{COPY}")}
command = "cat said; cat said >&2; exit $BATS_PARAM_CODE"
[[zip]]
code = [0, 3]
x = [{json.dumps(f"=cmd|x{COPY}")}, "-1.5"]
"""


class Window(io.TextIOWrapper):
    """A terminal, as far as a command looks."""

    def __init__(self, *, really: bool) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)
        self._really = really

    def isatty(self) -> bool:
        return self._really

    @property
    def shown(self) -> bytes:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


@pytest.fixture
def state(user: User) -> Path:
    """The folder of a bag that has ended."""
    (user.folder / "said").write_bytes(SAID)
    user.bats("run", user.write("mine.toml", SWEEP), exit_code=1)
    return user.state


def shown(state: Path, *words: str, terminal: bool = True) -> bytes:
    window = Window(really=terminal)
    with contextlib.redirect_stdout(window):
        assert main([*words, "--state", str(state)]) in {0, 1}
    return window.shown


def test_no_command_lets_tasks_steer_the_terminal(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for words in (
        ("status",), ("status", "1"), ("results", "1"), ("results", "1", "--output"),
        ("results", "1", "--csv"), ("explain", "1"), ("explain", "1", "1"),
        ("logs", "1", "0"), ("logs", "1", "1", "--err"), ("logs", "-f", "1"),
    ):  # fmt: skip
        said = shown(state, *words).decode()
        assert said.replace("\n", "").replace("\t", "").isprintable(), words
        assert "mine" in said or "52;c;" in said, words
    assert COPY.encode() in shown(state, "explain", "1", "1", "--raw")
    assert json.loads(shown(state, "status", "1", "--json"))["name"] == f"mine{COPY}"


def test_the_picture_of_a_bag_is_not_drawn_by_its_tasks() -> None:
    window = Window(really=True)
    facts = {"bag": 1, "name": f"mine{COPY}", "state": "queued", "words": f"waits{COPY}"}
    with contextlib.redirect_stdout(cast("TextIO", Shown(window))):
        screen = Screen()
        screen.show(facts, [])
        screen.close()
    drawn = window.shown.decode()
    assert "\x1b[?25l" in drawn, "it is a picture"
    assert COPY not in drawn
    assert "52;c;" in drawn


def test_what_a_task_wrote_is_had_as_it_is_in_a_pipe_or_with_raw(state: Path) -> None:
    assert shown(state, "logs", "1", "0") == b"\\x1b]52;c;aGk=\\x07\\x0d\\xff\xc3\xa9\n"
    assert shown(state, "logs", "1", "0", "--raw") == SAID
    assert shown(state, "logs", "1", "0", terminal=False) == SAID


def test_a_spreadsheet_reckons_nothing_that_a_task_is_called_or_says(state: Path) -> None:
    def cells(*more: str) -> list[str]:
        text = shown(state, "results", "1", "--csv", *more, terminal=False).decode()
        return [row["x"] for row in csv.DictReader(io.StringIO(text))]

    assert cells() == [f"'=cmd|x{COPY}", "-1.5"], "a number is no formula"
    assert cells("--raw") == [f"=cmd|x{COPY}", "-1.5"]


def test_an_error_quotes_what_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", f"no such{COPY}.toml"]) == 2
    assert os.linesep in capsys.readouterr().err
    assert main([f"stat{COPY}us"]) == 2
    assert "\x1b" not in capsys.readouterr().err

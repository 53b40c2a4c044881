"""Logs are lines for people, or JSON for machines, and go where standard output is not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def _said(style: str, level: str = "info") -> str:
    program = (
        "import structlog; from bats.common.log import set_up_logging;"
        f"set_up_logging({style!r}, {level!r}, part='worker');"
        "log = structlog.get_logger(); log.debug('quiet'); log.info('joined', machine=7)\n"
        "key = 'a ' + 'secret'\n"
        "try: 1/0\n"
        "except ZeroDivisionError: log.exception('broken')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == ""
    return ended.stderr


def test_machines_get_one_json_object_a_line() -> None:
    joined, broken = map(json.loads, _said("json").splitlines())
    assert (joined["event"], joined["machine"], joined["part"]) == ("joined", 7, "worker")
    assert joined["time"].endswith("Z")
    assert broken["exception"][0]["exc_type"] == "ZeroDivisionError"


def test_people_get_a_short_line_without_colours_in_a_pipe() -> None:
    text = _said("console")
    assert "joined" in text.splitlines()[0]
    assert "machine=7" in text
    assert "\x1b" not in text
    assert "ZeroDivisionError" in text


@pytest.mark.parametrize("style", ["json", "console"])
def test_what_variables_held_when_something_broke_is_kept_to_ourselves(style: str) -> None:
    said = _said(style)
    assert "ZeroDivisionError" in said
    assert "a secret" not in said


@pytest.mark.parametrize("style", ["json", "console"])
def test_what_cannot_be_written_harms_nobody(style: str) -> None:
    program = (
        "import structlog; from bats.common.log import set_up_logging;"
        f"set_up_logging({style!r}); structlog.get_logger().info('x' * 100_000); print('alive')"
    )
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=full, check=True
        )
    assert ended.stdout == b"alive\n"


@pytest.mark.parametrize(("level", "shown"), [("info", False), ("debug", True)])
def test_details_are_shown_on_request(level: str, shown: bool) -> None:
    assert ("quiet" in _said("console", level)) is shown

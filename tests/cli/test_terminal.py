"""On a terminal: the choice is made with a key, and what was said stays readable."""

import re
import signal
from collections.abc import Iterator

import pytest
from helpers.terminal import Terminal
from helpers.user import BATS, User
from helpers.waiting import until

CLOUDS = """
[[offering]]
name = "slow"
backend = "local"
price = "0.04"
per = "20s"
atu = "20s"
boundary = "4s"
max = 2

[[offering]]
name = "fast"
price = "0.10"
per = "20s"
atu = "20s"
boundary = "4s"
max = 2
[offering.local]
speed = 2
"""
NAPS = 'command = "sleep 0.2"\n[grid]\nn = "1:2000"\n'
TABLE = re.compile(r"^\d  (cheapest|fastest)\S* ", re.MULTILINE)


@pytest.fixture
def naps(user: User) -> list[str]:
    user.write("clouds.toml", CLOUDS)
    return [user.write("naps.toml", NAPS), "--clouds", "clouds.toml"]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (100, 30), (200, 50)])
def test_a_key_chooses_a_schedule(user: User, naps: list[str], columns: int, rows: int) -> None:
    with Terminal(user, "run", *naps, columns=columns, rows=rows) as terminal:
        terminal.until("sampling")
        terminal.press("1")  # nothing is asked yet
        terminal.until("Which? Press its number")
        text = terminal.until("chance")
        assert 1 <= len(TABLE.findall(text)) <= 6
        assert max(map(len, text.split("\n"))) <= columns
        terminal.press("x")
        terminal.until("x is none of them")
        terminal.press("1")
        terminal.until("executing")
        terminal.press("\x03")
        assert terminal.ends() == 130, terminal.screen.everything
        text = terminal.screen.everything
        assert text.count("table is of the rest.") == 1, "the table stays, once"
        assert re.search(r"^1  \S+ <", text, re.MULTILINE)
        assert "stopping in order; what is done is kept" in text
        assert re.search(r"^cancelled: [\d,]+ of 2,000 tasks done", text, re.MULTILINE)
        assert "─╮" not in text, "the picture goes when the bag is over"
        assert terminal.echoes


BROKEN = """
command = "sleep 0.1; if ! test -e fixed; then echo No such file: mising.py >&2; exit 2; fi"
[grid]
n = "1:60"
"""


@pytest.fixture
def broken(user: User, naps: list[str]) -> list[str]:
    return [user.write("broken.toml", BROKEN), *naps[1:], "--budget", "5"]


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40)])
def test_a_paused_bag_says_why_and_goes_on_at_a_key(
    user: User, broken: list[str], columns: int, rows: int
) -> None:
    with Terminal(user, "run", *broken, columns=columns, rows=rows) as terminal:
        text = " ".join(terminal.until("Press r to go on, q to cancel").split())
        assert "broken · paused" in text
        text = re.sub(r"[\s│]+", " ", text)
        assert "paused: the first 12 tasks all failed alike: exit code 2, 'No such file: mi" in text
        assert "`bats cancel 1` ends it" in text
        user.write("fixed", "")
        terminal.press("r")
        assert terminal.ends() == 0
        assert "done: 60 of 60 tasks done" in terminal.screen.text


def test_a_paused_bag_is_cancelled_at_a_key(user: User, broken: list[str]) -> None:
    with Terminal(user, "run", *broken) as terminal:
        terminal.until("Press r to go on, q to cancel")
        terminal.press("x")
        terminal.until("x is none of them")
        terminal.press("q")
        assert terminal.ends() == 130
        assert "because   cancelled while paused" in terminal.screen.text


def test_q_cancels_instead_of_choosing(user: User, naps: list[str]) -> None:
    with Terminal(user, "run", *naps) as terminal:
        terminal.until("Which?")
        assert not terminal.echoes
        terminal.press("q")
        assert terminal.ends() == 130
        assert "because   nothing was chosen" in terminal.screen.text
        assert terminal.echoes


def test_another_shell_may_choose_while_the_question_stands(user: User, naps: list[str]) -> None:
    with user.master(), Terminal(user, "submit", *naps) as submitting:
        assert submitting.ends() == 0
        with Terminal(user, "watch") as terminal:
            text = terminal.until("Choose in another shell")
            assert 1 <= len(TABLE.findall(text)) <= 6
            assert "bats choose 1 NAME" in text
            terminal.press("1")  # looking on is not choosing
            user.bats("choose", "fastest")
            terminal.until("executing")
            user.bats("cancel")
            assert terminal.ends() == 130


def test_an_interrupt_at_the_question_stops_in_order(user: User, naps: list[str]) -> None:
    with Terminal(user, "run", *naps) as terminal:
        terminal.until("Which?")
        terminal.press("\x03")
        assert terminal.ends() == 130
        assert "stopping in order; what is done is kept" in terminal.screen.everything
        assert "because   stopped by Ctrl-C" in terminal.screen.text
        assert terminal.echoes
    until(lambda: not user.machines())


@pytest.fixture
def watched(user: User) -> Iterator[User]:
    """A bag of four tasks, of which one fails and two wait for a sign."""
    clouds = user.write(
        "c.toml", '[[offering]]\nname = "here"\nbackend = "local"\nprice = 0\nslots = 4\n'
    )
    command = "case {n} in 1) exit 3;; 2) true;; *) until [ -e go ]; do sleep 0.02; done;; esac"
    sweep = user.write("mixed.toml", f"command = '{command}'\nretries = 0\n[grid]\nn = '1:4'\n")
    with user.master():
        user.bats("submit", sweep, "--clouds", clouds)
        yield user


def test_watching_shows_progress_money_machines_failures_and_decisions(watched: User) -> None:
    with Terminal(watched, "watch") as terminal:
        text = terminal.until("1 of 4 done, 1 failed")
        assert re.search(r"here +1 +\d+ +2 ", text), "a machine with two tasks at work"
        assert "$0.00 spent" in text
        watched.write("go", "")
        assert terminal.ends() == 1, "tasks failed"
        text = terminal.screen.text
        assert "bag 1 (mixed): with failures" in text
        assert "3 of 4 done, 1 failed" in text


def test_to_stop_watching_stops_nothing_else(watched: User) -> None:
    with Terminal(watched, "watch") as terminal:
        terminal.until("1 failed")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ends() == 130
        assert terminal.echoes
    assert watched.facts("status", "last")["over"] is False
    watched.write("go", "")
    watched.bats("watch", "-q", exit_code=1)


def test_in_the_background_the_terminal_is_left_alone(user: User) -> None:
    sweep = user.write("few.toml", 'command = "true"\n[grid]\nn = "1:20"\n')
    with Terminal(user, shell=f"'{BATS}' run {sweep} & wait %1; echo code $?") as terminal:
        terminal.until("code 0")
        assert "done: 20 of 20 tasks" in terminal.screen.everything
        assert terminal.ends() == 0


def test_without_colours_no_colours_are_sent(watched: User) -> None:
    watched.environment["NO_COLOR"] = "1"
    with Terminal(watched, "watch") as terminal:
        terminal.until("1 failed")
        assert not terminal.colours
        watched.write("go", "")
        terminal.ends()

"""Two `bats run` at once: the second offers to submit to the first, and needs it not to last."""

from helpers.terminal import Terminal
from helpers.user import User


def test_the_second_submits_to_the_first_and_goes_on_when_that_has_ended(user: User) -> None:
    gate = user.folder / "gate"
    waits = f"until [ -e '{gate}' ]; do sleep 0.05; done; echo {{}}"
    with user.started("run", "-q", waits, ":::", "a", "b") as first:
        user.begun(first)
        with Terminal(user, "run", "echo {}", ":::", "1", "2", "3", columns=250) as terminal:
            terminal.until("is at work in")
            terminal.until("Submit this to it? [Y/n]:")
            terminal.press("\r")
            terminal.until(" of 3 done")  # the first knows of it, before it ends
            gate.touch()
            terminal.until("3 of 3 ")  # beside the first, or after it
            assert terminal.ends() == 0
    assert user.facts("status", "2")["done"] == 3


def test_who_does_not_want_that_is_told_the_other_ways(user: User) -> None:
    with user.started("run", "-q", "sleep 60; echo {}", ":::", "a", "b") as first:
        user.begun(first)
        with Terminal(user, "run", "echo {}", ":::", "1", columns=250) as terminal:
            terminal.until("Submit this to it? [Y/n]:")
            terminal.press("n\r")
            terminal.until("`bats submit` gives it this sweep too, `--state FOLDER` runs it beside")
            assert terminal.ends() == 2

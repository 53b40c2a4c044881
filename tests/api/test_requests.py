"""Requests of the API: each is sent by its client and read by its handler as one and the same."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from bats.common.errors import UsageError
from bats.common.money import Money
from bats.master.api import replies, requests
from bats.master.api.asking import ask
from bats.master.api.reading import read, takes
from bats.master.api.requests import Choose, GetLog, GetTasks, Request, Retry, Submit
from bats.master.client import sweep
from bats.master.service.api.answering import VERBS
from bats.master.service.api.submission import _KEYS, POLICY
from bats.master.submitting import submit


def every_request() -> dict[str, type[Request[Any]]]:
    kinds = [one for one in vars(requests).values() if isinstance(one, type)]
    return {one.verb: one for one in kinds if issubclass(one, Request) and one.verb}


def test_each_verb_has_a_request_and_each_request_its_handler():
    assert set(every_request()) == set(VERBS)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_handler_takes_the_request_of_its_verb_and_gives_its_reply(verb: str):
    kind = VERBS[verb].request
    assert kind is every_request()[verb]
    assert get_type_hints(VERBS[verb])["return"] is kind.reply()


@pytest.mark.parametrize(
    "sent",
    [
        Choose(3, "balanced", Money(5), deadline_seconds=60.0),
        Choose(),
        GetTasks("a name", filter="x", outcomes=["failed"], machine=7, descending=True),
        GetLog(task=0, live=True),
        Retry(3, [1, 2]),
        Retry(),
        Submit(sweep={}, rule="ask", budget=Money(5), hold=True),
    ],
)
def test_what_is_sent_is_what_is_read(sent: Request[Any]):
    assert read(type(sent), sent.body()) == sent


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"task": "x"}, "`task` should be a whole number, not 'x'."),
        ({"task": True}, "`task` should be a whole number, not True."),
        ({"task": -1}, "`task` should be 0 or more, not -1."),
        ({}, "`task` should be a whole number, not None."),
        ({"task": 1, "stream": 5}, "`stream` should be a text, not 5."),
        ({"task": 1, "live": "yes"}, "`live` should be true or false, not 'yes'."),
    ],
)
def test_what_is_no_such_request_is_refused_by_its_key(body: Mapping[str, Any], sentence: str):
    with pytest.raises(UsageError, match="^" + sentence.replace(".", r"\.") + "$"):
        read(GetLog, body)


@pytest.mark.parametrize("seconds", [-1, 1e9, float("inf"), float("nan"), "5", True])
def test_a_span_that_nobody_can_mean_is_refused(seconds: Any):
    with pytest.raises(UsageError, match="`deadline_seconds` should be a number of seconds"):
        read(Choose, {"deadline_seconds": seconds})


def test_money_is_whole_and_no_less_than_nothing():
    assert read(Choose, {"budget": 5}).budget == 5
    for wrong in (-5, 0.5, "5"):
        with pytest.raises(UsageError, match="`budget` should be"):
            read(Choose, {"budget": wrong})


def test_a_key_of_a_later_release_changes_nothing():
    assert read(Choose, {"bag": 3, "colour": "blue"}) == Choose(3)


def test_a_submission_is_taken_only_with_keys_that_are_known():
    """Elsewhere a key of a later release changes nothing; here it would decide something."""
    with pytest.raises(
        UsageError, match="`bugdet` is no key of a submission; did you mean `budget`"
    ):
        read(Submit, {"sweep": {}, "bugdet": 5})
    with pytest.raises(UsageError, match="`sweep` is missing: there is nothing to run"):
        read(Submit, {"budget": 5})
    with pytest.raises(UsageError, match="`after` should be a list of bags, not 5"):
        read(Submit, {"sweep": {}, "after": 5})


def test_all_that_a_submission_may_hold_is_checked():
    assert set(_KEYS) | {"sweep", "offerings"} == {one.name for one in fields(Submit)}
    assert set(POLICY) <= set(_KEYS)


async def test_a_typed_question_reaches_its_handler_over_plain_data():
    @takes(Choose)
    async def choose(_: Any, want: Choose) -> replies.Chosen:
        return {"bag": 3, "state": "running", "phase": "executing", "chosen": want.rule,
                "budget": want.budget, "limit": None, "currency": "$", "paused": False}  # fmt: skip

    class Wire:
        def __init__(self, body: Mapping[str, Any]) -> None:
            self.body = body

    class Master:
        async def ask(self, verb: str, **body: Any) -> dict[str, Any]:
            assert verb == "choose"
            return dict(await choose(Wire(body)))

    told = await ask(Master(), Choose(3, "fastest", Money(7)))
    assert (told["chosen"], told["budget"]) == ("fastest", 7)


async def test_a_key_of_no_submission_is_refused_before_any_file_is_sent(tmp_path: Path):
    sent: list[Path] = []

    class Master:
        async def ask(self, verb: str, **body: Any) -> dict[str, Any]:
            return {"verb": verb, **body}

        async def send_file(self, path: Path) -> tuple[str, int]:
            sent.append(path)
            return "0" * 64, 1

    (tmp_path / "data").write_text("x")
    work = replace(sweep(command="cat data", inputs=["data"]), base=str(tmp_path))
    with pytest.raises(UsageError, match="`bugdet` is no key of a submission"):
        await submit(Master(), work, bugdet=5)
    assert not sent
    told: Any = await submit(Master(), work, budget=5)
    assert sent == [tmp_path / "data"]
    assert (told["budget"], [row[0] for row in told["inputs"]]) == (5, ["data"])

"""What tasks and files are called and say is seen on a terminal, and not obeyed."""

import json

import pytest

from bats.common.escapes import harmless, harmless_facts, harmless_in_json

STEERING = {
    "the clipboard": "\x1b]52;c;aGk=\x07",
    "the screen": "\x1b[2J",
    "one control in two bytes": "\x9b31m",
    "back over what stood there": "paid 9\r1",
    "one back": "9\b1",
    "the other way round": "\u202egnp.exe",
    "half a character": "\ud800",
}


@pytest.mark.parametrize("name", STEERING)
def test_what_would_steer_a_terminal_is_written_out(name: str) -> None:
    text = harmless(STEERING[name])
    assert text.isprintable()
    assert "\\" in text


def test_words_lines_and_columns_stay_as_they_are() -> None:
    text = "naïve 東京 π\n\tand\r\nmore \\x1b"
    assert harmless(text) == text


def test_facts_are_made_harmless_however_deep_they_lie() -> None:
    facts = {"a": ["\x1b", {"b": ("\x07",)}], "n": 1, "none": None}
    assert harmless_facts(facts) == {"a": ["\\x1b", {"b": ["\\x07"]}], "n": 1, "none": None}


@pytest.mark.parametrize("name", STEERING)
def test_json_means_the_same_and_can_be_printed(name: str) -> None:
    text = harmless_in_json(json.dumps({"said": STEERING[name]}, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == {"said": STEERING[name]}

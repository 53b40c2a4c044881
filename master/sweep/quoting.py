"""Placeholders of a shell command that stand where quoting a value does not keep it one word.

A value goes into a command quoted. Inside quotes, a here-document, backquotes, a comment or
arithmetic, or after a backslash, those quotes mean something else, and the shell may run what is in
the value.
"""

import re
from collections.abc import Iterator

from bats.master.sweep.space import OpenSpace, Space
from bats.master.sweep.sweep import MistakeError, Sweep

_PIECE = re.compile(
    r"""
      (?P<brace>\{\{|\}\})
    | \{(?P<hole>[^{}]*)\}
    | (?P<document><<-?\s*(?:'[^'\n]*'|"[^"\n]*"|\\?[\w.]+))
    | (?P<escape>\\)
    | (?P<sum>\$?\(\()
    | (?P<open>\$?\()
    | (?P<mark>[)'"`\#\n])
    | (?P<other>[^{}\\$()'"`\#\n<]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def check_quoting(sweep: Sweep) -> None:
    """Raises `MistakeError` with the first such placeholder and the ways out."""
    for name, where in _unsafe(sweep.command):
        if where == _WHERE["(("] and _are_numbers(sweep.space, name):
            continue
        variable = "BATS_PARAM_" + re.sub(r"\W", "_", name).upper()
        instead = f'the shell\'s own "${variable}"'
        if where == _WHERE["(("]:  # which would run what is in that, too
            instead = f"`expr {{{name}}} + 1`"
        raise MistakeError(
            ("command",),
            f"{{{name}}} stands {where}, where a shell may run what is in its value. Write it "
            f"outside, or {instead}, or {{{name}!raw}} if that is meant",
        )


def _are_numbers(space: Space | OpenSpace, name: str) -> bool:
    """True if that is all that they ever will be."""
    return isinstance(space, Space) and space.types().get(name) in (int, float)


def _unsafe(command: str) -> Iterator[tuple[str, str]]:
    """Each such placeholder and where it stands, as a POSIX shell reads the command."""
    inside: list[str] = []  # what has been opened: ' or " or ` or ( or (( or #
    documents: list[str] = []  # ends of the here-documents that begin with the next line
    at, word_begins = 0, True
    while piece := _PIECE.match(command, at):
        at = piece.end()
        around = inside[-1] if inside else ""
        found = piece.group()
        if (name := piece["hole"]) is not None:
            where = _WHERE["(("] if "((" in inside else _WHERE.get(around)
            if where and not name.endswith("!raw"):
                yield name, where
        elif piece["escape"] and around != "'":
            after = _PIECE.match(command, at)
            if after and after["hole"] is not None and not after["hole"].endswith("!raw"):
                yield after["hole"], "after a backslash"
            elif after and after["hole"] is None:
                at += 2 if after["brace"] else 1
        elif around == "'":
            if found == "'":
                inside.pop()
        elif around == "#":
            if found == "\n":
                inside.pop()
        elif around == found in ('"', "`"):
            inside.pop()
        elif piece["sum"] and (around != '"' or found[0] == "$"):
            inside.append("((")
        elif found == "$(" or (found in ('"', "`") and around != found):
            inside.append(found[-1])
        elif around != '"':
            if found in ("'", "("):
                inside.append(found)
            elif found == ")" and around == "((":
                inside[-1] = "("  # until the next; else these were two that began at once
            elif found == ")" and around == "(":
                inside.pop()
            elif found == "#" and word_begins:
                inside.append("#")
            elif piece["document"]:
                documents.append(found.lstrip("<-").strip().strip("'\"\\"))
        if found == "\n" and documents and "'" not in inside and '"' not in inside:
            body, at = _body(command, at, documents)
            for hole in _PIECE.finditer(body):
                if hole["hole"] is not None and not hole["hole"].endswith("!raw"):
                    yield hole["hole"], "in a here-document"
            documents = []
        word_begins = found[-1] in " \t\n;&|("


_WHERE = {
    "'": "inside quotes",
    '"': "inside quotes",
    "`": "inside backquotes",
    "#": "in a comment",
    "((": "in arithmetic",
}


def _body(command: str, at: int, ends: list[str]) -> tuple[str, int]:
    """The here-documents that begin here, and where the command goes on."""
    begin = at
    for end in ends:
        while at < len(command):
            line, _, _ = command[at:].partition("\n")
            at += len(line) + 1
            if line.strip("\t") == end:
                break
    return command[begin:at], at

"""Lists of hosts: `node[01-32].cluster`, `user@gpu[1-3,7]`, and files with one per line."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

MOST: Final = 10_000  # beyond that a pattern is a slip of the pen
BETWEEN: Final = re.compile(r"[,\s]+(?![^\[]*\])")  # a comma or blank outside brackets
RANGE: Final = re.compile(r"(\d+)(?:-(\d+))?")


def expand(patterns: Iterable[str]) -> list[str]:
    """Every host once, in the order written; ValueError says which pattern is wrong and why."""
    hosts: dict[str, None] = {}
    for pattern in itertools.chain.from_iterable(BETWEEN.split(text) for text in patterns):
        for host in _expand(pattern):
            hosts[host] = None
            if len(hosts) > MOST:
                raise ValueError(f"`{pattern}` names more than {MOST} hosts.")
    return list(hosts)


def read(path: Path) -> list[str]:
    """The hosts of a file: one or several patterns per line, `#` starts a comment."""
    try:
        lines = path.expanduser().read_text().splitlines()
    except OSError as error:
        raise ValueError(f"the hosts file {path} cannot be read: {error.strerror}.") from error
    return expand(line.partition("#")[0] for line in lines)


def _expand(pattern: str) -> Iterator[str]:
    pieces = re.split(r"\[([^\[\]]*)\]", pattern)
    fixed, choices = pieces[::2], [list(_numbers(piece, pattern)) for piece in pieces[1::2]]
    if not pattern:
        return
    if pattern.startswith("-") or re.search(r"[\[\]\s]", "".join(fixed)):
        raise ValueError(f"`{pattern}` is not a host; write for example node[01-32].cluster")
    for chosen in itertools.product(*choices):
        yield "".join(itertools.chain(*itertools.zip_longest(fixed, chosen, fillvalue="")))


def _numbers(piece: str, pattern: str) -> Iterator[str]:
    for item in piece.split(","):
        found = RANGE.fullmatch(item.strip())
        if not found:
            raise ValueError(f"`{pattern}`: `{item}` is not a number or a range such as 01-32")
        first, last = found[1], found[2] or found[1]
        if int(last) < int(first):
            raise ValueError(f"`{pattern}`: the range {item} ends before it starts")
        if int(last) - int(first) >= MOST:
            raise ValueError(f"`{pattern}` names more than {MOST} hosts.")
        for number in range(int(first), int(last) + 1):
            yield f"{number:0{len(first)}d}"

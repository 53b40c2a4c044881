"""One line in place of a sweep file: `convert {} {.}.png ::: *.jpg`, as GNU parallel has it.

`{}` is the value, `{.}` the value without its ending, `{/}` without its folder, `{//}` its folder,
`{/.}` neither; with several `:::`, each value of one goes with each of the others, and `{1}`,
`{2.}` are those of the first and the second.
"""

import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from bats.common.errors import UsageError
from bats.master.sweep.columns import Listed
from bats.master.sweep.space import Axis

VALUES: Final = ":::"

_HOLE: Final = re.compile(r"\{\{|\}\}|\{(\d*)(\.|//|/\.|/|)\}")
_FORMS: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "": ("", str),
    ".": ("_stem", lambda value: os.path.splitext(value)[0]),  # noqa: PTH122
    "/": ("_name", os.path.basename),
    "//": ("_folder", lambda value: os.path.dirname(value) or "."),  # noqa: PTH120
    "/.": ("_base", lambda value: os.path.splitext(os.path.basename(value))[0]),  # noqa: PTH119, PTH122
}


def is_one_liner(words: Sequence[str]) -> bool:
    return VALUES in words


def expanded(words: Sequence[str], lines: Axis | None) -> tuple[list[str], list[Axis]]:
    """The command with named placeholders, and the parameters they name. Raises UsageError."""
    if not is_one_liner(words) and not (lines and any(map(_HOLE.search, words))):
        return list(words), [lines] if lines else []
    command, *groups = _split(words)
    if not command:
        raise UsageError(f"There is no command before `{VALUES}`.")
    if not all(groups):
        raise UsageError(f"There is no value after `{VALUES}`.")
    sources = [("line", list(lines.columns[0]))] if lines else []
    sources += [
        ("arg" if len(groups) == 1 else f"arg{k}", values) for k, values in enumerate(groups, 1)
    ]
    used: dict[str, set[str]] = {name: set() for name, _ in sources}

    def filled(hole: re.Match[str]) -> str:
        number, form = hole[1], hole[2]
        if number is None:
            return hole[0]
        if number and not 1 <= int(number) <= len(sources):
            raise UsageError(f"{hole[0]} has no values; there are {len(sources)} sources of them.")
        meant = [sources[int(number) - 1]] if number else sources
        for name, _ in meant:
            used[name].add(form)
        return " ".join(f"{{{name}{_FORMS[form][0]}}}" for name, _ in meant)

    said = [_HOLE.sub(filled, word) for word in command]
    if groups and not any(used.values()):
        holes = [f"{{{name}}}" for name, _ in sources]
        said = [" ".join([*said, *holes])] if len(said) == 1 else [*said, *holes]
    return said, [_axis(name, values, used[name]) for name, values in sources]


def more_like(names: Sequence[str], values: Sequence[str]) -> Axis | None:
    """More values for the parameters of a line: of one, and of what was made of it; else None."""
    name = names[0]
    forms = {ending: form for form, (ending, _) in _FORMS.items()}
    used = {forms.get(other.removeprefix(name)) for other in names if other.startswith(name)}
    if None in used or len(used) < len(names):
        return None
    return _axis(name, values, {form for form in used if form is not None})


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == VALUES:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _axis(name: str, values: Sequence[str], used: set[str]) -> Axis:
    forms = [_FORMS[form] for form in _FORMS if form in used or not form]
    columns = tuple(Listed(map(make, values)) for _, make in forms)
    return Axis(tuple(f"{name}{ending}" for ending, _ in forms), columns)

"""Fills `{name}` placeholders with a task's values; compiled once per bag, filled once per task.

In a shell command a value is quoted, so that it stays one word whatever is in it; `{name!raw}`
puts it in as it is. Elsewhere (argv, cwd, env, stdin, outputs) values go in plainly, and `!raw`
changes nothing. `{{` and `}}` stand for braces.
"""

import re
from collections.abc import Callable, Sequence
from shlex import quote

from bats.common.errors import UsageError, quoted

Fill = Callable[[Sequence[str]], str]
"""Takes the values in the order of the bag's names."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def compile_template(text: str, names: Sequence[str], where: str, *, shell: bool = False) -> Fill:
    """`where` names the field in errors: "command", "env.OMP_NUM_THREADS".

    Raises `UsageError` for an unknown placeholder or a lone brace.
    """
    literals, holes = [""], []
    end = 0
    for piece in _PIECE.finditer(text):
        literals[-1] += text[end : piece.start()]
        end = piece.end()
        found = piece.group()
        if found in {"{{", "}}"}:
            literals[-1] += found[0]
            continue
        if found in {"{", "}"}:
            raise UsageError(
                f"{where}: lone `{found}` at character {piece.start() + 1} of {text!r}."
                f" Write `{found * 2}` for a brace."
            )
        holes.append(_hole(piece.group(1), names, where, shell=shell))
        literals.append("")
    literals[-1] += text[end:]
    return _filler(literals, holes)


def placeholders(text: str) -> set[str]:
    """The names a template uses; what is no placeholder is left to `compile_template` to refuse."""
    return {
        piece.group(1).removesuffix("!raw")
        for piece in _PIECE.finditer(text)
        if piece.group(1) is not None
    }


def _hole(inside: str, names: Sequence[str], where: str, *, shell: bool) -> tuple[int, bool]:
    found = f"{{{inside}}}"
    name, bang, conversion = inside.partition("!")
    if bang and conversion != "raw":
        raise UsageError(f"{where}: {quoted(found)}: after `!` only `raw` is allowed.")
    if name not in names:
        found = found if found.isprintable() else quoted(found)
        allowed = ", ".join(f"{{{n}}}" for n in names) or "none, as the bag has no parameters"
        raise UsageError(
            f"{where}: no value for {found}. Allowed: {allowed}."
            " For braces that are not placeholders write {{ and }}."
        )
    return names.index(name), shell and not bang


def _filler(literals: list[str], holes: list[tuple[int, bool]]) -> Fill:
    if not holes:
        text = literals[0]
        return lambda _: text
    first, rest = literals[0], list(zip(holes, literals[1:], strict=True))

    def fill(values: Sequence[str]) -> str:
        parts = [first]
        for (index, shell), literal in rest:
            parts.append(quote(values[index]) if shell else values[index])
            parts.append(literal)
        return "".join(parts)

    return fill

"""Sweep files, or options that stand for one, and the `Sweep` they mean."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from bats.common.errors import UsageError
from bats.master.checked import check
from bats.master.sweep.columns import Column, looks_like_range
from bats.master.sweep.model import LinesOf, SweepFile
from bats.master.sweep.quoting import check_quoting
from bats.master.sweep.space import Axis, Space
from bats.master.sweep.sweep import ARRAY, MistakeError, Sweep
from bats.master.sweep.tables import csv_axis, lines_of
from bats.master.userfile import Document, read_document, sentence

KINDS = ("toml", "yaml", "json")


def load(path: str | Path) -> Sweep:
    """The sweep of a file. Raises UsageError with one sentence for whatever is wrong in it."""
    return build(read_document(path, "the sweep file", kinds=KINDS))


def build(document: Document, *, more: Sequence[Axis] = ()) -> Sweep:
    """The sweep that a document means; `more` are axes read from elsewhere."""
    _misplaced(document)
    file = check(SweepFile, document)
    folder = Path(document.path).absolute().parent if document.path else Path.cwd()
    axes = _axes(file, document, folder)
    axes += more
    cwd = _folder(file, document, folder)
    try:
        space = Space(tuple(axes), tuple(file.exclude))
        _distinct(space.names)
        sweep = Sweep(
            space=space,
            name=file.name or Path(document.path).stem or "bag",
            command=file.command,
            argv=file.argv,
            cwd=cwd,
            env=file.env,
            stdin=file.stdin,
            inputs=file.inputs,
            outputs=file.outputs,
            base=str(folder),
            timeout_seconds=file.timeout,
            output_cap_bytes=file.output_cap,
            compat=file.compat,
            retries=file.retries,
            max_failures=file.max_failures,
            replicate=file.replicate,
            slots=file.resources.slots,
            at_once=file.array[1] if file.array else 0,
            budget=file.budget,
            deadline_seconds=file.deadline,
            pick=file.pick,
            policy=file.policy.settings(),
        )
        check_quoting(sweep)
    except MistakeError as error:
        raise UsageError(sentence(document.where(error.keys), error.said)) from None
    except (ValueError, UsageError) as error:
        raise UsageError(sentence(document.where(()), str(error))) from None
    return sweep


def _misplaced(document: Document) -> None:
    """Refuse keys below `[grid]`, whose part they are in TOML, that were meant for all the file."""
    grid = document.data.get("grid")
    if not isinstance(grid, Mapping) or document.kind != "toml":
        return
    for name, value in grid.items():
        single = not isinstance(value, list | Mapping)
        if name in SweepFile.model_fields and single and not _is_values(value):
            place = document.where(["grid", name])
            if name in document.data:
                raise UsageError(f"{place}: `{name}` is no list of values, and is given above too.")
            raise UsageError(
                f"{place}: `{name}` is a key of the whole sweep, and what stands below [grid] is a "
                "parameter; put this line above [grid]."
            )


def _is_values(value: object) -> bool:
    return isinstance(value, str) and looks_like_range(value)


def _axes(file: SweepFile, document: Document, folder: Path) -> list[Axis]:
    def column(values: Column | LinesOf, *keys: str | int) -> Column:
        if not isinstance(values, LinesOf):
            return values
        return _placed(document, keys, lambda: lines_of(folder / values.path))

    axes = [Axis((name,), (column(values, "grid", name),)) for name, values in file.grid.items()]
    for at, group in enumerate(file.zip):
        columns = {name: column(values, "zip", at, name) for name, values in group.items()}
        if len({len(one) for one in columns.values()}) != 1:
            lengths = ", ".join(f"{name} has {len(one)}" for name, one in columns.items())
            raise UsageError(
                f"{document.where(['zip', at])}: zipped parameters need equally many values; "
                f"{lengths or 'this group has none'}."
            )
        axes.append(Axis(tuple(columns), tuple(columns.values())))
    if file.csv:
        axes.append(_placed(document, ("csv",), lambda: csv_axis(folder / file.csv)))
    if file.array:
        axes.append(Axis((ARRAY,), (file.array[0],)))
    return axes


T = TypeVar("T")


def _placed(document: Document, keys: Sequence[str | int], read: Callable[[], T]) -> T:
    try:
        return read()
    except UsageError as error:
        raise UsageError(f"{document.where(keys)}: {error}") from None


def _folder(file: SweepFile, document: Document, folder: Path) -> str:
    """The folder where tasks run: beside the sweep file, or a scratch folder if it has files."""
    scratch = bool(file.inputs or file.outputs)
    if file.cwd is None:
        return "" if scratch else _literal(str(folder))
    named = str(Path(file.cwd).expanduser()) if file.cwd.startswith("~") else file.cwd
    if not named or named.startswith(("/", "{")):
        return named
    if scratch:
        raise UsageError(
            f"{document.where(['cwd'])}: tasks with `inputs` or `outputs` run in a scratch folder "
            "of their own; leave `cwd` out, or give a path from /."
        )
    return f"{_literal(str(folder))}/{named}"


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _distinct(names: Sequence[str]) -> None:
    """Each becomes BATS_PARAM_NAME, in capitals: they must differ there too."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.upper(), name)
        if other != name:
            raise UsageError(
                f"the parameters {other} and {name} would both be BATS_PARAM_{name.upper()} in the "
                "environment; rename one"
            )

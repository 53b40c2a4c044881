"""One command of a sweep file and the values that fill it: a `Sweep` without its limits."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bats.common.errors import UsageError
from bats.common.template import placeholders
from bats.master.sweep.columns import Column, looks_like_range
from bats.master.sweep.quoting import check_quoting
from bats.master.sweep.space import Axis, OpenSpace, Space
from bats.master.sweep.sweep import ARRAY, MistakeError, Sweep
from bats.master.sweep.sweep_model import LinesOf, Recipe
from bats.master.sweep.value_files import csv_axis, lines_of
from bats.master.userfile import Document, sentence

Place = Sequence[str | int]
"""The keys that lead to a table of the document; none to the document itself."""


def sweep_of(
    recipe: Recipe,
    document: Document,
    at: Place = (),
    *,
    more: Sequence[Axis] = (),
    brought: bool = False,
    to_be_open: bool = False,
    **rest: Any,
) -> Sweep:
    """The sweep that a table means; `more` are axes read from elsewhere, `rest` other fields.

    `brought`: files that others leave come to its tasks, which need a folder for them.
    One `to_be_open` gets tasks later: without values it has none yet.
    """
    folder = folder_of(document)
    axes = axes_of(recipe, document, at)
    axes += more
    cwd = _folder(recipe, document, folder, at, brought=brought)
    given = {
        "command": recipe.command,
        "argv": recipe.argv,
        "env": recipe.env,
        "stdin": recipe.stdin,
        "inputs": recipe.inputs,
        "outputs": recipe.outputs,
        "values_file": recipe.values,
        "timeout_seconds": recipe.timeout,
        "memory_bytes": recipe.memory,
        "pids": recipe.pids,
        "slots": recipe.cpus,
        "gpus": recipe.gpus,
        "output_cap_bytes": recipe.output_cap,
        "compat": recipe.compat,
    }
    try:
        first = Space(tuple(axes), tuple(recipe.exclude))
        space = _opened(first, recipe) if to_be_open else first
        _distinct(space.names)
        sweep = Sweep(space=space, cwd=cwd, base=str(folder), **{**given, **rest})
        check_quoting(sweep)
        _one_each(sweep)
    except MistakeError as error:
        raise UsageError(sentence(document.where([*at, *error.keys]), error.said)) from None
    except (ValueError, UsageError) as error:
        raise UsageError(sentence(document.where(at), str(error))) from None
    return sweep


def _opened(first: Space, recipe: Recipe) -> OpenSpace:
    """The space of a bag that gets tasks later; what its templates name are its parameters."""
    if any(map(placeholders, recipe.inputs)):
        raise UsageError(
            "the `inputs` of an open bag are brought when it is submitted, so they cannot be named "
            "by parameters; name the folder that holds them"
        )
    if first.axes:
        return OpenSpace(first.names, [first])
    texts = (recipe.command, *recipe.argv, recipe.cwd or "", *recipe.env.values(), recipe.stdin,
             *recipe.outputs, recipe.values)  # fmt: skip
    names = dict.fromkeys(name for text in texts for name in _named_in(text))
    if not names:
        raise UsageError(
            "nothing tells the tasks of an open bag apart; name a parameter in the command, "
            "as in: sim.py {x}"
        )
    return OpenSpace(tuple(names))


def _named_in(text: str) -> list[str]:
    """The parameters that a template names, in their order; `${X}` is rather the shell's."""
    names = {one.partition("!")[0] for one in placeholders(text)}
    places = {text.find(f"{{{name}"): name for name in names if f"${{{name}}}" not in text}
    return [places[at] for at in sorted(places)]


def folder_of(document: Document) -> Path:
    """The folder that a document names files from."""
    return Path(document.path).absolute().parent if document.path else Path.cwd()


def refuse_misplaced(
    document: Document, table: Mapping[str, Any], model: type[Recipe], at: Place = ()
) -> None:
    """Refuse keys below `[grid]`, whose part they are in TOML, that were meant for the table."""
    grid = table.get("grid")
    if not isinstance(grid, Mapping) or document.kind != "toml":
        return
    whole, below = ("step", "[step.grid]") if at else ("sweep", "[grid]")
    for name, value in grid.items():
        single = not isinstance(value, list | Mapping)
        if name in model.model_fields and single and not _is_values(value):
            place = document.where([*at, "grid", name])
            if name in table:
                raise UsageError(f"{place}: `{name}` is no list of values, and is given above too.")
            raise UsageError(
                f"{place}: `{name}` is a key of the whole {whole}, and what stands below {below} "
                f"is a parameter; put this line above {below}."
            )


def _is_values(value: object) -> bool:
    return isinstance(value, str) and looks_like_range(value)


def axes_of(file: Recipe, document: Document, at: Place = ()) -> list[Axis]:
    """The axes that a table names."""
    folder = folder_of(document)

    def column(values: Column | LinesOf, *keys: str | int) -> Column:
        if not isinstance(values, LinesOf):
            return values
        return _placed(document, [*at, *keys], lambda: lines_of(folder / values.path))

    axes = [Axis((name,), (column(values, "grid", name),)) for name, values in file.grid.items()]
    for number, group in enumerate(file.zip):
        columns = {name: column(values, "zip", number, name) for name, values in group.items()}
        if len({len(one) for one in columns.values()}) != 1:
            lengths = ", ".join(f"{name} has {len(one)}" for name, one in columns.items())
            raise UsageError(
                f"{document.where([*at, 'zip', number])}: zipped parameters need equally many "
                f"values; {lengths or 'this group has none'}."
            )
        axes.append(Axis(tuple(columns), tuple(columns.values())))
    if file.csv:
        axes.append(_placed(document, [*at, "csv"], lambda: csv_axis(folder / file.csv)))
    if file.array:
        axes.append(Axis((ARRAY,), (file.array[0],)))
    return axes


T = TypeVar("T")


def _placed(document: Document, keys: Sequence[str | int], read: Callable[[], T]) -> T:
    try:
        return read()
    except UsageError as error:
        raise UsageError(f"{document.where(keys)}: {error}") from None


def _folder(file: Recipe, document: Document, folder: Path, at: Place, *, brought: bool) -> str:
    """The folder where tasks run: beside the sweep file, or a scratch folder if it has files."""
    scratch = brought or bool(file.inputs or file.outputs)
    if file.cwd is None:
        return "" if scratch else _literal(str(folder))
    named = str(Path(file.cwd).expanduser()) if file.cwd.startswith("~") else file.cwd
    if not named or named.startswith(("/", "{")):
        return named
    if scratch:
        raise UsageError(
            f"{document.where([*at, 'cwd'])}: tasks with `inputs` or `outputs` run in a scratch "
            "folder of their own; leave `cwd` out, or give a path from /."
        )
    return f"{_literal(str(folder))}/{named}"


def _one_each(sweep: Sweep) -> None:
    """Refuse one values file for tasks that run in one folder."""
    shared = (sweep.open or sweep.count > 1) and sweep.cwd and not placeholders(sweep.cwd)
    if sweep.values_file and shared and not placeholders(sweep.values_file):
        tasks = "tasks" if sweep.open else f"{sweep.count:,} tasks"
        example = sweep.names[0] if sweep.names else "name"
        raise MistakeError(
            ("values",),
            f"all {tasks} would write {sweep.values_file} in one folder; name a "
            f"parameter in it, as in {{{example}}}-{sweep.values_file}, or give each task a folder "
            'of its own with cwd = ""',
        )


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

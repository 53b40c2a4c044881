"""A sweep: what to run, as templates, and the space of values that fill them."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

from bats.common.capacity.resources import Resources
from bats.common.errors import UsageError, quoted
from bats.common.money import Money
from bats.common.outcomes.values import FILE
from bats.common.records import dataclass
from bats.common.template import Fill, compile_template, placeholders
from bats.master.sweep.space import OpenSpace, Space, any_space_from_plain, space_to_plain

if TYPE_CHECKING:
    from bats.common.messages import BagId, BagSpec

Input = tuple[str, str, int, int]
"""A file that tasks need: its name, sha256, bytes and mode."""

ARRAY: Final = "array"
"""The parameter that `array` makes; what `compat` shows as the array's task number."""


class MistakeError(UsageError):
    """A mistake in one field; a reader of files can say in which line it stands."""

    def __init__(self, keys: tuple[str | int, ...], said: str) -> None:
        super().__init__(f"{'.'.join(map(str, keys))}: {said}")
        self.keys = keys
        self.said = said


_PLAIN: Final = 1  # raised when the plain form changes so that an older reader would err
_ADDED: Final = frozenset(
    {"gpus", "max_failures", "memory_bytes", "notify", "pids", "policy", "values_file"}
)  # version 0.1.0 did not write them
_MOST_INPUTS: Final = 100_000  # tasks whose own input files are looked through


@dataclass(frozen=True, slots=True)
class Sweep:
    """Either `command`, for the shell, or `argv`; like `cwd`, `env`, `stdin`, `inputs` and
    `outputs` they are templates of the parameters `{name}`.

        work = sweep("sweep.toml")
        print(work.count, work.parameters(0), work.preview(0))

    Unfilled or unfillable templates are refused here, so that no task is started in vain.
    """

    space: Space | OpenSpace = field(default_factory=Space)
    name: str = "bag"
    command: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""  # "": a scratch folder of the attempt's own
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: str = ""
    inputs: tuple[str, ...] = ()  # files and folders to bring, as named from `base`
    outputs: tuple[str, ...] = ()  # patterns to collect
    values_file: str = ""  # where each task tells values, seen from the folder it runs in
    base: str = ""  # the folder that `inputs` are named from
    timeout_seconds: float = 0.0  # 0: none
    memory_bytes: int = 0  # that a task has, and may not pass; 0: nobody counts it
    pids: int = 0  # processes and threads that a task may have; 0: no limit
    output_cap_bytes: int = 1 << 20
    compat: str = ""
    retries: int = 1
    max_failures: int = 0  # tasks that may fail until the bag is paused; 0: a dozen alike
    replicate: bool = True
    slots: int = 1  # the CPUs that a task takes: of a machine's slots
    gpus: int = 0  # that a task has to itself
    at_once: int = 0  # tasks that may run at a time; 0: any number
    budget: Money | None = None
    deadline_seconds: float | None = None
    pick: str = ""  # "": not decided
    notify: str = ""  # a command for the shell where the master runs
    policy: Mapping[str, str | int | float] = field(default_factory=dict)  # settings by name

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.argv):
            raise UsageError(
                "`command` (for the shell) and `argv` (a list, no shell) are both given; keep one"
                if self.command
                else "there is nothing to run; give `command` (for the shell) or `argv` (a list)"
            )
        if self.slots < 1:
            raise UsageError("`slots`: a task takes at least 1")
        self._check_templates()

    @property
    def open(self) -> bool:
        """True if tasks may be added while the bag runs."""
        return isinstance(self.space, OpenSpace)

    @property
    def count(self) -> int:
        return self.space.count

    @property
    def names(self) -> tuple[str, ...]:
        return self.space.names

    @property
    def graph(self) -> None:
        """The order among its tasks: there is none."""

    @property
    def needs(self) -> Resources:
        """The part of a machine that one of its tasks takes."""
        return Resources(self.slots, self.memory_bytes, self.gpus)

    def step_of(self, _index: int) -> int:
        return 0

    def is_brought(self, _index: int) -> bool:
        """False: no task leaves files to another."""
        return False

    def sources(self, _index: int) -> list[tuple[range, Sequence[int]]]:
        """The tasks whose outputs are its inputs: none."""
        return []

    def values(self, index: int) -> tuple[str, ...]:
        """The values of task `index` (from 0), in the order of `names`."""
        return self.space.values(index)

    def filling(self, index: int) -> tuple[str, ...]:
        """The values that fill the templates."""
        return self.space.values(index)

    def parameters(self, index: int) -> dict[str, str]:
        return dict(zip(self.names, self.values(index), strict=True))

    def types(self) -> dict[str, type]:
        """The type of each parameter's values."""
        return self.space.types()

    def preview(self, index: int) -> str:
        """The command of task `index` as one would type it."""
        values = self.values(index)
        if self.command:
            return self._fill(self.command, "command", quote=True)(values)
        return shlex.join(self._fill(word, "argv")(values) for word in self.argv)

    def input_paths(self) -> tuple[str, ...]:
        """Every file and folder that some task needs, each once."""
        if not any(placeholders(path) for path in self.inputs):
            return tuple(dict.fromkeys(self._fill(path, "inputs")(()) for path in self.inputs))
        if self.count > _MOST_INPUTS:
            raise UsageError(
                f"`inputs` with placeholders are looked up for at most {_MOST_INPUTS:,} tasks and "
                f"the sweep has {self.count:,}; name the folder that holds them instead"
            )
        fills = [self._fill(path, "inputs") for path in self.inputs]
        rows = (self.values(index) for index in range(self.count))
        return tuple(dict.fromkeys(fill(row) for row in rows for fill in fills))

    def spec(
        self,
        bag: "BagId",
        *,
        output_folder: str = "",
        inputs: tuple[Input, ...] = (),
        cluster: str = "",
        step: int = 0,  # noqa: ARG002 (all tasks are alike)
    ) -> "BagSpec":
        """The message to workers; `inputs` are the files of `input_paths` with their hashes."""
        from bats.common.messages import BagSpec  # who only reads sweeps needs none

        return BagSpec(
            bag=bag,
            names=self.names,
            command=self.command,
            argv=self.argv,
            cwd=self.cwd,
            env=dict(self.env) | ({FILE: self.values_file} if self.values_file else {}),
            stdin=self.stdin,
            timeout_seconds=self.timeout_seconds,
            output_folder=output_folder,
            output_cap_bytes=self.output_cap_bytes,
            inputs=inputs,
            outputs=self.outputs,
            compat=self.compat,
            tasks=self.count,
            cluster=cluster,
            memory_bytes=self.memory_bytes,
            pids=self.pids,
            cpus=self.slots,
            gpus=self.gpus,
        )

    def to_plain(self) -> dict[str, Any]:
        """Lists, texts and numbers: what goes over the wire and into the store."""
        plain: dict[str, Any] = {"sweep": _PLAIN}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Space | OpenSpace):
                value = space_to_plain(value)
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Mapping):
                value = dict(value)
            plain[one.name] = value
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Sweep":
        """The opposite. Raises UsageError for what is none: it may come from another's program."""
        try:
            if plain["sweep"] != _PLAIN:
                raise UsageError(
                    f"the sweep is written in version {quoted(plain['sweep'])} and this program "
                    f"reads {_PLAIN}; use the same release on both sides"
                )
            given: dict[str, Any] = {}
            for one in fields(cls):
                if one.name in _ADDED and one.name not in plain:
                    continue
                value = plain[one.name]
                if one.name == "space":
                    given[one.name] = any_space_from_plain(value)
                    continue
                given[one.name] = fitting(value, one.type)
            return cls(**given)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise UsageError(f"the sweep sent cannot be understood: {error}") from error

    def _check_templates(self) -> None:
        """Compile all; the first that cannot be filled is refused."""
        self._fill(self.command, "command", quote=True)
        for key in ("cwd", "stdin"):
            self._fill(getattr(self, key), key)
        for key in ("argv", "inputs", "outputs"):
            for at, text in enumerate(getattr(self, key)):
                self._fill(text, key, at)
        self._fill(self.values_file, "values")
        for key, text in self.env.items():
            self._fill(text, "env", key)

    def _fill(self, text: str, *keys: str | int, quote: bool = False) -> Fill:
        if "\0" in text or not _encodable(text):
            raise MistakeError(keys, f"{quoted(text)} holds what no command line can carry")
        for inside in sorted(placeholders(text)):
            if inside.partition("!")[0] not in self.names:
                raise MistakeError(keys, self._no_value_for(inside, text))
        try:
            return compile_template(text, self.names, "", shell=quote)
        except UsageError as error:
            raise MistakeError(keys, str(error).removeprefix(": ")) from None

    def _no_value_for(self, name: str, text: str) -> str:
        if not name.isprintable() or len(name) > 60:  # rather a program's braces than a name
            name = quoted(name)[1:-1]
        if near := get_close_matches(name, self.names, 1):
            return f"no parameter is called {{{name}}}; did you mean {{{near[0]}}}?"
        if f"${{{name}}}" in text:
            return (
                f"${{{name}}} is read as the placeholder {{{name}}}, which has no values; "
                f"write ${name} or ${{{{{name}}}}} for the shell's variable"
            )
        known = ", ".join(f"{{{one}}}" for one in self.names[:12])
        return (
            f"{{{name}}} has no values; "
            + (f"the parameters are {known}" if known else "the sweep has no parameters")
            + ". For braces that are no placeholder write {{ and }}"
        )


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def fitting(value: Any, kind: Any) -> Any:
    """A plain value as a field of this type holds it. Raises TypeError."""
    if not _fits(value, kind):
        raise TypeError(f"{quoted(value)} in place of {kind}")
    return tuple(value) if isinstance(value, list) else value


def _fits(value: Any, kind: Any) -> bool:
    """True if a plain value is what a field of this type holds."""
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        return value is None or _fits(value, get_args(kind)[0])
    if origin is tuple:
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    if origin is Mapping:
        _, held = get_args(kind)
        return isinstance(value, dict) and all(
            isinstance(k, str) and isinstance(v, held) for k, v in value.items()
        )
    if kind in {bool, str}:
        return type(value) is kind
    return type(value) in ({int, float} if kind is float else {int}) and 0 <= value < math.inf

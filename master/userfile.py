"""Files that users write: read as TOML, YAML or JSON, checked by a model, faults in a sentence."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from bats.common.errors import UsageError, quoted
from bats.common.money import NOTHING, Money, money
from bats.common.units import seconds

LARGEST: Final = 64 << 20  # bytes of a file that is read whole
_TOO_MUCH: Final = 1 << 62  # billionths; what a store's integer holds

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?")
_KEY: Final = re.compile(r"""\s*(?:-\s+)?["']?([\w.-]+)["']?\s*[=:]""")


class Written(str):
    """A number with a point, kept as the user wrote it: `0.10` stays `0.10`, exactly."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content, or the options of a command line that stand for one (`path` is "")."""

    path: str
    data: Mapping[str, Any]
    kind: str = ""  # toml, json or yaml
    text: str = field(default="", repr=False)
    flags: Mapping[str, str] = field(default_factory=dict)  # options named otherwise than their key

    def where(self, keys: Sequence[str | int]) -> str:
        """How a message names the place: "sweep.toml, line 3: `grid.alpha`", or "--timeout"."""
        dotted = ""
        for key in keys:
            step = f"[{key + 1}]" if isinstance(key, int) else _printable(key)
            dotted += f".{step}" if dotted and isinstance(key, str) else step
        if not self.path:
            return self._option(keys)
        line = self._line_of(keys)
        place = f"{self.path}, line {line}" if line else self.path
        return f"{place}: `{dotted}`" if dotted else place

    def _option(self, keys: Sequence[str | int]) -> str:
        if not keys:
            return "The command line"
        first, *rest = (str(key) for key in keys if isinstance(key, str))
        return " ".join([self.flags.get(first, f"--{first.replace('_', '-')}"), *rest])

    def _line_of(self, keys: Sequence[str | int]) -> int | None:
        """The line that sets the innermost of these keys, as far as a look at the text can tell."""
        if self.kind == "toml":
            best, line = 0, None
            for number, path in _toml_keys(self.text):
                depth = len(path)
                if depth > best and list(keys[:depth]) == path:
                    best, line = depth, number
            return line
        names = [key for key in keys if isinstance(key, str)]
        lines = [
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if names and (found := _KEY.match(line)) and found[1] == names[-1]
        ]
        return lines[0] if len(lines) == 1 else None


def read_text(path: str | Path, what: str) -> str:
    """The text of a file; `what` says what it is for, in messages."""
    what = what[:1].upper() + what[1:]
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise UsageError(f"{what} {path} is not there{_near(Path(path))}") from None
    except IsADirectoryError:
        raise UsageError(f"{what} {path} is a folder; name the file.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{what} {path} cannot be read: {reason}.") from None
    if len(content) > LARGEST:
        raise UsageError(
            f"{what} {path} is larger than {LARGEST >> 20} MiB, the most that is read."
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{what} {path}, line {line}: not UTF-8 text; save the file in that encoding."
        ) from None


def read_document(path: str | Path, what: str, *, kinds: Sequence[str] = ("toml",)) -> Document:
    """Read and parse by the file's ending, one of `kinds`; without an ending it is TOML."""
    kind = Path(path).suffix.lower().removeprefix(".").replace("yml", "yaml") or "toml"
    if kind not in kinds:
        endings = " or ".join(f".{one}" for one in kinds)
        raise UsageError(
            f"{what.capitalize()} {path}: what is .{kind}? The name should end in {endings}."
        )
    text = read_text(path, what)
    try:
        data = _PARSERS[kind](text)
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply to be read.") from None
    except ValueError as error:
        raise UsageError(f"{path}: this is not {kind.upper()}: {_one_line(error)}.") from None
    if not isinstance(data, dict):
        raise UsageError(f"{path}: should hold keys and values and holds {quoted(data)}.")
    return Document(str(path), data, kind, text)


class Checked(BaseModel):
    """A table of the file. Unknown keys are refused, with the key that was probably meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_the_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = [one.alias or name for name, one in cls.model_fields.items()]
            for key in data:
                if key not in known:
                    fail(f"unknown key; {suggestion(str(key), known)}", key)
        return data


def fail(message: str, *keys: str | int) -> NoReturn:
    """To be called in validators; the message follows the place, `keys` being further steps."""
    raise PydanticCustomError(_OURS, "{message}", {"message": message, "keys": keys})


def sentence(place: str, said: str) -> str:
    """What a message looks like: where, and what."""
    return f"{place}: {said}" + ("" if said.endswith((".", "?")) else ".")


def suggestion(wrong: str, known: Sequence[str]) -> str:
    near = get_close_matches(wrong.lower(), known, 1) or get_close_matches(wrong, known, 1)
    return f"did you mean `{near[0]}`?" if near else f"allowed are {', '.join(known)}"


M = TypeVar("M", bound=BaseModel)


def check(model: type[M], document: Document) -> M:
    """The model filled from the document; UsageError with the first mistake in one sentence."""
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        mistakes.sort(key=lambda one: one["type"] != _OURS)
        more = f" ({len(mistakes) - 1} more after that.)" if len(mistakes) > 1 else ""
        raise UsageError(_sentence(document, mistakes[0]) + more) from None
    except RecursionError:
        raise UsageError(f"{document.path}: nested too deeply to be read.") from None


@dataclass(frozen=True, slots=True)
class Reads:
    """A field's annotation: `parse` reads what was written, and its ValueError is the message."""

    parse: Callable[[Any], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, _core: Any, _handler: Any) -> dict[str, Any]:
        return dict(self.schema)

    def _read(self, value: Any) -> Any:
        try:
            return self.parse(value)
        except ValueError as error:
            fail(str(error))


def _no_bool(written: Any) -> Any:
    if not isinstance(written, bool):
        return written
    raise ValueError(f"should be a whole number, not {text_of(written)}")


Whole = Annotated[int, BeforeValidator(_no_bool)]


def text_of(value: Any) -> str:
    """A single value as text: numbers as they were written, dates as ISO, true and false small."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() < 1000:
        return str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    raise ValueError(f"should be a text or a number, not {quoted(value)}")


def amount(value: Any) -> Money:
    """An amount of money, exact as written."""
    try:
        read = money(text_of(value)) if not isinstance(value, bool) else None
    except ArithmeticError:
        read = None
    if read is None or read >= _TOO_MUCH:
        raise ValueError(f"{quoted(value)} is not an amount of money; write for example 12.50")
    if read < NOTHING:
        raise ValueError(f"{value} is negative; write 0 or more")
    return read


def duration(value: Any) -> float:
    """Seconds, from what a file says: `"1h 30m"`, 90."""
    if isinstance(value, str | int):
        return seconds(value)
    raise ValueError(f"{quoted(value)} is not a duration; write for example 90s or 1h 30m")


def _sentence(document: Document, mistake: ErrorDetails) -> str:
    keys = [key for key in mistake["loc"] if key != "[key]"]
    context = mistake.get("ctx", {})
    if mistake["type"] == _OURS:
        place = document.where([*keys, *context["keys"]])
        return sentence(place, context["message"])
    place = document.where(keys)
    if mistake["type"] == "value_error":
        return sentence(place, str(context["error"]))
    if mistake["type"] == "missing":
        return f"{document.where(keys[:-1])}: `{keys[-1]}` is missing."
    if mistake["type"] == "list_type" and isinstance(mistake["input"], Mapping):
        return f"{place}: should be a list of tables; write [[{keys[-1]}]], with two brackets."
    words = _WORDS.get(mistake["type"])
    said = words.format(**context) if words else mistake["msg"].removeprefix("Input ")
    return f"{place}: {said}, not {quoted(mistake['input'])}."


def _toml_keys(text: str) -> Iterator[tuple[int, list[str | int]]]:
    """Each line that sets a key or opens a table, with the path it sets."""
    table: list[str | int] = []
    arrays: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            name = header[2]
            table = [part.strip().strip("\"'") for part in name.split(".")]
            if header[1] == "[[":
                table.append(arrays[name])
                arrays[name] += 1
            elif arrays and table[0] in arrays:
                table.insert(1, arrays[cast("str", table[0])] - 1)
            yield number, list(table)
        elif found := _KEY.match(line):
            yield number, [*table, *found[1].split(".")]


def _printable(key: str) -> str:
    return key if key.isprintable() and len(key) < 60 else quoted(key)


def _near(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir()]
    except (OSError, ValueError):
        return "."
    near = get_close_matches(path.name, names, 1, 0.75)
    return f"; did you mean {path.with_name(near[0])}?" if near else "."


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return (text[:1].lower() + text[1:]).rstrip(".")[:200]


def _from_toml(text: str) -> Any:
    return tomllib.loads(text, parse_float=Written)


def _from_json(text: str) -> Any:
    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            keys = Counter(key for key, _ in pairs)
            raise ValueError(f"the key {quoted(keys.most_common(1)[0][0])} is given twice")
        return made

    return json.loads(text, parse_float=Written, object_pairs_hook=table)


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ValueError("reading it needs PyYAML; install it, or write TOML") from None
    try:
        loader = yaml.BaseLoader(text)  # all as written: no octal 010, no false for `no`
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f" (at line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise ValueError(f"{getattr(error, 'problem', None) or error}{at}") from None


_OURS: Final = "bats"
_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "toml": _from_toml,
    "json": _from_json,
    "yaml": _from_yaml,
}
_WORDS: Final = {
    "string_type": "should be a text",
    "int_type": "should be a whole number",
    "int_parsing": "should be a whole number",
    "int_from_float": "should be a whole number",
    "float_type": "should be a number",
    "float_parsing": "should be a number",
    "bool_type": "should be true or false",
    "bool_parsing": "should be true or false",
    "list_type": "should be a list, [...]",
    "tuple_type": "should be a list, [...]",
    "dict_type": "should be a table of keys and values",
    "model_type": "should be a table of keys and values",
    "greater_than_equal": "should be {ge} or more",
    "less_than_equal": "should be {le} or less",
    "literal_error": "should be {expected}",
    "too_short": "should not be empty",
    "string_too_short": "should not be empty",
}

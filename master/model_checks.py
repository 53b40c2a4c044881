"""Checks of files as pydantic models; the first mistake in one as one sentence."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Final, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import CoreSchema, ErrorDetails, PydanticCustomError, core_schema

from bats.common.errors import UsageError, quoted
from bats.common.money import NOTHING, Money, money
from bats.common.records import dataclass
from bats.common.units import seconds
from bats.master.userfile import Document, sentence

_OURS: Final = "bats"  # the type of our own errors among pydantic's
_TOO_MUCH: Final = 1 << 62  # billionths; what a store's integer holds
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


class Checked(BaseModel):
    """A table of the file. Unknown keys are refused, with the key that was probably meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    of_others: ClassVar[Mapping[str, str]] = {}  # keys of other files, with what to do

    @model_validator(mode="before")
    @classmethod
    def _knows_the_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            known = [one.alias or name for name, one in cls.model_fields.items()]
            for key in data:
                if key in known:
                    continue
                if key in cls.of_others:
                    fail(cls.of_others[key], key)
                fail(f"unknown key; {suggestion(str(key), known)}", key)
        return data


def fail(message: str, *keys: str | int) -> NoReturn:
    """Fail in a validator; the message follows the place, `keys` being further steps."""
    raise PydanticCustomError(_OURS, "{message}", {"message": message, "keys": keys})


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
    schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, _core: Any, _handler: Any) -> dict[str, Any]:
        return dict(self.schema() if callable(self.schema) else self.schema)

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


def positive_duration(value: Any) -> float:
    """Seconds, more than none."""
    if read := duration(value):
        return read
    raise ValueError("should be longer than 0; leave it out for none")


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

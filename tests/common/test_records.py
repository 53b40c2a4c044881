"""A record is what the standard library's dataclass would be: each is made twice and compared."""

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

import pytest

from bats.common import records

Decorator = Callable[..., Any]


def plain(dataclass: Decorator) -> type:
    @dataclass
    class Plain:
        a: int
        b: list[int] = field(default_factory=list)
        c: str = "c"

        count: ClassVar[int] = 0

    return Plain


def frozen(dataclass: Decorator) -> type:
    @dataclass(frozen=True, slots=True)
    class Frozen:
        """A docstring."""

        a: int
        b: tuple[int, ...] = (1,)
        c: str = field(default="c", repr=False, compare=False)

    return Frozen


def derived(dataclass: Decorator) -> type:
    @dataclass(slots=True)
    class Base:
        a: int
        b: int = field(init=False, default=4)

    @dataclass(slots=True)
    class Derived(Base):
        c: int = 3
        d: list[int] = field(init=False, default_factory=list)
        e: int = field(init=False)

        def __post_init__(self) -> None:
            self.e = self.a + self.c

    return Derived


def by_name(dataclass: Decorator) -> type:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class ByName:
        a: int
        b: float = 0.5

    return ByName


def single(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Single:
        a: float

        def __repr__(self) -> str:
            return "one"

    return Single


def empty(dataclass: Decorator) -> type:
    @dataclass(frozen=True)
    class Empty: ...

    return Empty


def by_identity(dataclass: Decorator) -> type:
    @dataclass(eq=False, slots=True)
    class ByIdentity:
        a: int

    return ByIdentity


Given = tuple[tuple[Any, ...], dict[str, Any]]


def outcome(call: Callable[[type], object], cls: type) -> str:
    """What it gives, or which mistake it is: neither where it lies nor the words are of matter."""
    try:
        return repr(call(cls)).split(" at 0x")[0]
    except Exception as error:
        return type(error).__name__


def on(what: Callable[[Any], object], given: Given) -> Callable[[type], object]:
    return lambda cls: what(cls(*given[0], **given[1]))


def comparing(given: Given, other: Given) -> Callable[[type], object]:
    def alike(cls: type) -> tuple[bool, bool]:
        one, another = (cls(*args, **named) for args, named in (given, other))
        return one == another, hash(one) == hash(another)

    return alike


def repacked(one: Any) -> object:
    cls = type(one)
    cls.__qualname__ = cls.__name__
    setattr(sys.modules[__name__], cls.__name__, cls)  # what is pickled is found by its name
    return pickle.loads(pickle.dumps(one))


NAN = float("nan")
ARGUMENTS: list[Given] = [
    ((), {}), ((1,), {}), ((2,), {}), ((NAN,), {}), ((1, (2,)), {}), ((1, (2,), "x"), {}),
    ((1,), {"c": "y"}), ((), {"a": 1}), ((), {"a": 1, "b": 2.5}), ((1, 2, 3, 4), {}),
    ((), {"z": 1}),
]  # fmt: skip
OF_A_CLASS: list[Callable[[Any], object]] = [
    lambda cls: [(one.name, one.kind, one.annotation)
                 for one in inspect.signature(cls).parameters.values()],
    lambda cls: cls.__match_args__,
    lambda cls: [(one.name, one.type) for one in dataclasses.fields(cls)],
    lambda cls: getattr(cls, "__slots__", None),
]  # fmt: skip
OF_AN_OBJECT: list[Callable[[Any], object]] = [
    repr, dataclasses.asdict, lambda one: one.a, lambda one: one.c, lambda one: one == 1,
    lambda one: one < 1, lambda one: setattr(one, "a", 5), lambda one: delattr(one, "a"),
    lambda one: dataclasses.replace(one, a=7), copy.copy, repacked,
]  # fmt: skip


@pytest.mark.parametrize(
    "make", [plain, frozen, derived, by_name, single, empty, by_identity], ids=lambda m: m.__name__
)
def test_a_record_does_what_a_dataclass_does(make: Callable[[Decorator], type]) -> None:
    ours, theirs = make(records.dataclass), make(dataclasses.dataclass)
    for what in OF_A_CLASS:
        assert outcome(what, ours) == outcome(what, theirs)
    for given in ARGUMENTS:
        for what in OF_AN_OBJECT:
            done = outcome(on(what, given), ours)
            assert done == outcome(on(what, given), theirs), given
        for other in ARGUMENTS:
            found = outcome(comparing(given, other), ours)
            assert found == outcome(comparing(given, other), theirs), (given, other)


def test_a_record_without_words_of_its_own_has_none() -> None:
    assert plain(records.dataclass).__doc__ is None
    assert frozen(records.dataclass).__doc__ == "A docstring."


@pytest.mark.parametrize("below", [dataclasses.dataclass, records.dataclass])
@pytest.mark.parametrize("above", [dataclasses.dataclass, records.dataclass])
def test_what_is_frozen_derives_from_what_is_frozen_whoever_made_it(
    above: Decorator, below: Decorator
) -> None:
    @above(frozen=True, slots=True)
    class Settings:
        a: int = 1

    @below(frozen=True, slots=True)
    class Own(Settings):
        b: int = 2

    made = Own(3)
    assert (made.a, made.b) == (3, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.b = 4  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        below(type("Loose", (Settings,), {"__annotations__": {"c": int}}))

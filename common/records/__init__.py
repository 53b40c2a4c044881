"""`dataclass` as the standard library's, made in an eighth of its time: a start makes hundreds.

That one compiles six methods of every class. Only `__init__` needs to be, and is when an object of
the class is first made: the others do the same for all classes, each with its own fields. Type
checkers see the standard library's.
"""

from typing import TYPE_CHECKING

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from collections.abc import Callable, Sequence
    from dataclasses import MISSING, Field, FrozenInstanceError, fields
    from dataclasses import dataclass as standard
    from operator import attrgetter
    from typing import Any

    def dataclass(cls: type | None = None, /, **how: bool) -> Any:
        """See `dataclasses.dataclass`; of its options `eq`, `frozen`, `kw_only` and `slots`."""
        return _made(cls, **how) if cls else lambda one: _made(one, **how)

    def _made(
        cls: type, *, eq: bool = True, frozen: bool = False, kw_only: bool = False,
        slots: bool = False,
    ) -> type:  # fmt: skip
        told, own = cls.__doc__, set(cls.__dict__)
        cls.__doc__ = told or ""  # else a signature is made up for one, which takes long
        derived = any(hasattr(base, "__dataclass_params__") for base in cls.__bases__)
        made = standard(
            cls, init=False, repr=False, eq=False, kw_only=kw_only, slots=slots,
            frozen=frozen and derived,  # which is held against what the base says of itself
        )  # fmt: skip
        made.__dataclass_params__.frozen = frozen
        made.__doc__ = told
        every = fields(made)
        methods = {"__init__": _Init(made, every, frozen), **_of(_Told)}
        if eq:
            methods |= _comparing([one.name for one in every if one.compare], frozen)
        if frozen:
            methods |= _of(_Frozen)
        if frozen and slots:
            methods |= _of(_Packed)
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made

    class _Init:
        """Becomes the class's `__init__` when that is first looked at."""

        def __init__(self, *of: Any) -> None:
            self._of = of

        def __get__(self, one: object | None, cls: type) -> Any:
            found = _init(*self._of)
            self._of[0].__init__ = found
            return found.__get__(one, cls)

    def _init(made: type, every: Sequence[Field[Any]], frozen: bool) -> Callable[..., None]:
        scope: dict[str, Any] = {"set_": object.__setattr__, "missing_": MISSING}
        in_order, by_name, lines = [], [], []
        for one in every:
            name, default, value = one.name, "", one.name
            if one.default is not MISSING:
                default = f"default_{name}_"
                scope[default] = one.default
            elif one.default_factory is not MISSING:
                default, factory = "missing_", f"factory_{name}_"
                scope[factory] = one.default_factory
                value = f"{factory}() if {name} is missing_ else {name}"
            if one.init:
                (by_name if one.kw_only else in_order).append(
                    f"{name}={default}" if default else name
                )
            elif default:
                value = f"{factory}()" if default == "missing_" else default
            else:
                continue
            lines.append(f"set_(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(made, "__post_init__"):
            lines.append("self.__post_init__()")
        given = ", ".join(["self", *in_order, *(["*", *by_name] if by_name else [])])
        text = f"def __init__({given}):\n " + "\n ".join(lines or ["pass"])
        exec(text, scope)  # noqa: S102, made of the names of fields alone
        init: Callable[..., None] = scope["__init__"]
        init.__qualname__ = f"{made.__qualname__}.__init__"
        init.__annotations__ = {one.name: one.type for one in every if one.init} | {"return": None}
        return init

    def _comparing(names: Sequence[str], frozen: bool) -> dict[str, Any]:
        if len(names) > 1:
            values = attrgetter(*names)
        else:

            def values(one: object) -> tuple[object, ...]:
                return tuple(getattr(one, name) for name in names)

        class Compared:
            def __eq__(self, other: object) -> bool:
                if other.__class__ is not self.__class__:
                    return NotImplemented
                return values(self) == values(other)

            def __hash__(self) -> int:
                return hash(values(self))

        return _of(Compared) if frozen else {**_of(Compared), "__hash__": None}

    class _Told:
        def __repr__(self) -> str:
            told = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
            return f"{type(self).__qualname__}({', '.join(told)})"

    class _Frozen:
        def __setattr__(self, name: str, value: object) -> None:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self, name: str) -> None:
            raise FrozenInstanceError(f"cannot delete field {name!r}")

    class _Packed:
        """Takes itself out and back: what is frozen, nobody else can fill in."""

        def __getstate__(self) -> list[object]:
            return [getattr(self, one.name) for one in fields(self)]

        def __setstate__(self, state: list[object]) -> None:
            for one, value in zip(fields(self), state, strict=True):
                object.__setattr__(self, one.name, value)

    def _of(shared: type) -> dict[str, Any]:
        return {name: what for name, what in vars(shared).items() if callable(what)}

"""The clouds file as a model: its keys, what each may hold, and the sentence when it does not."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field, field_validator, model_validator

from bats.common.capacity.pool_rules import INTERVAL_SECONDS, QUANTILE, RELEASES, SCALERS
from bats.common.errors import quoted
from bats.common.money import Money
from bats.common.units import octets
from bats.deploy.registry import names
from bats.master.model_checks import Checked, Reads, Whole, amount, duration, fail, suggestion
from bats.master.userfile import Written

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")
_AMOUNT: Final = {"type": ["string", "number"]}
_DURATION: Final = {"type": ["string", "number"], "examples": ["hour", "minute", "90s"]}


def _name(written: Any) -> str:
    if isinstance(written, str) and _NAME.fullmatch(written):
        return written
    raise ValueError(
        f"{quoted(written)} cannot be an offering's name; use up to 40 letters, digits and _.+-"
    )


def _span(written: Any) -> float:
    """A duration, of which a bare unit is one: `"hour"`."""
    unit = isinstance(written, str) and written.strip().isalpha()
    if value := duration(f"1 {written.strip()}" if unit else written):
        return value
    raise ValueError("should be longer than 0")


class OfferingTable(Checked):
    """One kind of machine. The table named after its back end holds what only that one knows."""

    name: Annotated[str, Reads(_name, {"type": "string"})]
    backend: str = "local"
    price: Annotated[Money, Reads(amount, {"type": ["string", "number"]})]
    per: Annotated[float, Reads(_span, _DURATION)] = 3600.0
    atu: Annotated[float, Reads(_span, _DURATION)] = 3600.0
    minimum: Annotated[float, Reads(duration, _DURATION)] = 0.0
    boundary: Annotated[float | None, Reads(duration, _DURATION)] = None
    lease: Annotated[float | None, Reads(duration, _DURATION)] = None
    max: Annotated[Whole | None, Field(ge=1, le=100_000)] = None
    cpus: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    memory: Annotated[
        int, Reads(octets, {"type": ["string", "integer"], "examples": ["64G"]}), Field(ge=1)
    ] = 0
    gpus: Annotated[Whole, Field(ge=0, le=1000)] = 0
    slots: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    reliable: bool | None = None
    priced: str = Field("", max_length=200)
    settings: dict[str, Any] = Field({})

    @model_validator(mode="before")
    @classmethod
    def _takes_the_table_of_its_back_end(cls, data: Any) -> Any:
        """Take either `[offering.slurm]` or `backend = "slurm"` for the other: one is enough."""
        if not isinstance(data, Mapping) or isinstance(data.get("backend", ""), list | dict):
            return data
        keys, known = dict(data), names()
        backend = keys.get("backend")
        if backend is not None and backend not in known:
            fail(
                f"there is no back end {quoted(backend)}; {suggestion(str(backend), known)}",
                "backend",
            )
        tables = [key for key in keys if key in known]
        common = [key for key in cls.model_fields if key != "settings"]
        for name in tables:
            if name != (backend or tables[0]):
                fail(f"this table is not for the offering's back end, {backend or tables[0]}", name)
        if not backend and not tables:
            fail(f"`backend` is missing; give one of {', '.join(known)}")
        for key in keys:
            if key not in [*common, *tables]:
                fail(f"unknown key; {suggestion(key, [*common, *known])}", key)
        if "price" not in keys:
            fail("`price` is missing; write 0 if a machine costs nothing")
        keys["backend"] = backend or tables[0]
        settings = keys.pop(tables[0], {}) if tables else {}
        if not isinstance(settings, Mapping):
            fail(f"should be a table of keys and values, not {quoted(settings)}", tables[0])
        keys["settings"] = {key: _plain(value) for key, value in settings.items()}
        return keys


class PoolTable(Checked):
    """Machines that the master keeps for all bags, as many as a scaler says."""

    name: Annotated[str, Reads(_name, {"type": "string"})] = "pool"
    offerings: list[str] = Field([])
    min: Annotated[Whole, Field(ge=0, le=100_000)] = 0
    max: Annotated[Whole | None, Field(ge=1, le=100_000)] = None
    interval: Annotated[float, Reads(_span, _DURATION)] = INTERVAL_SECONDS
    scaler: str = SCALERS[0]
    release: str = RELEASES[0]
    quantile: Annotated[float, Field(ge=0, lt=1)] = QUANTILE
    per_interval: Annotated[Money | None, Reads(amount, _AMOUNT)] = None
    per_day: Annotated[Money | None, Reads(amount, _AMOUNT)] = None
    per_month: Annotated[Money | None, Reads(amount, _AMOUNT)] = None
    zone: str = ""


class CloudsFile(Checked):
    """All offerings, pools of some of them, and the currency that prices are in."""

    of_others = dict.fromkeys(
        ("command", "argv", "grid", "step"), "a key of sweep files: --clouds names another file"
    )
    currency: str = Field("$", min_length=1, max_length=20)
    offering: list[OfferingTable] = Field([])
    pool: list[PoolTable] = Field([])

    @field_validator("pool", mode="before")
    @classmethod
    def _one_is_a_list_too(cls, written: Any) -> Any:
        return [written] if isinstance(written, Mapping) else written

    @model_validator(mode="after")
    def _offers_something(self) -> "CloudsFile":
        if not self.offering:
            fail("there is no offering; write [[offering]] and below it name, backend and price")
        return self


def _plain(value: Any) -> Any:
    """Back ends take numbers as Python has them."""
    if isinstance(value, Written):
        return float(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value

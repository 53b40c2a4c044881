"""The master's settings file: what its options say, caps over all bags, and weights of users."""

from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, field_validator

from bats.common.money import Money
from bats.common.units import octets
from bats.master.api.requests import SetCap
from bats.master.model_checks import Checked, Reads, Whole, amount, check
from bats.master.userfile import read_document

FILE: Final = "master.toml"
"""Its name in the state folder, where it is found by itself."""

Size = Annotated[int, Reads(octets, {"type": ["string", "integer"], "examples": ["16G"]})]


class CapTable(Checked):
    """So much may be spent in each day, week or month, or for good."""

    amount: Annotated[Money, Reads(amount, {"type": ["string", "number"]})]
    per: str = Field("ever", pattern="^(day|week|month|ever)$")
    user: str = ""
    zone: str = ""

    def request(self) -> SetCap:
        return SetCap(amount=self.amount, period=self.per, user=self.user, zone=self.zone)


class MasterFile(Checked):
    """Each key is an option of `bats master`; an option that is given wins."""

    clouds: str = ""
    bind: str = ""
    port: Whole = Field(0, ge=0, le=65535)
    reach: list[str] = Field([])
    web: Whole | None = Field(None, ge=0, le=65535)
    sharing: str = "fair"
    placement: str = ""
    notify: str = ""
    output: str = ""
    task_files: Size = 16 << 30
    bag_files: Size = 1 << 40
    fixed_clouds: bool = False
    cap: list[CapTable] = Field([])
    weights: dict[str, Annotated[Whole, Field(ge=1, le=1000)]] = Field({})

    @field_validator("cap", mode="before")
    @classmethod
    def _one_is_a_list_too(cls, written: Any) -> Any:
        return [written] if isinstance(written, dict) else written


def settings(path: Path | None, state: Path) -> MasterFile:
    """The settings of that file, or of the state folder's. Raises UsageError."""
    found = path or state / FILE
    if path is None and not found.is_file():
        return MasterFile.model_validate({})
    return check(MasterFile, read_document(found, "the master's settings file"))

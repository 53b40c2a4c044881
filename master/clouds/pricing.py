"""Providers' prices now, and writing them into a clouds file with their date."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bats.common.errors import BatsError, UsageError
from bats.common.money import Money, as_decimal
from bats.common.offering import Offering
from bats.common.records import dataclass
from bats.deploy.protocol import Price, Priced, Site
from bats.deploy.registry import backend
from bats.master.clouds.clouds_file import price_of_atu
from bats.master.clouds.clouds_model import CloudsFile
from bats.master.model_checks import check
from bats.master.userfile import read_document

DOLLARS: Final = frozenset({"$", "USD", "US$"})
_PRICE: Final = re.compile(r"(\s*price\s*=\s*)[^#\n]*?(\s*#.*)?")
_PRICED: Final = re.compile(r"\s*priced\s*=.*")


@dataclass(frozen=True, slots=True)
class Looked:
    """The outcome of looking one offering's price up."""

    offering: Offering
    price: Price | None
    error: str = ""

    @property
    def hourly(self) -> Money:
        """The price of an hour by the file, which may count in other ATUs."""
        return Money(round(self.offering.price * 3600 / self.offering.atu_seconds))

    @property
    def priced(self) -> str:
        return f"{self.price.day}, {self.price.source}" if self.price else ""


async def look_up(offerings: Iterable[Offering], state: Path) -> list[Looked]:
    """Look up the prices of offerings whose back end can tell."""
    told = []
    for offering in offerings:
        try:
            asked = backend(offering, Site("prices", str(state), ()))
        except BatsError:
            continue  # `bats clouds check` says what is wrong with it
        try:
            if isinstance(asked, Priced):
                told.append(Looked(offering, await asked.price()))
        except BatsError as error:
            told.append(Looked(offering, None, str(error)))
        finally:
            await asked.close()
    return told


def write(path: str, told: Sequence[Looked]) -> list[str]:
    """Put the prices into the file, each with its date; the names of the offerings written to.

    All else in the file stays as it is. Raises UsageError for a file that is not in dollars.
    """
    if not path:
        raise UsageError("There is no clouds file to write to; begin with `bats clouds init`.")
    document = read_document(path, "the clouds file")
    file = check(CloudsFile, document)
    if file.currency not in DOLLARS:
        raise UsageError(
            f"{path}: prices are in {file.currency} and Amazon's are in dollars; "
            'set `currency = "$"` or write the prices yourself.'
        )
    new = {str(one.offering.name): one for one in told if one.price}
    lines = document.text.splitlines()
    written = []
    for at, table in reversed(list(enumerate(file.offering))):  # so that line numbers stay right
        one, line = new.get(table.name), document.line_of(["offering", at, "price"])
        if one and one.price and line:
            amount = price_of_atu(one.price.per_hour, 3600.0, table.per)
            if _set(lines, line - 1, f"{as_decimal(amount).normalize():f}", one.priced):
                written.append(table.name)
    draft = Path(path).with_name(f".{Path(path).name}.{os.getpid()}")
    draft.write_text("\n".join(lines) + "\n")
    draft.chmod(Path(path).stat().st_mode & 0o777)
    draft.replace(path)
    return written[::-1]


def _set(lines: list[str], at: int, price: str, priced: str) -> bool:
    """The price in this line, and below it when it was found; False if it is not such a line."""
    if not (found := _PRICE.fullmatch(lines[at])):
        return False
    note = f'priced = "{priced}"'
    lines[at] = f'{found[1]}"{price}"{found[2] or ""}'
    after = at + 1
    if after < len(lines) and _PRICED.fullmatch(lines[after]):
        lines[after] = note
    else:
        lines.insert(after, note)
    return True

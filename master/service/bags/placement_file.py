"""The placement by name as it is kept in the state folder: it stays when a master starts again."""

import json
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.wire.keys import read_private_json, write_private
from bats.master.brain.household.placements import USUAL, placement

FILE: Final = "placement.json"


class PlacementFile:
    """A placement is written before it decides: what cannot be kept is not so."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE

    def read(self) -> str:
        """Raises UsageError for what nobody of ours has written."""
        try:
            held = read_private_json(self._file, "a placement")
            return placement(held["placement"]).name
        except FileNotFoundError:
            return USUAL
        except (KeyError, TypeError, AttributeError, UsageError) as error:
            raise UsageError(
                f"{self._file} names no placement ({error}); remove it for the usual one."
            ) from None

    def keep(self, name: str) -> None:
        write_private(self._file, json.dumps({"version": 1, "placement": name}))

"""Leftovers of earlier releases, frozen by scripts/freeze.py; put into a folder of the test."""

import json
import sqlite3
import tarfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack

from bats.master.store.rows import bag_checksum

FROZEN = Path(__file__).parents[1] / "frozen"
RELEASES = sorted(path.name for path in FROZEN.glob("[0-9]*") if path.is_dir())


@dataclass(frozen=True, slots=True)
class Frozen:
    """A bag of an earlier release, and what that release told of it when no master ran."""

    release: str
    bag: str  # running, ended or cancelled

    def __str__(self) -> str:
        return f"{self.release}-{self.bag}"

    def told(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, Any] = json.loads((FROZEN / self.release / f"{self.bag}.json").read_text())
        return found

    def restore(self, state: Path, **settings: Any) -> Path:
        """Unpacked there, with its output below: where it was written there is nothing now.

        `settings` of the bag are what others decide by than it was submitted with.
        """
        state.mkdir(mode=0o700)
        with tarfile.open(FROZEN / self.release / f"{self.bag}.tar.xz") as archive:
            archive.extractall(state, filter="data")
        with closing(sqlite3.connect(state / "store.db", isolation_level=None)) as db:
            bags = db.execute("SELECT id, spec, settings FROM bags").fetchall()
            for bag, *kept in bags:
                spec, decided = map(msgpack.unpackb, kept)
                spec["output_folder"] = f"{state}/output/{bag}"
                changed = msgpack.packb(spec), msgpack.packb({**decided, **settings})
                db.execute(
                    "UPDATE bags SET spec = ?, settings = ?, crc = ? WHERE id = ?",
                    (*changed, bag_checksum(*changed), bag),
                )
        return state


def frozen(*bags: str) -> list[Frozen]:
    return [Frozen(release, bag) for release in RELEASES for bag in bags]

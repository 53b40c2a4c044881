"""The tables, and how a connection to them is opened."""

import os
import secrets
import sqlite3
from pathlib import Path
from typing import Final

from bats.common.errors import BatsError, StoreDamagedError, UsageError

SCHEMA: Final = 1
"""Raised with every change of the tables that an older program would misunderstand."""

APPLICATION: Final = 0x42615453  # "BaTS", in the header of every store
FILE: Final = "store.db"
_DAMAGE: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR_READ}

SHIFT: Final = 40
"""A row of a bag has the key `bag << SHIFT | number`: SQLite is fastest with one integer."""

# Without types SQLite keeps each value just as it was given.
_ATTEMPT: Final = """
    machine, cluster, started, attempt, outcome, exit_code, wall_seconds, user_seconds,
    system_seconds, peak_kib, output_bytes, excerpt, slot, outputs, crc
"""

LEARNED: Final = """
CREATE TABLE IF NOT EXISTS learned (
    template TEXT, offering TEXT, tasks INTEGER, at REAL, runtimes BLOB, losses BLOB,
    PRIMARY KEY (template, offering)
) WITHOUT ROWID
"""
"""Made when it is first needed in a store of before 0.2.0, which an older program ignores."""

ADDITIONS: Final = """
CREATE TABLE IF NOT EXISTS additions (
    id INTEGER PRIMARY KEY, tasks INTEGER, name TEXT, space BLOB, crc INTEGER
)
"""
"""Tasks added to a bag; the id is that of the first. Made when it is first needed, too."""

_TABLES: Final = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {SCHEMA};
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE bags (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, spec BLOB, settings BLOB, tasks INTEGER,
    created REAL, state TEXT, ended REAL, summary TEXT, duplicates INTEGER, crc INTEGER
);
-- id is bag << {SHIFT} | first event; data is described in journal.py
CREATE TABLE journal (id INTEGER PRIMARY KEY, events INTEGER, crc INTEGER, data BLOB);
-- id is bag << {SHIFT} | task: one result per task, the first
CREATE TABLE results (id INTEGER PRIMARY KEY, {_ATTEMPT});
-- what did not become a task's result: failures that were tried again, failed late copies
CREATE TABLE attempts (id INTEGER, {_ATTEMPT}, UNIQUE (id, attempt));
CREATE TABLE machines (
    id INTEGER PRIMARY KEY, bag INTEGER, offering TEXT, backend TEXT, address TEXT,
    requested REAL, charged_since REAL, joined REAL, gone REAL, reason TEXT, cost INTEGER,
    public_key BLOB
);
CREATE TABLE decisions (id INTEGER PRIMARY KEY, bag INTEGER, time REAL, words TEXT);
CREATE INDEX decisions_of_bag ON decisions (bag);
{LEARNED};
{ADDITIONS};
CREATE TABLE blobs (bag INTEGER, sha256 TEXT, PRIMARY KEY (bag, sha256)) WITHOUT ROWID;
"""


def key(bag: int, number: int) -> int:
    return bag << SHIFT | number


def keys_of(bag: int) -> tuple[int, int]:
    """The lowest and highest key that a row of this bag can have."""
    return key(bag, 0), key(bag + 1, 0) - 1


def new_master_id() -> str:
    return secrets.token_hex(8)


def create(folder: Path, release: str) -> None:
    """Make an empty store, whole or not at all."""
    fresh = folder / f"{FILE}.new"
    fresh.unlink(missing_ok=True)
    db = sqlite3.connect(fresh, isolation_level=None)
    try:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # pruning gives space back piece by piece
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # all of it is synced below, before it has its name
        db.executescript(_TABLES)
        meta = {"master": new_master_id(), "release": release}
        db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    finally:
        db.close()
    fresh.chmod(0o600)  # SQLite gives its log the same mode
    sync(fresh)
    fresh.rename(folder / FILE)
    sync(folder)


def open_writing(folder: Path) -> sqlite3.Connection:
    """The one connection that writes; every commit is on disk when it returns."""
    db = sqlite3.connect(
        folder / FILE, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        refuse_foreign(db, folder)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA wal_autocheckpoint = 16000")  # pages: 64 MB between checkpoints
        db.execute("PRAGMA cache_size = -32768")  # KiB; results of a large bag come in any order
        db.execute("PRAGMA busy_timeout = 5000")
    except BaseException:
        db.close()
        raise
    return db


def open_reading(folder: Path) -> sqlite3.Connection:
    """A connection that cannot write; any number of them, beside a living master or without one."""
    if not (folder / FILE).exists():
        raise UsageError(f"There is no store in {folder}.")
    db = sqlite3.connect(
        f"{(folder / FILE).absolute().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        refuse_foreign(db, folder)
    except BaseException:
        db.close()
        raise
    return db


def refuse_foreign(db: sqlite3.Connection, folder: Path) -> None:
    """Raise a sentence unless this is a store that this program can read."""
    try:
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        meta = dict(db.execute("SELECT key, value FROM meta")) if application == APPLICATION else {}
    except sqlite3.DatabaseError as error:
        raise unreadable(error, folder) from error
    if application != APPLICATION:
        raise StoreDamagedError(
            f"{folder / FILE} is not a store of BaTS: its header is empty or another program's."
        )
    if version > SCHEMA:
        raise UsageError(
            f"The store in {folder} was written by a newer BaTS (release {meta.get('release')}, "
            f"store version {version}; this program knows up to {SCHEMA}). "
            "Upgrade this program, or choose another state folder."
        )


def unreadable(error: sqlite3.Error, folder: Path) -> BatsError:
    """The disk is full, a right is missing, ...: the store may be whole all the same."""
    code = getattr(error, "sqlite_errorcode", None) or sqlite3.SQLITE_CORRUPT
    if code in _DAMAGE or code & 0xFF in _DAMAGE:
        return StoreDamagedError(f"{folder / FILE} cannot be read as a store: {error}.")
    return BatsError(f"{folder / FILE} cannot be opened: {error}.")


def sync(path: Path) -> None:
    """Put a file's content, or a folder's list of names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make it and those above, as far as they are missing; their names are on the disk then."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        sync(one.parent)

"""What is lost on unreliable machines is kept beside what is learned, in older stores too."""

import sqlite3

from bats.master.store.rows import LearnedRow
from bats.master.store.writing.statements import write_learned


def test_a_table_of_before_gets_the_losses_and_keeps_what_it_has():
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE TABLE learned (template TEXT, offering TEXT, tasks INTEGER, at REAL, "
        "runtimes BLOB, PRIMARY KEY (template, offering)) WITHOUT ROWID"
    )
    db.execute("INSERT INTO learned VALUES ('old', 'spot', 3, 1.0, x'00')")
    for _ in range(2):
        write_learned(db, [LearnedRow("new", "spot", 4, 2.0, b"r", b"lost")])
    rows = [LearnedRow(*row) for row in db.execute("SELECT * FROM learned ORDER BY template")]
    assert rows == [
        LearnedRow("new", "spot", 4, 2.0, b"r", b"lost"),
        LearnedRow("old", "spot", 3, 1.0, b"\0", None),
    ]

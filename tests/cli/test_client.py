"""The Python client: submit, choose, results as they come; the same with and without asyncio."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from helpers.user import User

from bats.common.errors import UnreachableError, UsageError
from bats.master.client import Bag, Client, SyncBag, SyncClient, TaskResult, connect, sweep


def test_a_program_submits_and_takes_results_as_they_come(tmp_path: Path) -> None:
    user = User(tmp_path)
    work = sweep(command="echo {x}", grid={"x": "1:5"}, name="five")
    with user.master(), connect(user.state / "access.json") as master:
        bag = master.submit(work, rule="fastest")
        results = {one["task"]: one for one in bag.results()}
        assert sorted(results) == [0, 1, 2, 3, 4]
        assert results[4]["parameters"] == {"x": 5}
        assert results[4].keys() == TaskResult.__required_keys__
        assert bag.log(4) == b"5\n"
        assert bag.wait()["state"] == "complete"
        assert [one["name"] for one in master.bags()] == ["five"]
        assert master.bag("five").number == bag.number


def test_a_sweep_file_is_submitted_by_its_name_and_what_is_none_is_refused(
    tmp_path: Path,
) -> None:
    user = User(tmp_path)
    (tmp_path / "s.toml").write_text('command = "echo n={n}"\n[grid]\nn = [0.5, 1]\n')
    with user.master(), connect(user.state / "access.json") as master:
        bag = master.submit(tmp_path / "s.toml", rule="fastest")
        found = {one["task"]: one for one in bag.results()}
        assert found[0]["parameters"] == {"n": 0.5}
        assert found[1]["values"] == {"n": 1}
        assert master.submit(str(tmp_path / "s.toml"), budget=0.1).wait()["budget"] == 10**8
        with pytest.raises(UsageError, match="a sweep file's name or a sweep, not 5"):
            master.submit(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Bag, SyncBag, Client, SyncClient], ids=lambda one: one.__name__)
def test_everything_public_says_what_it_is_for(kind: type) -> None:
    public = [
        name for name in vars(kind) if not name.startswith("_") and callable(vars(kind)[name])
    ]
    assert [name for name in public if not getattr(kind, name).__doc__] == []


async def test_the_same_with_asyncio(tmp_path: Path) -> None:
    user = User(tmp_path)
    (tmp_path / "in.txt").write_text("brought along")
    (tmp_path / "s.toml").write_text('command = "cat in.txt"\ninputs = ["in.txt"]\n')
    with user.master():
        async with connect(user.state / "access.json") as master:
            bag = await master.submit(sweep(tmp_path / "s.toml"), rule="fastest")
            found = [one["exit_code"] async for one in bag.results()]
            assert found == [0]
            assert await bag.log(0) == b"brought along"


def test_what_is_wrong_is_raised_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no access file"):
        connect(tmp_path / "access.json")
    with pytest.raises(UsageError, match=r"did you mean \{x\}"):
        sweep(command="echo {xx}", grid={"x": "1:5"})
    user = User(tmp_path)
    with user.master():
        pass
    with pytest.raises(UnreachableError, match="bats master"), connect(user.state / "access.json"):
        pass


def test_who_asks_when_the_master_has_gone_is_soon_told(tmp_path: Path) -> None:
    user = User(tmp_path)
    with ExitStack() as stack:
        with user.master():
            way = connect(user.state / "access.json", timeout_seconds=1.0)
            master = stack.enter_context(way)
            assert master.bags() == []
        time.sleep(0.2)  # nothing is asked while the connection breaks
        asked = time.monotonic()
        with pytest.raises(UnreachableError, match="has gone"):
            master.bags()
        assert time.monotonic() - asked < 20


def test_mistakes_of_a_program_are_told_by_its_own_names(tmp_path: Path) -> None:
    user = User(tmp_path)
    for keys, said in (
        ({"grid": {"x": []}}, "`grid.x`: the list is empty"),
        ({"timeout": "q"}, "`timeout`: 'q' is not a duration"),
    ):
        with pytest.raises(UsageError, match=f"^{said}"):
            sweep(command="echo 1", **keys)
    work = sweep(command="echo {x}", grid={"x": "1:2"})
    with user.master(), connect(user.state / "access.json") as master:
        for limit in ("budget", "deadline"):
            with pytest.raises(UsageError, match=f"^`{limit}` should be a number, 0 or more, not "):
                master.submit(work, **{limit: -1})
        with pytest.raises(UsageError, match="no key of a submission; did you mean `budget`"):
            master.submit(work, bugdet=1)
        bag = master.submit(work, rule="fastest")
        assert repr(bag) == "<bag 1>"  # those that were refused took no number
        assert repr(master).startswith("<master at tcp://127.0.0.1:")
        bag.wait()


@pytest.mark.filterwarnings("error")
def test_who_asks_after_the_connection_was_closed_is_told_so(tmp_path: Path) -> None:
    user = User(tmp_path)
    with user.master(), connect(user.state / "access.json") as master:
        pass
    with pytest.raises(UnreachableError, match="connection to the master is closed"):
        master.bags()


def test_a_frame_without_pandas_says_what_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    user = User(tmp_path)
    with user.master(), connect(user.state / "access.json") as master:
        bag = master.submit(sweep(command="echo {x}", grid={"x": "1:2"}), rule="fastest")
        with pytest.raises(UsageError, match=r"needs pandas .* `rows\(\)` has the same"):
            bag.frame()

"""Control groups end whatever a task left behind, and hold attempts to their limits."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bats.common import messages as m
from bats.worker import control_groups
from bats.worker.control_groups import Group, Groups, made_in, own_group

MOUNTED = """\
24 1 0:22 / /proc rw - proc proc rw
30 1 0:25 / /sys/fs/cgroup/my\\040groups rw,nosuid - cgroup2 cgroup2 rw
"""
HYBRID = "9:name=systemd:/a\n4:memory:/b/c\n0::/user.slice/session-3.scope\n"


def test_its_own_group_is_the_one_that_the_kernel_names_where_groups_are_mounted() -> None:
    assert own_group(HYBRID, MOUNTED) == Path("/sys/fs/cgroup/my groups/user.slice/session-3.scope")


def test_in_a_container_its_own_group_is_seen_from_what_is_mounted() -> None:
    inside = MOUNTED.replace(" / /sys", " /docker/7f /sys")
    assert own_group("0::/docker/7f/x\n", inside) == Path("/sys/fs/cgroup/my groups/x")
    assert own_group("0::/other\n", inside) is None


@pytest.mark.parametrize("cgroup", ["4:memory:/\n", ""])
def test_with_groups_of_version_1_only_there_are_none_for_us(cgroup: str) -> None:
    assert own_group(cgroup, MOUNTED) is None
    assert own_group("0::/\n", MOUNTED.splitlines()[0]) is None


def test_where_it_may_make_no_group_or_the_kernel_cannot_end_one_there_are_none(
    tmp_path: Path,
) -> None:
    assert made_in(tmp_path / "missing") is None
    assert made_in(tmp_path) is None  # no cgroup.kill appears in a folder of another kind
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def groups() -> Iterator[Groups]:
    """Real ones: root of a machine with control groups has them."""
    own = control_groups.made()
    if own is None:
        pytest.skip("no control groups can be made here")
    yield own
    own.kill()
    own.remove()


def test_what_a_process_starts_is_in_its_group_and_ends_with_it(groups: Groups) -> None:
    slot = slot_of(groups)
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep .2; setsid sleep 300 & wait"], os.environ)
    slot.take(pid)
    assert slot.lives()
    time.sleep(0.4)
    assert len((slot.path / "cgroup.procs").read_text().split()) == 2
    slot.kill()
    os.waitpid(pid, 0)
    _becomes(lambda: not slot.lives())


def test_nothing_stays_when_groups_are_removed(groups: Groups) -> None:
    slot = slot_of(groups)
    pid = os.posix_spawn("/bin/sleep", ["sleep", "300"], os.environ)
    slot.take(pid)
    groups.kill()
    os.waitpid(pid, 0)
    groups.remove()
    assert not slot.path.parent.exists()


@pytest.mark.parametrize("error", ["OSError", "KeyboardInterrupt"])
def test_nothing_stays_when_the_ticket_cannot_be_read(error: str, groups: Groups) -> None:
    story = (
        "import os\nfrom pathlib import Path\nfrom bats.worker.control_groups import own_group\n"
        "from bats.worker.guardian import guard\n"
        "told = Path('/proc/self/cgroup').read_text(), Path('/proc/self/mountinfo').read_text()\n"
        "made = own_group(*told) / f'bats-{os.getpid()}'\n"
        "def ticket():\n    print(made.exists())\n"
        f"    raise {error}\n"
        f"try:\n    guard(lambda *_: 0, ticket)\nexcept {error}:\n    print(made.exists())\n"
    )
    words = [sys.executable, "-c", story]
    told = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    assert told.stdout.split() == ["True", "False"]


def test_what_a_task_leaves_in_a_session_of_its_own_ends_with_the_attempt(
    master: Any, worker: Any, tmp_path: Path, groups: Groups
) -> None:
    note = tmp_path / "pid"
    leaves = f"setsid sh -c 'echo $$ > {note}.new; mv {note}.new {note}; exec sleep 300' & "
    (result,) = master.run(f"{leaves} while [ ! -e {note} ]; do sleep .01; done; echo left")
    assert (result.outcome, result.excerpt) == (m.Outcome.DONE, "left")
    _becomes(lambda: not _lives(int(note.read_text())))
    assert master.run("echo next")[0].excerpt == "next"


def test_a_task_that_became_another_users_is_ended_by_a_worker_that_may_not_kill_it(
    master: Any, start: Any, groups: Groups
) -> None:
    start(("setpriv", "--bounding-set", "-kill"))
    master.welcome()
    another = "exec setpriv --reuid=65534 --clear-groups sleep 300"
    (result,) = master.run(another, timeout_seconds=0.5, grace_seconds=0.1)
    assert (result.outcome, result.exit_code) == (m.Outcome.TIMED_OUT, -signal.SIGKILL)


def test_killing_guardians_and_daemon_at_once_leaves_nothing_wherever_it_went(
    master: Any, start: Any, tmp_path: Path, groups: Groups
) -> None:
    daemon = start()
    hello = master.welcome()
    note = tmp_path / "pids"
    master.order(f"setsid setsid sh -c 'echo $$ >> {note}; sleep 300' & sleep 300")
    _becomes(lambda: note.exists() and bool(note.read_text()))
    runaway = int(note.read_text())
    for pid in (daemon.process.pid, _parent(hello.pid), hello.pid):
        os.kill(pid, signal.SIGKILL)
    _becomes(lambda: not _lives(runaway))
    made = slot_of(groups).path.parent.with_name(f"bats-{daemon.process.pid}")
    _becomes(lambda: not made.exists())


def test_a_worker_that_ends_leaves_no_group(master: Any, start: Any, groups: Groups) -> None:
    daemon = start()
    master.welcome()
    made = slot_of(groups).path.parent.with_name(f"bats-{daemon.process.pid}")
    assert made.exists()
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.ends()[0] == 0
    assert not made.exists()


def test_groups_of_workers_that_are_no_more_are_removed_once_nothing_lives_in_them(
    groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = slot_of(groups).path.parent.parent
    empty, living, young = (own / f"bats-{10**9 + number}" for number in range(3))
    lived_in = Group(living)
    (empty / "0").mkdir(parents=True)
    pid = os.posix_spawn("/bin/sleep", ["sleep", "300"], os.environ)
    try:
        lived_in.take(pid)
        monkeypatch.setattr(control_groups, "_ABANDONED_SECONDS", -1.0)
        control_groups.remove_abandoned(own)
        monkeypatch.undo()
        young.mkdir()
        control_groups.remove_abandoned(own)
        assert [path.exists() for path in (empty, living, young)] == [False, True, True]
        assert slot_of(groups).path.exists(), "whose worker lives is left alone"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        lived_in.close()
        living.rmdir()
        young.rmdir()


def slot_of(groups: Groups) -> Group:
    slot = groups.of_slot(0)
    assert slot is not None
    return slot


def _becomes(true: Callable[[], bool], within_seconds: float = 5.0) -> None:
    deadline = time.monotonic() + within_seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

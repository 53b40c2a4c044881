"""Attempts begin in the daemon's control group; what each leaves there is told from the others'."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bats.worker import control_groups, lobby
from bats.worker.control_groups import Groups
from bats.worker.lobby import Lobby
from bats.worker.process_tree import adopt_orphans
from bats.worker.tasks.slot import Slot


@pytest.fixture
def inside(tmp_path: Path) -> Callable[[str], str]:
    """Runs a story in a daemon of its own, which the test's process cannot be for it has moved."""
    if (groups := control_groups.made()) is None:
        pytest.skip("no control groups can be made here")
    groups.remove()

    def run(story: str) -> str:
        words = [sys.executable, __file__, story, tmp_path]
        told = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        assert told.returncode == 0, told.stderr
        return told.stdout

    return run


def test_what_ends_soon_is_never_moved(inside: Callable[[str], str]) -> None:
    assert inside("ends_soon") == "in group: [] left: False\n"


def test_what_an_attempt_leaves_is_its_own_while_another_that_left_the_like_runs_on(
    inside: Callable[[str], str],
) -> None:
    assert inside("leaves_alike") == "left: True; first: ['left']; second: ['leads', 'left']\n"


def test_what_forgot_whose_it_is_goes_with_another_attempt_of_that_moment(
    inside: Callable[[str], str],
) -> None:
    assert inside("forgets") == "left: False; first: []; second: ['leads', 'left']\n"


def test_what_forgot_whose_it_is_is_the_only_attempts(inside: Callable[[str], str]) -> None:
    assert inside("forgets_alone") == "left: True; first: ['left']\n"


def test_an_attempt_is_moved_with_all_that_it_has_started(inside: Callable[[str], str]) -> None:
    assert inside("settles") == "first: ['leads', 'left', 'starts'] lobby: only the daemon\n"


def test_a_look_moves_what_is_no_longer_young(inside: Callable[[str], str]) -> None:
    assert inside("is_young") == "young: [] old: ['leads']\n"


def test_more_attempts_than_a_look_is_worth_are_moved(inside: Callable[[str], str]) -> None:
    assert inside("many") == "in the lobby: 7\n"


class Story:
    """A daemon with two slots in a group of its own."""

    def __init__(self, folder: Path) -> None:
        made = control_groups.made()
        assert made is not None
        adopt_orphans()
        made.enter()
        self.groups: Groups = made
        self.lobby = Lobby(made.daemons)
        self.folder = folder
        null, news = os.open(os.devnull, os.O_RDONLY), os.pipe()[0]
        self.own = [group for group in map(made.of_slot, range(2)) if group]
        self.slots = [Slot(folder, n, null, news, self.own[n]) for n in range(2)]

    def start(self, slot: int, line: str) -> int:
        """Start an attempt that ends once `end SLOT` is written to."""
        end = self.folder / f"end {slot}"
        if not end.exists():
            os.mkfifo(end)
        env = {**os.environ, "BATS_SCRATCH": self.slots[slot].scratch}
        words = ["leads", "-c", f"{line}; read _ < '{end}'"]
        pid = os.posix_spawn("/bin/bash", words, env, setsid=True)
        self.lobby.enter(pid, self.own[slot], self.slots[slot].scratch_bytes)
        return pid

    def leave(self, slot: int, *, forgets: bool = False) -> str:
        """A line that leaves a process in a session of its own, once it is there."""
        note, clear = self.folder / f"left {slot}", "env -i" if forgets else ""
        inner = f": > '{note}'; exec -a left sleep 300"
        inner = f'{clear} bash -c "{inner}"' if forgets else f'bash -c "{inner}"'
        return f"(setsid {inner} &) ; while [ ! -e '{note}' ]; do :; done"

    def until(self, *names: str) -> None:
        while not all((self.folder / name).exists() for name in names):
            time.sleep(0.01)
        time.sleep(0.1)  # for its exec

    def end(self, slot: int, pid: int) -> bool:
        """End the attempt; true if something of it lives on."""
        (self.folder / f"end {slot}").write_text("\n")
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        lives_on = self.lobby.lives_on(pid, self.own[slot])
        os.waitpid(pid, 0)
        return lives_on

    def close(self) -> None:
        self.lobby.settle()
        for group in self.own:
            group.kill()
        (self.own[0].path.parent.parent / "cgroup.procs").write_text("0")
        self.groups.remove()

    def inside(self, slot: int) -> list[str]:
        pids = Path(self.own[slot].procs).read_text().split()
        return sorted(Path(f"/proc/{p}/cmdline").read_text().split("\0")[0] for p in pids)


def ends_soon(story: Story) -> None:
    pid = story.start(0, ":")
    inside = story.inside(0)
    print(f"in group: {inside} left: {story.end(0, pid)}")


def leaves_alike(story: Story) -> None:
    first = story.start(0, story.leave(0))
    story.start(1, story.leave(1))
    story.until("left 0", "left 1")
    left = story.end(0, first)
    print(f"left: {left}; first: {story.inside(0)}; second: {story.inside(1)}")


def forgets(story: Story) -> None:
    first = story.start(0, story.leave(0, forgets=True))
    story.start(1, ":")
    story.until("left 0")
    left = story.end(0, first)
    print(f"left: {left}; first: {story.inside(0)}; second: {story.inside(1)}")


def forgets_alone(story: Story) -> None:
    first = story.start(0, story.leave(0, forgets=True))
    story.until("left 0")
    print(f"left: {story.end(0, first)}; first: {story.inside(0)}")


def settles(story: Story) -> None:
    story.start(0, f"bash -c 'exec -a starts sleep 300' & {story.leave(0)}")
    story.until("left 0")
    story.lobby.settle()
    here = os.pread(story.groups.daemons, 4096, 0)
    alone = "only the daemon" if here == b"%d\n" % os.getpid() else here
    print(f"first: {story.inside(0)} lobby: {alone}")


def is_young(story: Story) -> None:
    story.start(0, ":")
    found = []
    for lobby.YOUNG_SECONDS in (60.0, 0.0):  # type: ignore[misc]
        story.lobby.look()
        found.append(story.inside(0))
    print(f"young: {found[0]} old: {found[1]}")


def many(story: Story) -> None:
    for _ in range(40):
        story.start(0, ":")
    print(f"in the lobby: {len(os.pread(story.groups.daemons, 4096, 0).split()) - 1}")


if __name__ == "__main__":
    told = Story(Path(sys.argv[2]))
    try:
        globals()[sys.argv[1]](told)
    finally:
        told.close()

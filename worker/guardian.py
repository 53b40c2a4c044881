"""The processes above the daemon: nothing of a worker outlives the worker, or its lease.

The daemon runs as a child of a guardian. Whatever the daemon started is a descendant of that and
stays one, for it adopts orphans (it is a "subreaper"): not even a task that left its group or
session gets away. When the daemon ends, however it ends, all descendants are killed, as far as they
can be, and the machine's power-off hook is run. A daemon that is frozen or hangs is ended with its
lease, of which it tells over a pipe. The daemon, in turn, ends everything at the other end of that
pipe closing.

There are two guardians, one above the other: whichever two of the three processes are killed at
once, the third ends everything. Where there are control groups, the daemon and its tasks are ended
as a group, also what is another user's, and also when all three are killed.
"""

import contextlib
import math
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from bats.common.ticket import LEASE_ENDED, Ticket
from bats.worker import control_groups
from bats.worker.control_groups import Groups
from bats.worker.process_tree import (
    UNKILLABLE_SECONDS,
    adopt_orphans,
    bury_orphans,
    end_descendants,
    let_nobody_look,
    send,
)

_LEASE: Final = struct.Struct("d")
_LOOK_SECONDS: Final = 1.0  # at the lease's end
_LATE_SECONDS: Final = 0.5  # what a daemon gets to end itself after its lease
_ABOVE_SECONDS: Final = 1.0  # and its guardian, to see to that, before the one above does
_ORDERLY_SECONDS: Final = 3.5  # for a daemon whose guardian was killed to end in order
_POWER_OFF_SECONDS: Final = 60.0
_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Lifeline:
    """The daemon's end."""

    def __init__(
        self,
        first: int,
        guardians: tuple[int, ...],
        leases: tuple[int, ...],
        watchdogs: int | None = None,
        groups: Groups | None = None,
    ) -> None:
        self.first = first  # the machine's first process
        self.guardians = guardians  # each is readable when that guardian is no more
        self._leases = leases
        self._watchdogs = watchdogs
        self.groups = groups

    def lease_ends(self, at: float) -> None:
        """The end of the lease on the boot clock."""
        for lease in self._leases:
            with contextlib.suppress(BrokenPipeError):
                os.write(lease, _LEASE.pack(at))
        if self._watchdogs is not None:
            with contextlib.suppress(OSError):
                os.write(self._watchdogs, b"%d\n" % math.ceil(at))

    def below(self, lives: int, lease: int) -> "Lifeline":
        """The end of who has one guardian more."""
        guardians, leases = (*self.guardians, lives), (*self._leases, lease)
        return Lifeline(self.first, guardians, leases, self._watchdogs, self.groups)


def guard(
    daemon: Callable[[Ticket, Lifeline], int],
    ticket: Callable[[], Ticket],
    watchdogs: int | None = None,
) -> int:
    """Run the daemon below two guardians; its exit code, once nothing of it lives any more.

    The ticket is read when the groups are made, for the kernel takes a while over them, and the
    ticket may still be on its way. What reading it raises is raised here.

    `watchdogs` is the end of a pipe, for the end of the lease, to who watches from outside. Tasks
    must not write to it, though they may run as the same user.
    """
    late = _LATE_SECONDS + _ABOVE_SECONDS
    if watchdogs is not None:
        os.set_inheritable(watchdogs, False)
        os.set_blocking(watchdogs, False)
        let_nobody_look()
    if groups := control_groups.made():
        groups.keep()
    try:
        given = ticket()
    except BaseException:
        end_descendants(UNKILLABLE_SECONDS)
        if groups:
            groups.remove()
        raise
    code = watch_over(
        lambda lifeline: watch_over(partial(daemon, given), lifeline, _LATE_SECONDS),
        Lifeline(os.getpid(), (), (), watchdogs, groups),
        late,
    )
    if groups:
        groups.remove()
    if given.power_off:
        _power_off(given.power_off)
    return code


def watch_over(daemon: Callable[[Lifeline], int], lifeline: Lifeline, late_seconds: float) -> int:
    """Run the daemon below one guardian, that becomes this process."""
    adopt_orphans()
    lives_read, lives_write = os.pipe()
    lease_read, lease_write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(lives_write)
        os.close(lease_read)
        _run(daemon, lifeline.below(lives_read, lease_write))
    os.close(lives_read)
    os.close(lease_write)
    for number in _FORWARDED:
        signal.signal(number, lambda received, _: send(child, received))
    code = _watch(child, lease_read, late_seconds)
    if lifeline.groups:
        lifeline.groups.kill()
    if left := end_descendants(UNKILLABLE_SECONDS):
        _say(f"these processes could not be killed and live on: {', '.join(map(str, left))}")
    return code


def _run(daemon: Callable[[Lifeline], int], lifeline: Lifeline) -> None:
    """Run the daemon in the child, which never returns into the caller's code."""
    code = 70
    try:
        os.setpgid(0, 0)  # Ctrl-C goes to the guardian, which forwards it once
        code = daemon(lifeline)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _watch(child: int, lease: int, late_seconds: float) -> int:
    """Watch until the child has ended; it is killed when it lives on after its lease."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(lease, select.POLLIN)
    ends, given_up = math.inf, math.inf
    while True:
        left = min(ends + late_seconds, given_up) - _boot_clock()
        ready = [file for file, _ in poll.poll(max(0.0, min(left, _LOOK_SECONDS)) * 1000)]
        if wake in ready:
            os.read(wake, 1 << 12)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if given_up < math.inf:
                return LEASE_ENDED
            _wait_for_others(lease)
            return _exit_code(status)
        if lease in ready:
            if told := os.read(lease, 1 << 16):
                (ends,) = _LEASE.unpack(told[-_LEASE.size :])
            else:
                poll.unregister(lease)
        if _boot_clock() >= given_up:
            return LEASE_ENDED
        if _boot_clock() >= ends + late_seconds:
            _say("the daemon outlived its lease; killed")
            send(child, signal.SIGKILL)
            ends, given_up = math.inf, _boot_clock() + UNKILLABLE_SECONDS
        bury_orphans({child})


def _wait_for_others(lease: int) -> None:
    """A guardian may have been killed from above its daemon, which then ends by itself."""
    deadline = time.monotonic() + _ORDERLY_SECONDS
    poll = select.poll()
    poll.register(lease, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0 and poll.poll(left * 1000):
        if not os.read(lease, 1 << 16):
            return  # nobody holds the other end


def _boot_clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _say(what: str) -> None:
    with contextlib.suppress(OSError):  # a full disk must not keep anything from ending
        os.write(2, f"bats worker: {what}\n".encode())


def _power_off(command: str) -> None:
    """The hook that ends the bill; run last, and never waited for without end."""
    _say(f"powering off: {command}")
    hook = os.posix_spawn("/bin/sh", ["/bin/sh", "-c", command], os.environ)
    deadline = time.monotonic() + _POWER_OFF_SECONDS
    while time.monotonic() < deadline:
        if os.waitpid(hook, os.WNOHANG)[0]:
            return
        time.sleep(0.05)

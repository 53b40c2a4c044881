"""Starting one attempt: `posix_spawn` into a session of its own, to be signalled as a whole.

`posix_spawn` has no portable way to set the folder, so the daemon itself steps into the task's
folder and back: it has one thread that uses relative paths, so nobody is in its way, and this
costs two system calls instead of a second program per task.
"""

import errno
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bats.common.errors import UsageError
from bats.common.messages import AttemptId, BagSpec
from bats.common.template import Fill, compile_template
from bats.worker.tasks.environment import Environment, task_environment
from bats.worker.tasks.limits import Limits
from bats.worker.tasks.slot import Slot

# Python ignores the first two, a shell's background job the others; a task should find them as
# any program does.
_DEFAULT_SIGNALS: Final = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
)


class NotStartedError(Exception):
    """The attempt could not be started; the text is for the user."""


class Recipe:
    """The recipe for a bag's tasks: templates compiled and programs found, once."""

    def __init__(self, spec: BagSpec, base: Environment, speed: float, home: str) -> None:
        self.spec = spec
        self._home = home
        self._broken = ""
        self._found: dict[tuple[str, str], str | None] = {}
        try:
            self._environment = task_environment(spec, base, speed)
            self._argv: list[Fill] = [
                compile_template(word, spec.names, f"argv[{i}]") for i, word in enumerate(spec.argv)
            ]
            if spec.command:
                line = compile_template(spec.command, spec.names, "command", shell=True)
                self._argv = [lambda _: "/bin/sh", lambda _: "-c", line]
            self._cwd = compile_template(spec.cwd, spec.names, "cwd")
            self._stdin = compile_template(spec.stdin, spec.names, "stdin") if spec.stdin else None
        except UsageError as error:  # refused at submission already, unless releases differ
            self._broken = str(error)

    def start(
        self,
        attempt: AttemptId,
        values: Sequence[str],
        slot: Slot,
        limits: Limits | None = None,
        devices: Sequence[str] = (),
    ) -> int:
        """The process id, which is also that of its session and group."""
        before = limits.before if limits else ()
        if self._broken:
            raise NotStartedError(self._broken)
        env = self._environment(attempt, values, slot.scratch_bytes, devices)
        argv = [fill(values) for fill in self._argv]
        cwd = self.folder(values, slot.scratch)
        actions = slot.actions
        if self._stdin is not None:
            try:
                actions = slot.with_stdin(self._stdin(values))
            except OSError as error:
                raise NotStartedError(
                    f"its standard input cannot be written: {error.strerror}"
                ) from None
        try:
            os.chdir(cwd)
        except OSError as error:
            raise NotStartedError(f"cannot run in the folder {cwd}: {error.strerror}") from None
        try:
            program = argv[0] if "/" in argv[0] else self._find(argv[0], env.get(b"PATH", b""))
            if before:
                _must_run(program)
            pid = os.posix_spawn(
                before[0] if before else program,
                [*before, program, *argv[1:]] if before else argv,
                env,
                file_actions=actions,
                setsid=True,
                setsigdef=_DEFAULT_SIGNALS,
            )
        except (OSError, ValueError) as error:
            raise NotStartedError(_why(error, argv, cwd)) from None
        finally:
            os.chdir(self._home)
        slot.tether.hold(pid)
        if limits and limits.group:
            limits.group.take(pid)
        return pid

    def folder(self, values: Sequence[str], scratch: str) -> str:
        """The folder in which the attempt runs: `cwd`, seen from its scratch folder."""
        cwd = self._cwd(values)
        return os.path.join(scratch, cwd) if cwd else scratch  # noqa: PTH118

    def _find(self, program: str, path: bytes) -> str:
        key = program, os.fsdecode(path)
        if key not in self._found:
            self._found[key] = shutil.which(program, path=key[1])
        found = self._found[key]
        if found is None:
            del self._found[key]  # it may be installed later
            raise NotStartedError(f"there is no program `{program}` on the PATH of this machine")
        return found


def _must_run(program: str) -> None:
    if not os.access(program, os.X_OK):
        missing = errno.EACCES if Path(program).exists() else errno.ENOENT
        raise OSError(missing, os.strerror(missing))


def _why(error: OSError | ValueError, argv: list[str], cwd: str) -> str:
    if isinstance(error, ValueError):
        return f"cannot start {argv[0]}: {error}"
    if error.errno == errno.ENOENT:
        return f"there is no program {argv[0]} on this machine (looked for from {cwd})"
    if error.errno == errno.EACCES:
        return f"{argv[0]} is not executable on this machine (chmod +x?)"
    if error.errno == errno.ENOEXEC:
        return f"{argv[0]} is no program for this machine; does a script lack its `#!` line?"
    if error.errno == errno.E2BIG:
        size = sum(len(os.fsencode(word)) for word in argv)
        return f"the command line of {size} bytes is longer than this machine allows"
    return f"cannot start {argv[0]}: {error.strerror}"

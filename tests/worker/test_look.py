"""A worker shows what a running task has written so far, and nothing of what it does not run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bats.common import messages as m

ATTEMPT = m.AttemptId(m.BagId(1), m.TaskId(0), 1)
NOBODY = m.AttemptId(m.BagId(1), m.TaskId(5), 1)


def test_what_a_task_has_written_can_be_seen_while_it_runs(
    master: Any, start: Callable[..., Any], tmp_path: Path
) -> None:
    start()
    master.welcome(heartbeat_seconds=0.1)
    gate = tmp_path / "gate"
    master.order(f"echo one two; echo three >&2; until [ -e {gate} ]; do sleep 0.01; done")
    master.hear(m.Heartbeat, lambda beat: bool(beat.running))

    def seen(of: m.AttemptId, stream: str, offset: int) -> bytes:
        master.say(m.Look(of, stream, offset))
        answer = master.hear(m.Glimpse)
        assert (answer.of, answer.stream, answer.offset) == (of, stream, offset)
        assert answer.total >= len(answer.data)
        return bytes(answer.data)

    for stream, words in (("out", b"one two\n"), ("err", b"three\n")):
        while seen(ATTEMPT, stream, 0) != words:
            pass
    assert seen(ATTEMPT, "out", 4) == b"two\n"
    assert seen(ATTEMPT, "out", 99) == b""
    assert seen(NOBODY, "out", 0) == b""
    gate.touch()
    master.results(1)
    assert seen(ATTEMPT, "out", 0) == b"", "its slot may belong to another task by now"

"""Receiving one file's content in pieces, at either end of the link: what to ask for next.

The receiver drives: each `WantBlob(sha256, offset)` is answered by one `BlobChunk` from there on,
of at most `CHUNK_BYTES`, and a few questions are under way at a time. The holder answers in order.
A holder that does not have the content says `BlobStored(sha256, 0)`. When all is held and its hash
agrees, the receiver says `BlobStored(sha256, total)`. After a new connection it asks again from
what it holds.
"""

from typing import Final

from bats.common.wire.codec import CHUNK_BYTES

UNDER_WAY: Final = 4  # 1 MiB on its way fills a fast link and bounds what a slow one queues
_ASK_AGAIN_SECONDS: Final = 30.0


class Download:
    """`held` bytes are there; `ask` says which offsets to want, `took` that a piece was added."""

    def __init__(self, total: int, held: int = 0) -> None:
        self.total = total
        self.held = held
        self._asked = held  # offsets below that are asked for
        self._heard_at = 0.0

    @property
    def complete(self) -> bool:
        return self.held >= self.total

    def ask(self, now: float) -> list[int]:
        """The pieces to want now; none while enough is under way, all again if nothing comes."""
        if self._asked > self.held and now - self._heard_at >= _ASK_AGAIN_SECONDS:
            self._asked = self.held
        if self._asked == self.held:
            self._heard_at = now
        offsets = []
        while self._asked < self.total and self._asked - self.held < UNDER_WAY * CHUNK_BYTES:
            offsets.append(self._asked)
            self._asked += CHUNK_BYTES
        return offsets

    def took(self, held: int, now: float) -> None:
        self.held = held
        self._asked = max(self._asked, held)
        self._heard_at = now

    def again(self) -> None:
        """Forget what is under way: the connection is a new one."""
        self._asked = self.held

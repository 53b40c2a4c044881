"""All files that pass between master and machine: inputs coming, outputs going."""

import time
from collections.abc import Callable, Collection
from pathlib import Path

from bats.common.messages import BlobChunk, BlobStored, WantBlob
from bats.worker.files.inputs import Inputs
from bats.worker.files.library import Library
from bats.worker.files.outputs import Outputs

Said = WantBlob | BlobChunk | BlobStored


class Files:
    """`ready` is called with each kit whose inputs are all there, or cannot be had."""

    def __init__(
        self,
        folder: Path,
        say: Callable[[Said], None],
        ready: Callable[[int], None],
        awaited: Callable[[], Collection[str]],
    ) -> None:
        """`awaited` names the outputs of results that the master has not stored yet."""
        self.library = Library(folder / "inputs")
        self.inputs = Inputs(self.library, say, ready)
        self.outputs = Outputs(Library(folder / "outputs"))
        self._say = say
        self._awaited = awaited

    def hear(self, message: Said) -> None:
        match message:
            case BlobChunk():
                self.inputs.on_chunk(message, time.monotonic())
            case WantBlob():
                self._say(self.outputs.on_want(message))
            case BlobStored(sha256, 0):
                self.inputs.give_up(sha256, "the master does not have it")
            case BlobStored():
                self.outputs.on_stored(message)

    def look(self) -> None:
        """Ask again, now and then, for what does not come; forget what nobody wants."""
        self.inputs.ask(time.monotonic())
        self.outputs.clean(self._awaited)

    def again(self) -> None:
        """Ask again on a new connection."""
        self.inputs.again()
        self.look()

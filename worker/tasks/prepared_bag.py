"""A bag made ready on this machine: its tasks' recipe, and the place of their output."""

import os
from pathlib import Path

from bats.common.messages import AttemptId, BagSpec
from bats.common.outcomes import values as told
from bats.common.template import compile_template
from bats.worker.files.exchange import Files
from bats.worker.files.inputs import Layout
from bats.worker.files.outputs import STDERR, STDOUT, Collected
from bats.worker.tasks import capture
from bats.worker.tasks.limits import Limits
from bats.worker.tasks.shared_output import SharedOutput
from bats.worker.tasks.slot import Slot
from bats.worker.tasks.spawn import NotStartedError, Recipe


class Bag:
    def __init__(
        self, spec: BagSpec, recipe: Recipe, shared: SharedOutput | None, files: Files
    ) -> None:
        self.spec = spec
        self._recipe = recipe
        self._shared = shared if shared and shared.usable() else None
        self._files = files
        self._layout = Layout(spec.inputs, files.library) if spec.inputs else None
        self._values = compile_template(spec.env.get(told.FILE, ""), spec.names, "values")
        self._patterns = [compile_template(text, spec.names, "outputs") for text in spec.outputs]

    def start(
        self,
        attempt: AttemptId,
        values: tuple[str, ...],
        slot: Slot,
        limits: Limits | None,
        devices: tuple[str, ...],
    ) -> int:
        """Start the attempt; returns its process id. Raises NotStartedError."""
        if self._layout is not None:
            self._place(self._layout, slot)
        return self._recipe.start(attempt, values, slot, limits, devices)

    def withdraw(self, slot: Slot) -> None:
        """Take inputs out of the scratch folder again, unless they may be collected there."""
        if self._layout is not None and not self.collects:
            self._layout.withdraw(slot.scratch)

    def keep(self, attempt: AttemptId, slot: Slot, out_bytes: int, err_bytes: int) -> Collected:
        """Put its output where the user looks, or keep it to be fetched. Raises OSError."""
        kept: Collected = ()
        streams = (("out", slot.stdout, out_bytes, STDOUT), ("err", slot.stderr, err_bytes, STDERR))
        for end, file, size, name in streams:
            if not size:
                continue
            pieces = capture.kept(file, size, self.spec.output_cap_bytes)
            if self._shared:
                self._shared.put(attempt, end, pieces)
            else:
                kept += self._files.outputs.keep(name, pieces)
        return kept

    def tell(self, words: str, values: tuple[str, ...], scratch: str) -> str:
        """Its last words, and before them the values told in the file that the sweep names."""
        if not (name := self._values(values)):
            return words
        try:
            found = capture.text_of(os.path.join(self._recipe.folder(values, scratch), name))  # noqa: PTH118
            return f"{told.told_in(found)}\n{words}"
        except OSError as error:
            why = f"{name} cannot be read: {error.strerror}"
        except ValueError as error:
            why = f"{name} {error}"
        return f"{words} [bats: {why}]".lstrip()

    def take_unsynced(self) -> list[Path]:
        """Files put where the user looks, that are not known to be on the disk."""
        return self._shared.take_unsynced() if self._shared else []

    @property
    def collects(self) -> bool:
        return bool(self._patterns)

    def collect(self, values: tuple[str, ...], scratch: str, left: str | None) -> Collected:
        """The files named as outputs; `left` is where its scratch folder is now. Raises OSError."""
        folder = self._recipe.folder(values, scratch)
        moved = folder == scratch
        if moved:
            if left is None:
                return ()
            folder = left
        patterns = [fill(values) for fill in self._patterns]
        return self._files.outputs.collect(folder, patterns, move=moved)

    def _place(self, layout: Layout, slot: Slot) -> None:
        if layout.broken:
            raise NotStartedError(f"the input {layout.broken} would lie outside the task's folder")
        try:
            missing = layout.place(slot.scratch)
        except OSError as error:
            raise NotStartedError(f"inputs cannot be put in place: {error.strerror}") from None
        if missing is not None:
            raise NotStartedError(
                f"the input {missing} is not on this machine: it could not be fetched,"
                " or a task changed it in place (work on a copy)"
            )

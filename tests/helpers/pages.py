"""The blocks of our pages: what a reader would type or copy, and where it stands."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?<=\n\n)((?:    \S.*\n(?:    .*\n|\n(?=    ))*)+)")


@dataclass(frozen=True)
class Block:
    page: str
    kind: str  # of the fence; "" if the block is indented: commands
    text: str

    def commands(self) -> Iterator[str]:
        """Each command, remarks left out; what ends in a backslash goes on in the next line."""
        if self.kind in ("", "sh"):
            for line in self.text.replace("\\\n", " ").splitlines():
                if command := re.sub(r"(^|\s+)# .*$", "", line).strip():
                    yield command


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return sorted(listed)


def blocks(page: str) -> list[Block]:
    """In the order in which a reader meets them."""
    text = (ROOT / page).read_text()
    found = []
    for fence in _FENCE.finditer(text):
        indent = fence[1]
        body = "".join(line.removeprefix(indent) for line in fence[3].splitlines(keepends=True))
        found.append((fence.start(), Block(page, fence[2] or "sh", body)))
    blanked = _FENCE.sub(lambda fence: re.sub(r"[^\n]", "x", fence[0]), text)
    for block in _INDENTED.finditer(blanked):
        body = re.sub(r"^    ", "", block[0], flags=re.MULTILINE)
        if not re.match(r"[-*\d]", body):
            found.append((block.start(), Block(page, "", body)))
    return [block for _, block in sorted(found, key=lambda one: one[0])]

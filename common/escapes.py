"""Escapes: text that tasks, files and providers wrote, as a terminal may be shown it.

What would move the cursor, change colours, write into the clipboard or turn the reading direction
is written out, so that it is seen and not obeyed.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_STEERS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"  # controls; a line's end and a tabulator are none here
    "|\r(?!\n)"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # turn the reading direction
    "|[\ud800-\udfff]"  # half characters, which no terminal can be sent
)


def harmless(text: str) -> str:
    r"""The text with what would steer a terminal written out: `\x1b`, `\u202e`."""
    return text if text.isprintable() else _STEERS.sub(_written_out, text)


def harmless_in_json(text: str) -> str:
    """The same in a text that is JSON, which stays so and means the same."""
    return text if text.isprintable() else _STEERS.sub(lambda one: f"\\u{ord(one[0]):04x}", text)


def harmless_facts(value: Any) -> Any:
    """Plain data with all its texts harmless."""
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, Mapping):
        return {name: harmless_facts(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [harmless_facts(part) for part in value]
    return value


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"

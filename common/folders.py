"""Folders of a user that must survive a restart; a module apart, so that asking is quick."""

import os
from collections.abc import Mapping
from pathlib import Path


def default_state(environment: Mapping[str, str] = os.environ) -> Path:
    """`$BATS_STATE`, else where programs of this user keep their state."""
    if named := environment.get("BATS_STATE"):
        return Path(named)
    base = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "bats"

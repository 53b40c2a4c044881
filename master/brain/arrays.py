"""Numpy, as `np`, loaded when something is first asked of it.

That takes as long as all of the scheduler, and a master hands out its first tasks before it needs
any. Types of numpy are for the type checker alone (`from __future__ import annotations`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Stands for the module; what was asked for once is kept."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("numpy"), name)
            setattr(self, name, found)
            return found

    np = _Numpy()

__all__ = ["np"]

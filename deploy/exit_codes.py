"""Exit codes of workers, and what they say of the machine's end."""

import signal
from typing import Final

from bats.common.ticket import LEASE_ENDED, UNRENEWED
from bats.deploy.protocol import Gone

SIGNALS: Final = {number.value for number in signal.Signals}


def verdict(code: int) -> tuple[Gone, str]:
    """The meaning of an exit code as a shell gives it: 128 and more for a signal."""
    if code == 0:
        return Gone.STOPPED, ""
    if code == LEASE_ENDED:
        return Gone.EXPIRED, UNRENEWED
    if code - 128 in SIGNALS:
        return Gone.FAILED, f"the worker was ended by {signal.Signals(code - 128).name}"
    return Gone.FAILED, f"the worker ended with exit code {code}"

"""Logging: lines for people on a terminal, JSON for machines; always on stderr."""

import contextlib
import logging
import os
import sys
from types import ModuleType
from typing import Final, Literal, TextIO, cast

from bats.common.escapes import harmless

# structlog loads rich where it is there, for tracebacks in colours, which we do not print: 45 ms
# of each start, and 5 MB in each of many workers. Whoever starts a program imports this module
# before any other that logs.
if without_rich := "rich" not in sys.modules:
    sys.modules["rich"] = cast("ModuleType", None)
import structlog

if without_rich:
    del sys.modules["rich"]

Style = Literal["console", "json"]
LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}

# Without the variables of each function, as structlog has it by itself: keys are among them.
_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


class _Unfailing:
    """A full disk or a closed pipe must not harm who only wanted to say something."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        try:
            self._file = stream.fileno()
        except (OSError, ValueError):
            self._file = -1  # not a file, as in tests

    def write(self, text: str) -> None:
        if self._file < 0:
            self._stream.write(text)
            return
        with contextlib.suppress(OSError):
            os.write(self._file, text.encode(errors="replace"))

    def flush(self) -> None:
        """Do nothing: no line waits, so none is lost at the program's end either."""


def _harmless(
    logger: object, method: str, said: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Peers, tasks and providers are quoted in lines, which a terminal must not obey."""
    del logger, method
    return {name: harmless(one) if isinstance(one, str) else one for name, one in said.items()}


def set_up_logging(style: Style = "console", level: str = "info", **always: object) -> None:
    """Set logging up, once a program. `always` is bound to every line, e.g. `part="worker"`."""
    last: structlog.typing.Processor
    if style == "json":
        last = structlog.processors.JSONRenderer(default=str)
    else:
        colours = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        last = structlog.dev.ConsoleRenderer(
            colors=colours, exception_formatter=structlog.dev.plain_traceback, pad_event_to=0
        )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time")
            if style == "json"
            else structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False, key="timestamp"),
            _TRACEBACKS if style == "json" else _harmless,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Unfailing(sys.stderr))),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(**always)

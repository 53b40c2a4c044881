"""Logging: lines for people on a terminal, JSON for machines; always on stderr."""

import logging
import os
import sys
from typing import Final, Literal

import structlog

Style = Literal["console", "json"]
LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


def set_up_logging(style: Style = "console", level: str = "info", **always: object) -> None:
    """Called once by each program. `always` is bound to every line, e.g. `part="worker"`."""
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
            *([structlog.processors.dict_tracebacks] if style == "json" else []),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(**always)

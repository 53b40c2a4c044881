"""Rights of clients: what the key of a named user may ask for. The master's own key may do all."""

from typing import Final

from bats.common.errors import UsageError

OF_USERS: Final = frozenset(
    {
        "bags",
        "caps",
        "placement",
        "pools",
        # of bags of their own, which `Question.bag` holds them to
        "status",
        "wait",
        "schedules",
        "frontier",
        "explain",
        "decisions",
        "failures",
        "machines",
        "elasticity",
        "tasks",
        "task",
        "results",
        "log",
        "export",
        "submit",
        "release",
        "choose",
        "allow",
        "drop",
        "add",
        "close",
        "retry",
        "pause",
        "resume",
        "weigh",
        "cancel",
        "prune",
    }
)
"""Verbs that a named user may ask for; all others are for who has the master's own key."""


def check(user: str, verb: str) -> None:
    """Raises UsageError for what this user may not ask for; "" is the master's own key."""
    if user and verb not in OF_USERS:
        raise UsageError(
            f"`{verb}` is for the master's own access file; the key of {user} may look after "
            f"{user}'s bags."
        )

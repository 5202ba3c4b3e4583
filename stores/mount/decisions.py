"""What one path needs, from what was in step last, what is in the folder and what the server holds. Pure.

Source: stores contract, section 9.4.
"""

from enum import StrEnum


class Action(StrEnum):
    SETTLED = "settled"  # both sides are equal: that is the new baseline
    PULL = "pull"  # only the server changed
    PULL_OVER_EDIT = "pull_over_edit"  # both changed: the server wins
    PULL_OVER_DELETE = "pull_over_delete"  # deleted here, changed there: the server wins
    UPDATE = "update"  # only the file changed
    CREATE = "create"  # the file is the only copy
    DELETE = "delete"  # deleted here: to be confirmed
    REMOVE = "remove"  # deleted there, untouched here
    WAIT = "wait"  # a change in a folder that never sends: kept until the server changes
    KEEP = "keep"  # the only copy, in a folder that never sends
    FORGET = "forget"  # neither side has it


def decide(*, baseline: str | None, local: str | None, remote: str | None, writable: bool) -> Action:
    """Each is a digest, or None when the path holds no file."""
    if remote is None:
        return _decide_absent(baseline, local, writable=writable)
    if local == remote:
        return Action.SETTLED
    if remote == baseline:
        sends = Action.UPDATE if local is not None else Action.DELETE
        return sends if writable else Action.WAIT
    if local is None:
        return Action.PULL if baseline is None else Action.PULL_OVER_DELETE
    return Action.PULL if local == baseline else Action.PULL_OVER_EDIT


def _decide_absent(baseline: str | None, local: str | None, *, writable: bool) -> Action:
    if local is None:
        return Action.FORGET
    if local == baseline:
        return Action.REMOVE
    return Action.CREATE if writable else Action.KEEP

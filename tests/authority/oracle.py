"""What advance and adopt must answer, said once more and in another way: over plain sets of digests.

It knows nothing of the code that it judges: a state is `{key: digest}`, a head is its index in the history.
"""

from dataclasses import dataclass, field

type State = dict[str, str]
type Entries = list[tuple[str, str | None]]


@dataclass(frozen=True)
class Outcome:
    """`word`: a status, or the name of an error. `pin`: where it is after. `written`: whether a commit was made."""

    word: str
    pin: int
    entries: Entries = field(default_factory=list)
    actual: int | None = None
    written: bool = False


@dataclass(frozen=True)
class Asked:
    """`expected` None: a head that never was. `before`, `after`: what somebody else writes around the commit."""

    nominated: State
    expected: int | None
    claims: State
    before: State | None = None
    after: State | None = None
    lost: bool = False
    source_is_exact: bool = True
    route_is_known: bool = True


def differences(nominated: State, state: State) -> Entries:
    return [(key, state.get(key)) for key in sorted(nominated) if state.get(key) != nominated[key]]


def unauthorised(asked: Asked, reviewed: State, shown: State) -> Entries:
    entries: Entries = []
    for key in sorted(asked.nominated):
        old, new, claim = reviewed.get(key), asked.nominated[key], asked.claims.get(key)
        allowed = {None, old} if old == new else {old}  # an absent record is claimed by nothing at all
        if claim not in allowed:
            entries.append((key, shown.get(key)))
    return entries


def advance(states: list[State], pin: int, expected: int | None, following: int | None) -> Outcome:
    if expected != pin:
        return Outcome("ConflictError", pin)
    if following == pin:
        return Outcome("unchanged", pin)
    if following is None or following < pin:
        return Outcome("ConflictError", pin)
    return Outcome("advanced", following)


def adopt(states: list[State], pin: int, asked: Asked) -> Outcome:
    if not asked.route_is_known:
        return Outcome("ProfileError", pin)
    if not asked.source_is_exact:
        return Outcome("ReexportError", pin)
    now = len(states) - 1
    found = differences(asked.nominated, states[now])
    if found and (now != pin or asked.expected != pin):
        return Outcome("AdoptionConflictError", pin, found, now)
    if not found:
        return _all_there(states, pin, asked)
    refused = unauthorised(asked, states[now], states[now])
    if refused:
        return Outcome("AdoptionConflictError", pin, refused, now)
    return _written(states, pin, asked)


def _all_there(states: list[State], pin: int, asked: Asked) -> Outcome:
    now = len(states) - 1
    if asked.claims:
        if asked.expected is None:
            return Outcome("ConflictError", pin)
        refused = unauthorised(asked, states[asked.expected], states[now])
        if refused:
            return Outcome("AdoptionConflictError", pin, refused, now)
    return Outcome("already-present", now)


def _written(states: list[State], pin: int, asked: Asked) -> Outcome:
    now = len(states) - 1
    if asked.before is not None:
        there = {**states[now], **asked.before}
        found = differences(asked.nominated, there)
        if found:
            return Outcome("AdoptionConflictError", pin, found, now + 1)
        return Outcome("already-present", now + 1)
    if asked.lost:
        return Outcome("LostReply", pin, written=True)
    there = {**states[now], **asked.nominated}
    if asked.after is None:
        return Outcome("adopted", now + 1, written=True)
    found = differences(asked.nominated, {**there, **asked.after})
    if found:
        return Outcome("AdoptionConflictError", pin, found, now + 2, written=True)
    return Outcome("already-present", now + 2, written=True)

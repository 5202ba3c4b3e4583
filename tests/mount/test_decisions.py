"""The whole table of decisions: every combination of three sides and two kinds of mount. Source: contract, section 9.4."""

from itertools import product

import pytest

from stores.mount.decisions import Action, decide

# (baseline, local, remote) -> (writable, read-only); letters stand for digests, - for no file.
TABLE = {
    "---": (Action.FORGET, Action.FORGET),
    "--r": (Action.PULL, Action.PULL),
    "-l-": (Action.CREATE, Action.KEEP),
    "-ll": (Action.SETTLED, Action.SETTLED),
    "-lr": (Action.PULL_OVER_EDIT, Action.PULL_OVER_EDIT),
    "b--": (Action.FORGET, Action.FORGET),
    "b-b": (Action.DELETE, Action.WAIT),
    "b-r": (Action.PULL_OVER_DELETE, Action.PULL_OVER_DELETE),
    "bb-": (Action.REMOVE, Action.REMOVE),
    "bbb": (Action.SETTLED, Action.SETTLED),
    "bbr": (Action.PULL, Action.PULL),
    "bl-": (Action.CREATE, Action.KEEP),
    "blb": (Action.UPDATE, Action.WAIT),
    "bll": (Action.SETTLED, Action.SETTLED),
    "blr": (Action.PULL_OVER_EDIT, Action.PULL_OVER_EDIT),
}


@pytest.mark.parametrize("sides", TABLE)
@pytest.mark.parametrize("writable", [True, False])
def test_a_path_is_decided_by_its_three_sides(sides: str, writable: bool) -> None:
    baseline, local, remote = (None if side == "-" else side for side in sides)
    decided = decide(baseline=baseline, local=local, remote=remote, writable=writable)
    assert decided is TABLE[sides][0 if writable else 1]


def test_the_table_is_whole() -> None:
    """Every pattern of equal, different and missing sides has its row."""
    assert {_pattern(*row) for row in TABLE} == {_pattern(*sides) for sides in product("-xyz", repeat=3)}


def _pattern(*sides: str) -> tuple[int, ...]:
    named: dict[str, int] = {}
    return tuple(-1 if side == "-" else named.setdefault(side, len(named)) for side in sides)


def test_what_only_receives_sends_nothing() -> None:
    sent = {Action.UPDATE, Action.CREATE, Action.DELETE}
    assert not sent & {read_only for _, read_only in TABLE.values()}

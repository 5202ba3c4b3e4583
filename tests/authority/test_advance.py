"""The pin moves on only to what every operation between proves."""

from typing import Any

import pytest

from authority.failures import (
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    ConflictError,
    ValidationTypeError,
)
from authority.graph import EMPTY_HEAD, Head
from memoryhub.errors import HubError
from tests.authority.doubles import Bench, MemoryStore, entity


@pytest.fixture
def bench() -> Bench:
    """The store is three operations ahead of the pin."""
    bench = Bench(entity("a"))
    for n in range(3):
        bench.canonical.write(entity("a", n), entity(f"b{n}"))
    return bench


def test_the_pin_advances_and_then_there_is_nothing_to_do(bench: Bench) -> None:
    prior, target = bench.pin, bench.canonical.now
    receipt = bench.advance(target)
    assert (receipt.status, bench.pin) == ("advanced", target)
    assert receipt.wire["priorHead"] == prior.as_wire()
    reads = (bench.canonical.feed_reads, bench.canonical.snapshots)
    again = bench.advance(target)
    assert (again.status, again.wire["priorHead"]) == ("unchanged", target.as_wire())
    assert (bench.canonical.feed_reads, bench.canonical.snapshots) == reads


def test_the_pin_advances_to_a_head_in_between(bench: Bench) -> None:
    bench.advance(bench.canonical.heads[2])
    assert bench.pin == bench.canonical.heads[2]


def test_a_stale_expectation_is_refused(bench: Bench) -> None:
    with pytest.raises(
        ConflictError, match=r"^The expected canonical memory head does not match the current pin\.$"
    ):
        bench.advance(bench.canonical.now, expected=bench.canonical.now)


NO_DESCENDANT = "The next canonical memory head is not a descendant of the current pin."
TOO_FAR = "The canonical memory advance exceeds its total proof bound; advance in host-reviewed chunks."


@pytest.mark.parametrize(
    ("target", "kind", "message"),
    [
        (EMPTY_HEAD, ConflictError, NO_DESCENDANT),
        (Head(1, "a" * 64, "b" * 64, "c" * 64), ConflictError, NO_DESCENDANT),
        (Head(16_386, "a" * 64, "b" * 64, "c" * 64), CapacityError, TOO_FAR),
    ],
)
def test_no_store_is_asked_for_what_cannot_be(
    bench: Bench, target: Head, kind: type[HubError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        bench.advance(target)
    assert str(caught.value) == message
    assert bench.canonical.feed_reads == 0


def test_a_head_that_is_right_but_for_one_digest_is_refused(bench: Bench) -> None:
    now, prior = bench.canonical.now, bench.pin
    for other in (
        Head(now.sequence, now.operation_sha256, "f" * 64, now.records_sha256),
        Head(now.sequence, now.operation_sha256, now.graph_revision_sha256, "f" * 64),
    ):
        with pytest.raises(AuthorityIntegrityError, match="changed its pinned bounds"):
            bench.advance(other)
    with pytest.raises(ConflictError, match="identifies a different operation head"):
        bench.advance(Head(now.sequence, "f" * 64, now.graph_revision_sha256, now.records_sha256))
    with pytest.raises(ConflictError, match="is not present in this space"):
        bench.advance(Head(9, "f" * 64, "f" * 64, "f" * 64))
    assert bench.pin == prior


def swap(page: dict[str, Any]) -> dict[str, Any]:
    page["operations"][0], page["operations"][1] = page["operations"][1], page["operations"][0]
    return page


def tampered(page: dict[str, Any]) -> dict[str, Any]:
    page["operations"][1]["actorId"] = "somebody.new"
    return page


PAGES: list[tuple[str, Any, str]] = [
    ("one key more", lambda page: {**page, "extra": 1}, "invalid page envelope"),
    ("no flag", lambda page: {**page, "hasMore": 0}, "invalid page envelope"),
    ("too long", lambda page: {**page, "operations": page["operations"] * 2}, "invalid page envelope"),
    ("nothing", lambda page: None, "invalid page envelope"),
    ("other start", lambda page: {**page, "from": page["to"]}, "changed its pinned bounds"),
    ("other end", lambda page: {**page, "through": EMPTY_HEAD.as_wire()}, "changed its pinned bounds"),
    ("order", swap, "contains a gap or different authority"),
    ("a gap", lambda page: {**page, "operations": page["operations"][1:]}, "contains a gap"),
    ("a changed operation", tampered, "contains a gap or different authority"),
    ("not an operation", lambda page: {**page, "operations": [{}]}, "contains a gap"),
    (
        "empty with more",
        lambda page: {**page, "operations": [], "hasMore": True, "to": page["from"]},
        "descendant",
    ),
    ("empty", lambda page: {**page, "operations": [], "to": page["from"]}, "did not prove"),
    ("more at the end", lambda page: {**page, "hasMore": True}, "did not prove the requested descendant"),
    ("another to", lambda page: {**page, "to": page["from"]}, "did not prove the requested descendant"),
]


@pytest.mark.parametrize(("change", "words"), [page[1:] for page in PAGES], ids=[page[0] for page in PAGES])
def test_a_page_that_proves_nothing_moves_nothing(bench: Bench, change: Any, words: str) -> None:
    feed, prior = bench.canonical.changes_since, bench.pin
    bench.canonical.changes_since = lambda *a, **o: change(feed(*a, **o))  # type: ignore[method-assign]
    with pytest.raises(AuthorityIntegrityError, match=words):
        bench.advance(bench.canonical.now)
    assert bench.pin == prior


def test_a_feed_of_another_space_is_refused(bench: Bench) -> None:
    other = MemoryStore("canonical", "another.space")
    other.write(entity("a"))
    for n in range(3):
        other.write(entity("a", n), entity(f"b{n}"))
    prior = bench.pin
    feed = other.changes_since

    def answer(reference: Any, *, limit: int, through: Any) -> Any:
        page = feed(other.heads[1].reference, limit=limit, through=other.now.reference)
        return {**page, "from": reference.as_wire(), "through": bench.canonical.now.as_wire()}

    bench.canonical.changes_since = answer  # type: ignore[method-assign]
    with pytest.raises(AuthorityIntegrityError, match="different authority"):
        bench.advance(bench.canonical.now)
    assert bench.pin == prior


def test_a_snapshot_that_is_not_the_heads_moves_nothing(bench: Bench) -> None:
    snapshot, prior = bench.canonical.snapshot, bench.pin

    def other(reference: Any, *, records_max: int) -> Any:
        answer = snapshot(reference, records_max=records_max)
        return {**answer, "records": answer["records"][1:]}

    bench.canonical.snapshot = other  # type: ignore[method-assign]
    with pytest.raises(
        AuthorityIntegrityError, match="The canonical store returned invalid snapshot records"
    ):
        bench.advance(bench.canonical.now)
    assert bench.pin == prior


def test_sixty_four_short_pages_prove_and_one_more_does_not() -> None:
    bench = Bench(entity("a"))
    for n in range(65):
        bench.canonical.write(entity("a", n))
    bench.canonical.page_limit = 1
    with pytest.raises(CapacityError, match="exceeded its page proof bound; advance in host-reviewed chunks"):
        bench.advance(bench.canonical.now)
    assert bench.pin.sequence == 1
    bench.advance(bench.canonical.heads[65])
    assert bench.pin.sequence == 65


def test_a_page_past_its_bytes_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("authority.proof.FEED_BYTES_MAX", 1_500)
    with pytest.raises(BytesExceededError, match="change-feed page exceeds its canonical byte bound"):
        bench.advance(bench.canonical.now)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "Invalid canonical memory advance request."),
        ({"v": 2}, "Invalid canonical memory advance request."),
        ({"expectedHead": {}}, "Invalid expected canonical memory head."),
        ({"nextHead": None}, "Invalid next canonical memory head."),
    ],
)
def test_a_malformed_request_is_refused(bench: Bench, change: dict[str, Any], message: str) -> None:
    request = {"expectedHead": bench.pin.as_wire(), "nextHead": bench.canonical.now.as_wire(), "v": 1}
    with pytest.raises(ValidationTypeError) as caught:
        bench.authority.advance_canonical({**request, **change})
    assert str(caught.value) == message


@pytest.mark.parametrize("value", [None, [], "x", {"v": float("nan")}, {"v": "x" * 90_000}])
def test_what_is_no_request_is_refused_by_its_label(bench: Bench, value: Any) -> None:
    with pytest.raises(HubError, match="canonical memory advance request"):
        bench.authority.advance_canonical(value)

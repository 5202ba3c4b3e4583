"""What an agent may do: remember, query, explain, nominate; and that none of it moves what is reviewed."""

import base64
import json
from typing import Any

import pytest
from django.db import connection

from authority import agent, authorities, evaluation, explanations, spaces
from authority.canonical import digest_of, parse, text_of
from authority.codecs import KINDS
from authority.failures import (
    AuthorityIntegrityError,
    BytesExceededError,
    CapacityError,
    ConflictError,
    ContinuationError,
    ExplanationAbsentError,
    ProfileError,
    PurgedSpaceError,
    ValidationTypeError,
)
from authority.graph import EMPTY_HEAD, Head, make_record
from authority.models import Clock, Explanation, Nomination, Operation, Space
from authority.nominations import parse_nomination
from authority.queries import require_key
from memoryhub.errors import HubError, NotFound
from memoryhub.models import AuditEvent
from tests.authority.desk import Reviewed, make_reviewed, new_space, options_of, write
from tests.authority.doubles import entity
from tests.world import Tenant


@pytest.fixture
def reviewed(tenant: Tenant) -> Reviewed:
    return make_reviewed(tenant, work=(entity("note:a", "A"), entity("note:b", "B", "note:a")))


def working_head(reviewed: Reviewed) -> Head:
    return Space.objects.get(id=reviewed.working.id).head


def request(reviewed: Reviewed, *puts: Any, **more: Any) -> dict[str, Any]:
    head = working_head(reviewed)
    return {
        "expectedHead": {"generation": head.sequence, "operationSha256": head.operation_sha256},
        "puts": list(puts),
        "requestId": "req.one",
        "tombstones": [],
        "v": 1,
        **more,
    }


def put(key: str, name: Any = "Name", *dependencies: str, kind: str = "entity") -> dict[str, Any]:
    return {"dependencies": list(dependencies), "key": key, "kind": kind, "v": 1, "value": {"name": name}}


def remember(reviewed: Reviewed, value: Any) -> Any:
    return agent.remember(reviewed.authority.wire_id, value, actor=reviewed.actor)


def test_what_is_remembered_is_committed_once(reviewed: Reviewed) -> None:
    asked = request(reviewed, put("note:c", "C", "note:a"))
    receipt = remember(reviewed, asked)
    assert receipt.head == working_head(reviewed)
    operation = Operation.objects.get(space=reviewed.working, sequence=2)
    fields = {
        "actorId": "agent.test",
        "bindingSha256": reviewed.working.binding_sha256,
        "requestId": "req.one",
        "v": 1,
    }
    assert operation.operation_id == f"memory_{digest_of(fields)[:48]}"
    assert set(receipt.wire) == {
        "actorId",
        "authorityId",
        "bindingSha256",
        "head",
        "instant",
        "lane",
        "operationSha256",
        "receiptSha256",
        "requestId",
        "status",
        "v",
    }
    remember(reviewed, request(reviewed, put("note:d"), requestId="req.two"))
    assert remember(reviewed, asked) == receipt
    assert working_head(reviewed).sequence == 3
    assert reviewed.head == reviewed.pin
    actions = AuditEvent.objects.filter(subject_id=reviewed.authority.wire_id, action="authority.remembered")
    assert actions.count() == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"extra": 1}, "Invalid memory remember request."),
    ({"requestId": "A"}, "Invalid memory remember request identity."),
    ({"puts": []}, "Invalid semantic bundle."),
    ({"puts": None}, "Invalid semantic bundle."),
    ({"expectedHead": {}}, "Invalid semantic bundle identity."),
    ({"puts": [{}]}, "Invalid semantic bundle put."),
    ({"puts": [put("a", kind="unknown")]}, "Invalid semantic bundle put."),
    ({"puts": [{**put("a"), "value": 1}]}, "The entity codec rejected a semantic value."),
    ({"tombstones": [{}]}, "Invalid semantic bundle tombstone."),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=repr)
def test_a_malformed_bundle_is_refused(reviewed: Reviewed, change: dict[str, Any], message: str) -> None:
    head = working_head(reviewed)
    with pytest.raises(ValidationTypeError) as caught:
        remember(reviewed, request(reviewed, put("note:c"), **change))
    assert str(caught.value) == message
    assert working_head(reviewed) == head


def test_a_file_of_a_store_is_remembered_with_its_digest() -> None:
    codec = KINDS.find("memory")
    assert codec is not None
    value = {
        "content": "text",
        "path": "/a.md",
        "sha256": "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
        "storeId": "memstore_x",
        "versionId": "memver_x",
    }
    assert codec(value) == value
    assert codec({**value, "content": "other"}) is None
    assert codec({**value, "extra": 1}) is None
    with pytest.raises(TypeError, match="The codec registry is sealed"):
        KINDS.register("late", lambda value: value)


def test_a_stale_head_and_a_full_memory_are_refused(
    reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = {"generation": 0, "operationSha256": None}
    with pytest.raises(ConflictError, match="The expected head does not match the current space head"):
        remember(reviewed, request(reviewed, put("note:c"), expectedHead=stale))
    monkeypatch.setattr("authority.remembering.LANE_RECORDS_MAX", 2)
    with pytest.raises(CapacityError, match="would exceed its record snapshot bound"):
        remember(reviewed, request(reviewed, put("note:c")))
    monkeypatch.undo()
    monkeypatch.setattr("authority.remembering.LANE_BYTES_MAX", 700)
    with pytest.raises(BytesExceededError, match="would exceed its snapshot byte bound"):
        remember(reviewed, request(reviewed, put("note:c", "x" * 300)))
    assert working_head(reviewed).sequence == 1


def test_a_clock_that_went_back_is_refused(reviewed: Reviewed) -> None:
    Clock.objects.filter(authority=reviewed.authority).update(wall_milliseconds=2**52)
    with pytest.raises(ProfileError, match="The memory wall clock regressed"):
        remember(reviewed, request(reviewed, put("note:c")))
    Clock.objects.filter(authority=reviewed.authority).update(explanation_milliseconds=2**52)
    with pytest.raises(ProfileError, match="The memory monotonic clock regressed"):
        query(reviewed)
    asked = {"pageRow": 0, "resultSha256": "f" * 64, "token": "x" * 43, "v": 2}
    with pytest.raises(ProfileError, match="The memory monotonic clock regressed"):
        agent.explain(reviewed.authority.wire_id, asked, actor=reviewed.actor)


# Query and explain.


def query(
    reviewed: Reviewed, program: str = "memory.records", continuation: Any = None, **bindings: Any
) -> Any:
    names = {"keyPrefix": None, "kind": None, "lane": None}
    names |= {"text": None} if program == "memory.search" else {}
    value = {"bindings": {**names, **bindings}, "continuation": continuation, "programId": program, "v": 2}
    return agent.query_memory(reviewed.authority.wire_id, value, actor=reviewed.actor)


def explained(reviewed: Reviewed, result: Any, row: int = 0, **change: Any) -> Any:
    asked = {
        "pageRow": row,
        "resultSha256": result["resultSha256"],
        "token": result["explainCapability"]["token"],
        "v": 2,
        **change,
    }
    return agent.explain(reviewed.authority.wire_id, asked, actor=reviewed.actor)


def keys(result: Any) -> list[tuple[str, str]]:
    return [(row["lane"], row["key"]) for row in result["rows"]]


def test_both_memories_are_seen_and_their_conflicts(reviewed: Reviewed) -> None:
    write(reviewed.tenant, reviewed.working, entity("seed", "Newer"))
    result = query(reviewed)
    assert keys(result) == [
        ("working", "note:a"),
        ("working", "note:b"),
        ("canonical", "seed"),
        ("working", "seed"),
    ]
    assert result["conflicts"]["count"] == 1
    assert result["page"]["completeness"] == "complete"
    assert result["continuation"] is None
    covered = (
        "authority",
        "conflicts",
        "continuationSha256",
        "identity",
        "page",
        "resultSetSha256",
        "rows",
        "v",
    )
    assert result["resultSha256"] == digest_of({name: result[name] for name in covered})
    found = [[row["lane"], row["key"], row["recordSha256"]] for row in result["rows"]]
    assert result["resultSetSha256"] == digest_of(found)
    assert keys(query(reviewed, lane="canonical")) == [("canonical", "seed")]
    assert keys(query(reviewed, keyPrefix="note:")) == [("working", "note:a"), ("working", "note:b")]
    assert keys(query(reviewed, kind="fact")) == []
    assert keys(query(reviewed, "memory.search", text="newer")) == [("working", "seed")]
    assert keys(query(reviewed, keyPrefix=1)) == []
    write(reviewed.tenant, reviewed.working, entity("seed"))
    assert query(reviewed)["conflicts"]["count"] == 0


def program(**more: Any) -> dict[str, Any]:
    return {
        "maximumPageBytes": 65_536,
        "maximumRows": 500,
        "order": "key",
        "pageSize": 64,
        "parameters": ["n"],
        "programId": "host.rows",
        "purpose": "host.reading",
        "searchConfig": "simple",
        "v": 2,
        "where": [{"field": "value", "operand": {"parameter": "n"}, "operator": "eq", "path": ["name"]}],
        **more,
    }


def test_a_hosts_program_filters_by_value_and_dependency(tenant: Tenant) -> None:
    where = [*program()["where"], {"field": "dependsOn", "operand": {"constant": "a"}, "operator": "eq"}]
    other = program(programId="host.dependants", where=where)
    work = (entity("a", 1), entity("b", 2), entity("c", 2, "a"))
    reviewed = make_reviewed(tenant, work=work, programs=[program(), other])

    def found(name: str, value: Any) -> list[str]:
        asked = {"bindings": {"n": value}, "continuation": None, "programId": name, "v": 2}
        result = agent.query_memory(reviewed.authority.wire_id, asked, actor=reviewed.actor)
        return [row["key"] for row in result["rows"]]

    assert found("host.rows", 2) == ["b", "c"]
    assert found("host.rows", "2") == []
    assert found("host.rows", None) == ["a", "b", "c", "seed"]
    assert found("host.dependants", 2) == ["c"]


@pytest.mark.parametrize(
    "change",
    [
        {"pageSize": 257},
        {"maximumPageBytes": 1},
        {"maximumRows": 0},
        {"order": "rank"},
        {"order": "value"},
        {"parameters": ["b", "a"]},
        {"searchConfig": "english"},
        {"where": [{"field": "key", "operand": {"parameter": "other"}, "operator": "eq"}]},
        {"where": [{"field": "key", "operand": {"constant": 1}, "operator": "contains"}]},
        {"v": 1},
        {"extra": 1},
    ],
    ids=repr,
)
def test_a_malformed_program_makes_no_authority(tenant: Tenant, change: dict[str, Any]) -> None:
    with pytest.raises(ValidationTypeError, match="Invalid V2 memory program"):
        make_reviewed(tenant, programs=[program(**change)])


def many(tenant: Tenant, **more: Any) -> Reviewed:
    return make_reviewed(
        tenant, work=tuple(entity(f"row:{n:03}", n) for n in range(299)), programs=[program(**more)]
    )


def ask(reviewed: Reviewed, continuation: Any = None, value: Any = None) -> Any:
    asked = {"bindings": {"n": value}, "continuation": continuation, "programId": "host.rows", "v": 2}
    return agent.query_memory(reviewed.authority.wire_id, asked, actor=reviewed.actor)


def test_three_hundred_rows_come_in_pages_that_can_be_explained(tenant: Tenant) -> None:
    reviewed = many(tenant)
    starts, seen, result = [], [], ask(reviewed)
    while True:
        starts.append(result["page"]["start"])
        seen += keys(result)
        last = result["page"]["returnedRows"] - 1
        explanation = explained(reviewed, result, last)
        assert explanation["row"] == result["rows"][last]
        assert explanation["identity"] == result["identity"]
        assert explanation["provenance"]["sequence"] == 1
        if result["continuation"] is None:
            break
        assert result["page"]["completeness"] == "partial"
        result = ask(reviewed, result["continuation"])
    assert starts == [0, 64, 128, 192, 256]
    assert len(seen) == len(set(seen)) == 300


def test_a_page_is_never_shortened(tenant: Tenant) -> None:
    reviewed = many(tenant, maximumRows=200)
    with pytest.raises(CapacityError, match="exceeds its host-declared row bound"):
        ask(reviewed)
    assert ask(reviewed, value=5)["page"]["totalRows"] == 1
    wide = make_reviewed(
        tenant, work=tuple(entity(f"row:{n}", "x" * 20_000) for n in range(4)), programs=[program()]
    )
    with pytest.raises(BytesExceededError, match="exceeds its host-declared canonical byte bound"):
        ask(wide)
    assert ask(wide, value="none")["page"] == {
        "completeness": "complete",
        "endExclusive": 0,
        "hasMore": False,
        "maximumPageBytes": 65_536,
        "pageSize": 64,
        "returnedRows": 0,
        "start": 0,
        "totalRows": 0,
        "v": 2,
    }


def decoded(token: str) -> dict[str, Any]:
    return dict(json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))))


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else text_of(value)
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def test_a_continuation_is_for_one_query_and_one_source(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviewed = many(tenant)
    token = ask(reviewed)["continuation"]
    assert ask(reviewed, token) is not None
    fields = decoded(token)
    forged = {**fields, "nextOffset": 128}
    names = [name for name in fields if not name.startswith("continuation")]
    forged["continuationSha256"] = digest_of({name: forged[name] for name in names})
    cases = [
        (token[:-1] + ("A" if token[-1] != "A" else "B"), {"encoding", "authentication", "identity"}),
        (encoded(json.dumps(fields, indent=1).encode()), {"encoding"}),
        (encoded(json.dumps(dict(reversed(fields.items())), separators=(",", ":")).encode()), {"encoding"}),
        (encoded({**fields, "extra": 1}), {"encoding"}),
        (encoded({**fields, "nextOffset": 63}), {"identity"}),
        (encoded(forged), {"authentication"}),
        ("A" * 4_097, {"encoding"}),
        ("not base64!", {"encoding"}),
        ("", {"encoding"}),
    ]
    monkeypatch.setattr(evaluation, "find_rows", None)  # nothing is read for any of these
    monkeypatch.setattr("authority.query_pages.find_rows", None)
    for wrong, reasons in cases:
        with pytest.raises(ContinuationError) as caught:
            ask(reviewed, wrong)
        assert caught.value.reason in reasons, wrong
    with pytest.raises(ContinuationError) as caught:
        ask(reviewed, token, value=1)
    assert caught.value.reason == "identity"
    monkeypatch.undo()
    monkeypatch.setattr("authority.agent.continuation_key", lambda: b"k" * 32)
    with pytest.raises(ContinuationError) as caught:
        ask(reviewed, token)
    assert caught.value.reason == "authentication"
    monkeypatch.undo()
    write(reviewed.tenant, reviewed.working, entity("zz"))
    with pytest.raises(ContinuationError, match="does not match this exact source and projection identity"):
        ask(reviewed, token)


@pytest.mark.parametrize("length", [31, 65])
def test_a_key_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(CapacityError, match="must be 32 through 64 raw bytes"):
        require_key(b"k" * length)


QUERIES: list[tuple[dict[str, Any], type[HubError], str]] = [
    ({"query": "x"}, ValidationTypeError, "Invalid parameterized memory query."),
    ({"v": 1}, ValidationTypeError, "Invalid parameterized memory query."),
    ({"bindings": {}}, ValidationTypeError, "exactly match the host-declared parameters"),
    ({"bindings": {"keyPrefix": []}}, ValidationTypeError, "Memory bindings must be JSON primitives."),
    ({"programId": "unknown"}, ValidationTypeError, "Unknown named V2 memory program."),
    ({"bindings": {f"a{n}": n for n in range(33)}}, CapacityError, "too many bindings"),
    ({"bindings": {"keyPrefix": "x" * 16_384}}, CapacityError, "binding exceeds its canonical byte bound"),
    ({"bindings": {"keyPrefix": "x" * 90_000}}, CapacityError, "exceeds its canonical byte bound"),
]


@pytest.mark.parametrize(("change", "kind", "words"), QUERIES, ids=[words for *_, words in QUERIES])
def test_a_malformed_query_is_refused(
    reviewed: Reviewed, change: dict[str, Any], kind: type[HubError], words: str
) -> None:
    bindings = {"keyPrefix": None, "kind": None, "lane": None}
    value = {"bindings": bindings, "continuation": None, "programId": "memory.records", "v": 2, **change}
    with pytest.raises(kind, match=words):
        agent.query_memory(reviewed.authority.wire_id, value, actor=reviewed.actor)


def test_an_explanation_is_of_one_result_for_a_while(reviewed: Reviewed) -> None:
    result = query(reviewed)
    explanation = explained(reviewed, result)
    fields = {name: value for name, value in explanation.items() if name != "explanationSha256"}
    assert explanation["explanationSha256"] == digest_of(fields)
    with pytest.raises(CapacityError, match="The explanation page row is out of bounds"):
        explained(reviewed, result, 99)
    with pytest.raises(CapacityError):
        explained(reviewed, result, -1)
    with pytest.raises(ValidationTypeError, match="Invalid V2 memory explanation request"):
        explained(reviewed, result, token="short")
    with pytest.raises(ValidationTypeError, match="Invalid V2 memory explanation result identity"):
        explained(reviewed, result, resultSha256="f")
    assert explained(reviewed, result) == explanation
    # Another result's digest revokes it.
    with pytest.raises(ExplanationAbsentError):
        explained(reviewed, result, resultSha256="f" * 64)
    with pytest.raises(ExplanationAbsentError):
        explained(reviewed, result)
    late = query(reviewed)
    Explanation.objects.filter(authority=reviewed.authority).update(expires_milliseconds=1)
    with pytest.raises(ExplanationAbsentError):
        explained(reviewed, late)


def test_the_oldest_explanation_goes_first(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanations, "EXPLANATIONS_MAX", 3)
    results = [query(reviewed) for _ in range(3)]
    explained(reviewed, results[0])
    results.append(query(reviewed))
    with pytest.raises(ExplanationAbsentError):
        explained(reviewed, results[0])
    assert [explained(reviewed, result)["pageRow"] for result in results[1:]] == [0, 0, 0]
    size = Explanation.objects.filter(authority=reviewed.authority).first().counted_bytes  # type: ignore[union-attr]
    monkeypatch.setattr(explanations, "EXPLANATIONS_BYTES_MAX", 2 * size + 10)
    query(reviewed)
    assert Explanation.objects.filter(authority=reviewed.authority).count() == 2
    monkeypatch.setattr(explanations, "EXPLANATION_BYTES_MAX", 10)
    with pytest.raises(BytesExceededError, match="exceeds its retained capability bound"):
        query(reviewed)


# Nominate.


def nominate(reviewed: Reviewed, *roots: Any, route: str = "review", **more: Any) -> Any:
    value = {"nominationId": route, "roots": list(roots), "v": 1, **more}
    return agent.nominate(reviewed.authority.wire_id, value, actor=reviewed.actor)


def test_a_nomination_holds_what_it_needs_and_moves_nothing(reviewed: Reviewed) -> None:
    prior = (reviewed.pin, reviewed.head, working_head(reviewed))
    made = nominate(reviewed, "note:b")
    assert parse_nomination(parse(made.text)) == made
    assert [record.key for record in made.records] == ["note:a", "note:b"]
    assert nominate(reviewed, "note:b") == made
    row = Nomination.objects.get(authority=reviewed.authority)
    assert (row.nomination_sha256, row.state, row.body.encode()) == (made.sha256, "pending", made.text)
    assert (reviewed.pin, reviewed.head, working_head(reviewed)) == prior
    mine = AuditEvent.objects.filter(project=reviewed.authority.project)
    assert mine.filter(action="nomination.arrived").count() == 1


def test_a_malformed_nomination_is_refused(reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[Any, str]] = [
        (lambda: nominate(reviewed), "Invalid memory nomination request."),
        (lambda: nominate(reviewed, "note:a", extra=1), "Invalid memory nomination request."),
        (lambda: nominate(reviewed, *(f"a{n}" for n in range(1_025))), "Invalid memory nomination request."),
        (lambda: nominate(reviewed, "A"), "Invalid memory nomination identity."),
        (lambda: nominate(reviewed, "note:a", "note:a"), "Invalid memory nomination identity."),
        (lambda: nominate(reviewed, "note:a", route="other"), "Unknown named memory nomination route."),
        (lambda: nominate(reviewed, "absent"), "Dependency closure record absent is missing."),
    ]
    for act, message in cases:
        with pytest.raises(HubError) as caught:
            act()
        assert str(caught.value) == message
    from authority import space_history

    export = space_history.export_closure
    monkeypatch.setattr(
        space_history, "export_closure", lambda key, roots, *a, **o: export(key, ["note:a"], *a, **o)
    )
    with pytest.raises(AuthorityIntegrityError, match="substituted different roots"):
        nominate(reviewed, "note:b")
    assert not Nomination.objects.filter(authority=reviewed.authority).exists()


def test_after_a_purge_nothing_of_the_working_memory_is_given_out(reviewed: Reviewed) -> None:
    result = query(reviewed)
    spaces.purge_space(reviewed.working.wire_id, expected_sequence=1, actor=reviewed.actor)
    with pytest.raises(PurgedSpaceError):
        query(reviewed)
    with pytest.raises(PurgedSpaceError):
        nominate(reviewed, "note:a")
    with pytest.raises(ExplanationAbsentError):
        explained(reviewed, result)


# Creation and deletion.


def test_an_authority_exists_only_when_all_of_it_was_checked(tenant: Tenant, stranger: Tenant) -> None:
    canonical, working = new_space(tenant), new_space(tenant, "working")
    head = write(tenant, canonical, entity("seed")).head

    def create(**more: Any) -> Any:
        options = options_of(
            more.pop("canonical", canonical), more.pop("working", working), more.pop("head", head), **more
        )
        return authorities.create_authority(options, actor=tenant.actor)

    wrong_head = Head(1, head.operation_sha256, "f" * 64, head.records_sha256)
    route = {"destinationPurpose": "p", "nominationId": "r"}
    other = new_space(tenant)
    other_lane = authorities.Lane(canonical.wire_id, canonical.authority_id, "f" * 64)
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"operation_bytes_max": 0}, ValidationTypeError, "Invalid canonical memory operation byte bound"),
        ({"actor_id": "A"}, ValidationTypeError, "Invalid host-bound memory authority actor ID"),
        ({"adoption_actor_id": ""}, ValidationTypeError, "Invalid host-bound memory authority actor ID"),
        ({"working": canonical}, ProfileError, "must be distinct physical authorities"),
        ({"working": other}, ProfileError, "The working memory lane has the wrong store profile"),
        ({"expected_head": {}}, ValidationTypeError, "Invalid initial canonical memory head"),
        ({"head": wrong_head}, AuthorityIntegrityError, "snapshot differs from its pinned head"),
        ({"head": Head(2, "f" * 64, "f" * 64, "f" * 64)}, ConflictError, "is not present in this space"),
        ({"routes": [route] * 2}, ValidationTypeError, "Invalid or duplicate memory nomination route"),
        ({"routes": [route] * 65}, CapacityError, "route registry is too large"),
        ({"explanation_milliseconds": 999}, CapacityError, "Invalid memory explanation capability lifetime"),
    ]
    for more, kind, words in cases:
        with pytest.raises(kind, match=words):
            create(**more)
    with pytest.raises(AuthorityIntegrityError, match="The canonical store is not the host-bound authority"):
        authorities.create_authority(
            authorities.Options(
                other_lane,
                options_of(canonical, working, head).working,
                "agent.test",
                "reviewer.test",
                head.as_wire(),
                [],
                [],
            ),
            actor=tenant.actor,
        )
    assert not authorities.visible_authorities(tenant.actor).exists()
    made = create()
    assert made.pin == head
    with pytest.raises(NotFound):
        authorities.get_authority(made.wire_id, actor=stranger.actor)
    with pytest.raises(NotFound):
        agent.remember(made.wire_id, {}, actor=stranger.actor)


def test_deleting_an_authority_leaves_both_spaces(reviewed: Reviewed) -> None:
    nominate(reviewed, "note:b")
    query(reviewed)
    authorities.delete_authority(reviewed.authority.wire_id, actor=reviewed.actor)
    assert not authorities.visible_authorities(reviewed.actor).exists()
    assert spaces.verify_space(reviewed.canonical.wire_id, actor=reviewed.actor)[1] == []
    assert spaces.verify_space(reviewed.working.wire_id, actor=reviewed.actor)[1] == []
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_an_empty_reviewed_memory_can_be_pinned(tenant: Tenant) -> None:
    canonical, working = new_space(tenant), new_space(tenant, "working")
    write(tenant, working, make_record("a", "note", {"text": "x"}, []))
    options = options_of(canonical, working, EMPTY_HEAD)
    made = authorities.create_authority(options, actor=tenant.actor)
    assert made.pin == EMPTY_HEAD

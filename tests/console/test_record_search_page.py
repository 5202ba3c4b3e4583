"""The search of a scope: what a model would be given, with scores, and parts of them that add up to what the ranking says."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from providers import record_reasons, record_search
from providers.contract import Binding, Ok
from providers.held_records import find_known
from providers.limits import RECALL_HITS_MAX
from providers.models import ProviderCall
from providers.record_models import RecordTerm
from providers.record_reasons import Searched, Why
from tests.console.site import Site, form_of, sign_in
from tests.console.test_record_pages import TEAM, main_of, scope_path, text
from tests.providers.record_desk import RecordDesk, Scripted, bind, hits_of, unavailable
from tests.world import Tenant

MEETING = "2026-09-14T08:30:00.000000Z"


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


def search(site: Site, desk: RecordDesk, query: str, k: str = "5") -> Any:
    page = f"{scope_path(desk)}/search"
    return site.post(page, form_of(site.get(page)) | {"query": query, "k": k})


def find(desk: RecordDesk, query: str, k: int = RECALL_HITS_MAX) -> Searched:
    return record_reasons.search_scope(desk.row().wire_id, query, k=k, actor=desk.actor)


def why_of(searched: Searched, place: int = 0) -> Why:
    why = searched.hits[place].why
    assert why is not None
    return why


def sum_of(why: Why) -> float:
    return why.author_factor * why.question_factor * sum(one.score for one in (*why.words, *why.neighbours))


def talk(desk: RecordDesk) -> None:
    for said, author in (
        ("Where is the yard of the boats?", "Jonas"),
        ("By gate 3, behind the crane.", "Elin"),
        ("The crane is closed in January.", "Jonas"),
        ("Then we come in February, to the yard.", "Elin"),
    ):
        desk.save(said, author=author, thread="call")
    desk.save("Invoices go to the yard.", title="Yard and invoices", tags=["billing"], occurred_at=MEETING)
    desk.save("Nothing of this.")


QUERIES = [
    "Where is the yard?",
    "crane January",
    "What does Elin say of the crane?",
    "invoices in September 2026",
    "yard gate crane billing February nothing",
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_parts_of_a_score_add_up_to_it(desk: RecordDesk, query: str) -> None:
    talk(desk)
    searched = find(desk, query)
    assert searched.hits
    for one in searched.hits:
        assert one.why is not None
        assert sum_of(one.why) == pytest.approx(one.hit.score, rel=1e-6)
        assert one.why.is_whole


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Scopes are ranked with kept counts from two records on, and by their rarer words alone."""
    monkeypatch.setattr(record_search, "COUNTED_ROWS_MIN", 2)
    monkeypatch.setattr("memoryhub.ranking.READ_ROWS_MIN", 1)
    yield


@pytest.mark.parametrize("query", [*QUERIES, "the yarrd"])
def test_the_parts_add_up_in_a_scope_that_was_counted(desk: RecordDesk, counted: None, query: str) -> None:
    talk(desk)
    desk.recall(query)  # which asks for the count
    record_search.count_records(desk.row().id)
    assert RecordTerm.objects.filter(scope=desk.row()).exists()
    searched = find(desk, query)
    assert searched.hits
    for one in searched.hits:
        assert one.why is not None
        assert sum_of(one.why) == pytest.approx(one.hit.score, rel=1e-6)
    if "yarrd" in query:
        assert any(word.word == "yard" for one in searched.hits if one.why for word in one.why.words)


def test_a_score_says_where_the_words_stand_who_is_named_and_what_is_beside(desk: RecordDesk) -> None:
    talk(desk)
    best = find(desk, "Elin crane")
    assert best.hits[0].hit.text == "By gate 3, behind the crane."
    why = why_of(best)
    assert why.author_factor == 1.5, "the query names its author"
    assert {(one.word, one.places) for one in why.words} == {("crane", ("text",)), ("elin", ("author",))}
    assert [one.away for one in why.neighbours] == [1, 2], "what comes after it in its thread"
    invoices = why_of(find(desk, "billing in September of the invoices yard"))
    assert {one.word: one.places for one in invoices.words} == {
        "billing": ("tags",),
        "september": ("date",),
        "invoices": ("text", "title"),
        "yard": ("text", "title"),
    }
    assert [one.score for one in invoices.words] == sorted(
        (one.score for one in invoices.words), reverse=True
    )


def test_a_question_says_that_it_counts_less(owner: Site, desk: RecordDesk) -> None:
    talk(desk)
    found = {one.hit.text: one.why for one in find(desk, "Where is the yard?").hits}
    asked = found["Where is the yard of the boats?"]
    assert asked is not None and asked.question_factor == 0.75
    shown = search(owner, desk, "Where is the yard?").content.decode()
    assert shown.count("It is a short question, which answers little") == 1
    assert "× 0.75" in shown


def test_a_score_that_counts_more_than_words_is_told_from_theirs(desk: RecordDesk) -> None:
    desk.save("Tea.")
    hit = desk.recall("tea").hits[0]
    known = find_known(desk.row(), [hit.id])
    why = record_reasons.explain_hits(desk.row(), "tea", [replace(hit, score=hit.score / 2)], known)[hit.id]
    assert not why.is_whole
    assert why.score == pytest.approx(hit.score)


def test_a_query_that_says_nothing_gives_the_newest_and_says_so(owner: Site, desk: RecordDesk) -> None:
    desk.save("Tea.")
    desk.save("Milk.")
    shown = main_of(search(owner, desk, "who am I?"))
    assert shown.index("Milk.") < shown.index("Tea.")
    assert "no word that says anything" in shown
    assert "No memories found" in main_of(search(owner, desk, "?!"))


# --- the page ---


def test_the_page_shows_hits_as_a_model_would_get_them(owner: Site, desk: RecordDesk) -> None:
    desk.save("Tea <b>at</b> four.", author="Alice", thread="chat")
    desk.save("Alice left.", thread="chat")
    shown = main_of(search(owner, desk, "When does Alice drink tea?"))
    assert "Tea &lt;b&gt;at&lt;/b&gt; four." in shown
    score = desk.recall("When does Alice drink tea?", k=5).hits[0].score
    assert f"Score {score:.3f}" in shown
    for said in (
        "The query names its author",
        "just after it in its thread",
        "× 1.5",
        "in its text",
        "in its author",
    ):
        assert said in shown, said
    assert 'name="query"' in shown and "When does Alice drink tea?" in shown, "the query stays in its field"


def test_the_search_is_the_models_own(owner: Site, desk: RecordDesk) -> None:
    for number in range(3):
        desk.save(f"Tea {number}.")
    before = ProviderCall.objects.filter(scope=desk.row()).count()
    shown = main_of(search(owner, desk, "tea", k="2"))
    assert shown.count('<section class="card" aria-label="Hit') == 2
    assert "As many as were asked for: there may be more." in shown
    calls = ProviderCall.objects.filter(scope=desk.row()).order_by("-id")
    assert (calls.count() - before, calls[0].method, calls[0].k) == (1, "recall", 2)


@pytest.mark.parametrize(
    ("query", "k", "field"),
    [
        ("", "5", "query"),
        ("x" * 2_001, "5", "query"),
        ("nul \0", "5", "query"),
        ("tea", "0", "k"),
        ("tea", "21", "k"),
        ("tea", "", "k"),
        ("tea", "x", "k"),
    ],
)
def test_what_cannot_be_searched_is_said_beside_its_field(
    owner: Site, desk: RecordDesk, query: str, k: str, field: str
) -> None:
    desk.save("Tea.")
    answer = search(owner, desk, query, k)
    assert answer.status_code == 400
    assert f'id="id_{field}_error"' in text(answer)


def test_the_longest_query_is_searched(owner: Site, desk: RecordDesk) -> None:
    desk.save("Tea.")
    assert search(owner, desk, "tea " * 500, "20").status_code == 200


def test_a_scope_of_another_environment_is_not_searched(
    tenant: Tenant, stranger: Tenant, desk: RecordDesk
) -> None:
    desk.save("Tea.")
    for site in (
        sign_in(tenant.owner, tenant.project, "production"),
        sign_in(stranger.owner, stranger.project),
    ):
        for answer in (
            site.get(f"{scope_path(desk)}/search"),
            site.post(f"{scope_path(desk)}/search", {"query": "tea", "k": "5"}),
        ):
            assert answer.status_code == 404
            assert b"Tea." not in answer.content


def use_here(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.record_reasons.provider_of", lambda _: bind(provider))


def test_a_provider_elsewhere_is_asked_and_its_foreign_hits_are_named(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.MEMORY_PROVIDERS = json.dumps(TEAM)
    provider = Scripted()
    hits = hits_of(desk.memory(provider), provider, "Tea at four.", "Of another.")
    provider.hits = lambda k: [hits[0], replace(hits[1], binding=Binding("ns_x", "rec_x"))]
    use_here(provider, monkeypatch)
    page = f"{scope_path(desk)}/search"
    assert "The query is sent to <code>team</code>" in main_of(owner.get(page))
    shown = main_of(search(owner, desk, "tea"))
    assert "Tea at four." in shown and "Of another." not in shown
    assert "1 hit of the provider was not of this scope and was dropped" in shown
    assert "keeps its reasons to itself" in shown


def test_a_provider_that_fails_leaves_the_query_to_be_sent_again(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.save("Tea.")
    use_here(Scripted(unavailable("It is down."), Ok(["malformed"])), monkeypatch)
    down = search(owner, desk, "tea")
    assert down.status_code == 503
    assert "It is down" in text(down)
    assert form_of(down)["query"] == "tea"
    assert search(owner, desk, "tea").status_code == 422

"""The pages of records: whose there are and what they say, forgotten and corrected by their owner, and how far a role reaches."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memoryhub.actors import RecordScope
from memoryhub.clock import to_wire
from providers.contract import refuse
from providers.guard import ScopedMemory
from providers.models import MemoryEffect, MemoryRecord
from providers.record_corrections import correct_record
from providers.remote_records import claim_save, open_place, settle_save
from tests.console.site import Site, add_person, form_of, sign_in, words_of
from tests.providers.record_desk import ALICE, BOB, RecordDesk, Scripted, bind, unavailable
from tests.world import Tenant

TEA = "Alice drinks <b>tea</b>."


def text(answer: Any) -> str:
    return str(answer.content.decode())


def main_of(answer: Any) -> str:
    return " ".join(text(answer).partition("<main")[2].split())


@pytest.fixture
def desk(tenant: Tenant) -> RecordDesk:
    return RecordDesk(tenant)


def scope_path(desk: RecordDesk, of: RecordScope = ALICE) -> str:
    return f"/records/scopes/{desk.row(of).wire_id}"


def path_of(desk: RecordDesk, record_id: str, of: RecordScope = ALICE) -> str:
    return f"{scope_path(desk, of)}/records/{record_id}"


def texts(desk: RecordDesk, of: RecordScope = ALICE) -> list[str]:
    held = MemoryRecord.objects.filter(scope=desk.row(of), forgotten_at=None)
    return [str(one) for one in held.order_by("id").values_list("text", flat=True)]


def test_an_environment_without_records_shows_the_call_that_saves_one(owner: Site) -> None:
    shown = text(owner.get("/records"))
    assert "Nothing is remembered yet" in shown
    assert "/v1/records/save" in shown
    assert "this hub, in its own database" in shown


def test_scopes_are_listed_with_what_they_hold_and_filtered_by_a_name(owner: Site, desk: RecordDesk) -> None:
    desk.save(TEA)
    gone = desk.save("Alice drinks milk.")
    desk.forget(gone)
    desk.save("Bob drinks coffee.", of=BOB)
    desk.save("Odd.", of=RecordScope("odd", "idp/a", "b%c"))
    shown = main_of(owner.get("/records"))
    assert shown.index("<bdi>odd<") < shown.index("<bdi>bob<") < shown.index("<bdi>alice<"), (
        "the newest first"
    )
    assert shown.count('<td class="number">1</td>') == 3, "what is forgotten is not counted"
    assert "<bdi>b%c</bdi>" in shown and "<bdi>idp/a</bdi>" in shown
    for name, found in (
        ("ALI", ["alice"]),
        ("api/bob", ["bob"]),
        ("p/a", ["b%c"]),
        ("support", ["alice", "bob"]),
    ):
        listed = main_of(owner.get("/records", name=name))
        assert [one for one in ("alice", "bob", "b%c") if f"<bdi>{one}</bdi>" in listed] == found, name
    assert "No scope is like that" in main_of(owner.get("/records", name="carol"))
    assert owner.get("/records", name="x" * 256).status_code == 200
    assert owner.get("/records", name="x" * 257).status_code == 400


def test_a_count_ends_where_it_was_counted(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("providers.held_scopes.RECORDS_COUNTED_MAX", 2)
    for number in range(2):
        desk.save(f"Fact {number}.")
    assert '<td class="number">2</td>' in main_of(owner.get("/records"))
    desk.save("Fact 2.")
    assert "more than" in main_of(owner.get("/records"))


def test_a_scope_shows_its_records_newest_first_and_nothing_of_another(owner: Site, desk: RecordDesk) -> None:
    desk.save(TEA, author="Alice", thread="chat-1", tags=["drinks"], title="Tea")
    desk.save("Alice reads.", thread="chat-2")
    desk.save("Bob drinks coffee.", of=BOB)
    shown = main_of(owner.get(scope_path(desk)))
    assert shown.index("Alice reads.") < shown.index("Alice drinks &lt;b&gt;tea")
    assert "Bob drinks" not in shown
    assert f">{desk.tenant.owner.name}</bdi>" in shown, "who wrote it"
    for query, found in (
        ({"thread": "chat-1"}, 1),
        ({"author": "Alice"}, 1),
        ({"origin": "model"}, 0),
        ({"origin": "host"}, 2),
    ):
        listed = main_of(owner.get(scope_path(desk), **query))
        assert listed.count('<section class="card" aria-label="Record') == found, query
    for query in ({"state": "gone"}, {"origin": "nobody"}, {"provider": "team"}, {"author": "x" * 257}):
        assert owner.get(scope_path(desk), **query).status_code == 400, query


def test_a_record_says_who_wrote_it_under_which_key_and_of_what(owner: Site, desk: RecordDesk) -> None:
    record_id = desk.save(TEA, key="chat-17:call-3", thread="chat 1/2", author="Alice", title="Tea")
    shown = main_of(owner.get(path_of(desk, record_id)))
    for said in (
        "Alice drinks &lt;b&gt;tea&lt;/b&gt;.",
        "chat-17:call-3",
        "<bdi>Tea</bdi>",
        "(<code>host</code>)",
        ">Done</span>",
    ):
        assert said in shown, said
    assert "?thread=chat%201%2F2&amp;provider=local" in shown
    listed = owner.client.get(f"{owner.base}{scope_path(desk)}?thread=chat%201%2F2&provider=local")
    assert "Alice drinks" in text(listed)


# --- forget ---


def test_a_forgotten_record_leaves_nothing_of_its_text(owner: Site, desk: RecordDesk) -> None:
    record_id = desk.save(TEA, author="Alice")
    page = path_of(desk, record_id)
    question = owner.get(f"{page}/forget")
    assert "There is no way back" in text(question)
    assert "Alice drinks &lt;b&gt;tea" in text(question)
    form = form_of(question)
    assert owner.post(f"{page}/forget", form)["Location"] == owner.base + scope_path(desk)
    assert texts(desk) == []
    assert desk.find("tea") == []
    after = main_of(owner.get(page))
    assert "tea" not in words_of(owner.get(page)).partition("<main")[2].lower()
    assert ">Forget<" in after.replace(" ", "") and "Correct" not in after
    assert owner.post(f"{page}/forget", form).status_code == 302, "twice succeeds"
    assert "Forgotten" in main_of(owner.get(scope_path(desk), state="forgotten"))
    assert "Nothing is held" in main_of(owner.get(scope_path(desk)))


def test_a_forget_without_its_promise_is_asked_again(owner: Site, desk: RecordDesk) -> None:
    page = f"{path_of(desk, desk.save(TEA))}/forget"
    for form in ({"promise": "meffect_0"}, {"text": "x"}):
        answer = owner.post(page, form)
        assert answer.status_code == 400
        assert "This form was not complete" in text(answer)
    assert texts(desk) == [TEA]


# --- correct ---


def test_a_correction_saves_a_new_record_and_forgets_the_old_one(owner: Site, desk: RecordDesk) -> None:
    moment = "2026-09-14T08:30:00.000000Z"
    record_id = desk.save(TEA, author="Alice", thread="chat-1", tags=["drinks"], occurred_at=moment)
    page = f"{path_of(desk, record_id)}/correct"
    form = form_of(owner.get(page))
    assert (form["text"], form["author"], form["title"]) == (TEA, "Alice", "")
    answer = owner.post(
        page, form | {"text": "Alice drinks coffee.\r\nBlack.", "author": "", "title": "Coffee"}
    )
    [new] = MemoryRecord.objects.filter(scope=desk.row(), forgotten_at=None)
    assert answer["Location"] == owner.base + path_of(desk, new.record_id)
    assert (new.text, new.title, new.author) == ("Alice drinks coffee.\nBlack.", "Coffee", None)
    assert (new.thread, new.tags, new.origin) == ("chat-1", ["drinks"], "host")
    assert new.occurred_at is not None and to_wire(new.occurred_at) == moment
    assert desk.find("drinks") == ["Alice drinks coffee.\nBlack."]
    again = owner.post(
        page, form | {"text": "Alice drinks coffee.\r\nBlack.", "author": "", "title": "Coffee"}
    )
    assert again["Location"] == answer["Location"], "the same form sent again is the same correction"
    assert texts(desk) == ["Alice drinks coffee.\nBlack."]


def test_a_correction_is_made_as_a_whole_or_not_at_all(
    owner: Site, desk: RecordDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_id = desk.save(TEA)
    page = f"{path_of(desk, record_id)}/correct"
    form = form_of(owner.get(page)) | {"text": "Alice drinks coffee."}

    def stop(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr(ScopedMemory, "forget", stop)
        with pytest.raises(KeyboardInterrupt):
            owner.post(page, form)
    assert texts(desk) == [TEA]
    assert owner.post(page, form).status_code == 302
    assert texts(desk) == ["Alice drinks coffee."]


def test_of_two_corrections_of_one_record_the_second_is_refused_and_keeps_what_was_typed(
    owner: Site, desk: RecordDesk
) -> None:
    page = f"{path_of(desk, desk.save(TEA))}/correct"
    first, second = form_of(owner.get(page)), form_of(owner.get(page))
    assert owner.post(page, first | {"text": "Alice drinks coffee."}).status_code == 302
    refused = owner.post(page, second | {"text": "Alice drinks milk."})
    assert refused.status_code == 409
    assert form_of(refused)["text"] == "Alice drinks milk."
    assert texts(desk) == ["Alice drinks coffee."]


def test_a_correction_that_changes_nothing_writes_nothing(owner: Site, desk: RecordDesk) -> None:
    record_id = desk.save("Tea.\r\nMilk.", title="Tea")
    page = f"{path_of(desk, record_id)}/correct"
    before = MemoryEffect.objects.filter(scope=desk.row()).count()
    answer = owner.post(page, form_of(owner.get(page)))
    assert answer["Location"] == owner.base + path_of(desk, record_id)
    assert MemoryEffect.objects.filter(scope=desk.row()).count() == before
    assert "Nothing was changed." in text(owner.client.get(answer["Location"]))


def test_a_correction_of_what_was_forgotten_meanwhile_keeps_what_was_typed(
    owner: Site, desk: RecordDesk
) -> None:
    record_id = desk.save(TEA)
    page = f"{path_of(desk, record_id)}/correct"
    form = form_of(owner.get(page)) | {"text": "Alice drinks coffee."}
    desk.forget(record_id)
    answer = owner.post(page, form)
    assert answer.status_code == 409
    assert "forgotten meanwhile, so nothing was saved" in text(answer)
    assert form_of(answer)["text"] == "Alice drinks coffee."
    assert texts(desk) == []


@pytest.mark.parametrize(
    ("typed", "status"),
    [
        ("", 400),
        ("x" * 8_192, 302),
        ("x" * 8_193, 400),
        ("é" * 4_096, 302),
        ("é" * 4_097, 422),
        ("nul \0", 400),
    ],
)
def test_a_correction_has_the_limits_of_a_record(
    owner: Site, desk: RecordDesk, typed: str, status: int
) -> None:
    page = f"{path_of(desk, desk.save(TEA))}/correct"
    answer = owner.post(page, form_of(owner.get(page)) | {"text": typed})
    assert answer.status_code == status
    if status != 302:
        assert 'id="id_text_error"' in text(answer)
        assert texts(desk) == [TEA]


# --- at another service ---


TEAM = {
    "providers": {"team": {"adapter": "hindsight", "options": {"url": "https://mem.example.com"}}},
    "default": "team",
}


@pytest.fixture
def team(settings: Any, desk: RecordDesk) -> str:
    """The id of a record of Alice at a service that keeps the environment's records now."""
    settings.MEMORY_PROVIDERS = json.dumps(TEAM)
    provider = Scripted()
    desk.memory(provider).remember(
        {"text": TEA, "origin": "model", "provenance": {"thread_id": "t", "event_ids": []}}, "k"
    )
    place = open_place(desk.scope(), "team", "https://mem.example.com")
    assert place is not None
    saving = claim_save(place, provider.records[0], "k")
    settle_save(saving, "theirs")
    return saving.row.record_id


def use(provider: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.provider_choice.find_provider", lambda name: bind(provider))


def test_a_record_at_a_service_is_shown_by_what_the_hub_knows(
    owner: Site, desk: RecordDesk, team: str
) -> None:
    listed = main_of(owner.get("/records"))
    assert "another service, <bdi>https://mem.example.com</bdi>" in listed
    assert "<code>idempotent</code>" in listed and "600 seconds" in listed
    assert '<td class="number">1</td>' in listed
    for path in (scope_path(desk), path_of(desk, team)):
        shown = words_of(owner.get(path)).partition("<main")[2]
        assert "Its text is with <code>team</code>" in " ".join(shown.split())
        assert "tea" not in shown.replace("team", "")


def test_what_a_former_provider_holds_is_shown_and_forgotten_and_not_corrected(
    owner: Site, desk: RecordDesk, settings: Any
) -> None:
    record_id = desk.save(TEA)
    settings.MEMORY_PROVIDERS = json.dumps(TEAM)
    assert "Its text is with" not in main_of(owner.get(scope_path(desk)))
    shown = main_of(owner.get(scope_path(desk), provider="local"))
    assert "What <code>local</code> holds is not recalled any more" in shown
    assert "Alice drinks" in shown and "Correct" not in shown
    page = f"{path_of(desk, record_id)}/forget"
    assert owner.post(page, form_of(owner.get(page))).status_code == 302
    assert texts(desk) == []


@pytest.mark.parametrize("end", ["forget", "correct"])
def test_a_service_that_does_not_answer_leaves_a_write_to_decide_on(
    owner: Site, desk: RecordDesk, team: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Scripted(unavailable())
    use(provider, monkeypatch)
    page = f"{path_of(desk, team)}/{end}"
    answer = owner.post(page, form_of(owner.get(page)) | ({"text": "Coffee."} if end == "correct" else {}))
    assert answer["Location"] == owner.base + scope_path(desk)
    assert "Nobody knows yet whether the provider" in text(owner.client.get(answer["Location"]))
    assert [method for method, _ in provider.sent] == ["remember" if end == "correct" else "forget"], (
        "the old one stays"
    )


def test_a_correction_whose_forget_is_unknown_says_so(
    owner: Site, desk: RecordDesk, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Scripted()
    use(provider, monkeypatch)
    provider.answers = [lambda: _saved(provider)]
    page = f"{path_of(desk, team)}/correct"
    answer = owner.post(page, form_of(owner.get(page)) | {"text": "Coffee."})
    assert answer.status_code == 302
    assert [method for method, _ in provider.sent] == ["remember", "forget"]
    assert provider.records[0].text == "Coffee."


def test_a_correction_at_a_service_that_was_cut_in_the_middle_goes_on_and_no_other_is_made(
    owner: Site, desk: RecordDesk, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Scripted()
    use(provider, monkeypatch)
    page = f"{path_of(desk, team)}/correct"
    form, other = form_of(owner.get(page)), form_of(owner.get(page))

    def stop(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as cut:
        cut.setattr("providers.record_corrections._forget", stop)
        with pytest.raises(KeyboardInterrupt):
            owner.post(page, form | {"text": "Coffee."})
    refused = owner.post(page, other | {"text": "Milk."})
    assert refused.status_code == 409
    assert "another stands in its place" in text(refused) and form_of(refused)["text"] == "Milk."
    assert owner.post(page, form | {"text": "Coffee."}).status_code == 302
    assert [method for method, _ in provider.sent] == ["remember", "forget"]
    assert [one.text for one in provider.records] == ["Coffee."]


def test_a_correction_that_a_service_refused_leaves_the_record_to_another(
    owner: Site, desk: RecordDesk, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Scripted(refuse("Not this."))
    use(provider, monkeypatch)
    page = f"{path_of(desk, team)}/correct"
    form, other = form_of(owner.get(page)), form_of(owner.get(page))
    assert owner.post(page, form | {"text": "Coffee."}).status_code == 422
    assert owner.post(page, other | {"text": "Milk."}).status_code == 302
    assert [one.text for one in provider.records] == ["Coffee.", "Milk."]


def _saved(provider: Scripted) -> Any:
    from providers.contract import Ok, RecordRef

    provider.answers = [unavailable()]
    return Ok(RecordRef("r2", "1"))


def test_what_a_provider_refuses_comes_back_in_its_form(
    owner: Site, desk: RecordDesk, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from providers.contract import refuse

    use(Scripted(refuse("Too long for us.")), monkeypatch)
    page = f"{path_of(desk, team)}/correct"
    answer = owner.post(page, form_of(owner.get(page)) | {"text": "Coffee."})
    assert answer.status_code == 422
    assert "Too long for us" in text(answer)
    assert form_of(answer)["text"] == "Coffee."


def test_a_provider_that_is_configured_no_more_forgets_nothing(
    owner: Site, desk: RecordDesk, team: str, settings: Any
) -> None:
    page = f"{path_of(desk, team)}/forget"
    form = form_of(owner.get(page))
    settings.MEMORY_PROVIDERS = "{}"
    shown = main_of(owner.get(scope_path(desk), provider="team"))
    assert "Forget…" not in shown
    answer = owner.post(page, form)
    assert answer.status_code == 409
    assert "not configured any more" in text(answer)


# --- who may, where, and at what cost ---


def test_records_of_another_environment_are_not_there(
    tenant: Tenant, stranger: Tenant, desk: RecordDesk
) -> None:
    record_id = desk.save(TEA)
    for site in (
        sign_in(tenant.owner, tenant.project, "production"),
        sign_in(stranger.owner, stranger.project),
    ):
        page = path_of(desk, record_id)
        for path in (scope_path(desk), page, f"{page}/forget", f"{page}/correct"):
            assert site.get(path).status_code == 404, path
            assert site.post(path).status_code in (404, 405), path
        assert "alice" not in main_of(site.get("/records")).partition("<pre")[0]
    assert texts(desk) == [TEA]


def test_a_record_of_another_scope_is_not_there(owner: Site, desk: RecordDesk) -> None:
    record_id = desk.save(TEA)
    desk.save("Bob drinks coffee.", of=BOB)
    assert owner.get(path_of(desk, record_id, of=BOB)).status_code == 404
    assert owner.get(f"{path_of(desk, record_id)}0").status_code == 404
    for unknown in ("rscope_0", "rscope_" + "0" * 32, "x"):
        assert owner.get(f"/records/scopes/{unknown}").status_code == 404


def test_roles_see_what_they_may(tenant: Tenant, desk: RecordDesk) -> None:
    page = path_of(desk, desk.save(TEA))
    words = ("Forget…", "Correct<", "Find the text everywhere")
    for role, wanted in {"viewer": set(), "reviewer": set(), "developer": {"Forget…", "Correct<"}}.items():
        site = sign_in(add_person(tenant, role), tenant.project)
        shown = main_of(site.get(page)) + main_of(site.get(scope_path(desk)))
        assert {word for word in words if word in shown} == wanted, role
        assert "Alice drinks" in shown
        for end in ("forget", "correct"):
            assert site.get(f"{page}/{end}").status_code == (200 if wanted else 403)


def test_the_text_of_a_record_is_found_everywhere_by_its_owner(owner: Site, desk: RecordDesk) -> None:
    page = owner.get(path_of(desk, desk.save(TEA)))
    assert 'name="sought-contains" value="Alice drinks &lt;b&gt;tea&lt;/b&gt;."' in text(page)
    found = main_of(owner.post("/redactions/find", {"sought-contains": TEA}))
    assert "1 record</strong> that hosts keep in endpoints or agents remember" in found


def test_lists_cost_as_much_over_many_and_are_paged(owner: Site, desk: RecordDesk) -> None:
    def grow(first: int, count: int) -> None:
        for number in range(first, first + count):
            desk.save(f"Fact {number}.", key=f"fact-{number}")
            desk.save("Of another.", of=RecordScope(f"agent-{number}", "api", "x"), key="one")

    def count(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get(path).status_code == 200
        return len(queries)

    grow(0, 21)
    pages = ("/records", scope_path(desk), "")
    few = [count(path) for path in pages]
    grow(21, 20)
    assert [count(path) for path in pages] == few
    for path, words in (("/records", "agent-"), (scope_path(desk), "Fact ")):
        first = owner.get(path)
        following = text(first).partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
        second = owner.client.get(following.replace("&amp;", "&"))
        assert f"{words}40" in text(first) and f"{words}20" in text(second)
        assert owner.get(path, page="page_forged").status_code == 400


def test_the_overview_names_the_newest_scopes(owner: Site, desk: RecordDesk) -> None:
    assert "There is none here yet." in main_of(owner.get())
    desk.save(TEA)
    shown = main_of(owner.get())
    assert f'href="{owner.base}{scope_path(desk)}"' in shown
    assert "<dt>scope</dt><dd>1</dd>" in shown


def test_a_correction_by_an_actor_without_the_record_finds_nothing(
    tenant: Tenant, stranger: Tenant, desk: RecordDesk
) -> None:
    from memoryhub.errors import NotFound

    record_id = desk.save(TEA)
    with pytest.raises(NotFound):
        correct_record(desk.row().wire_id, record_id, fields={"text": "x"}, key="k", actor=stranger.actor)
    assert texts(desk) == [TEA]

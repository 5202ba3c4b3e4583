"""The pages of the keys: the secret is shown once, whatever the browser does; the rules are the verb's."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryhub import keys
from memoryhub.models import ApiKey
from tests.concurrency.clients import run_together
from tests.console.site import Site, add_person, sign_in
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, make_tenant, unused_id

_PROMISE = re.compile(r'name="promise" value="([^"]+)"')
_SECRET = re.compile(r"mh_[0-9a-f]{32}_[A-Za-z0-9_-]{43}")
NEW = {"name": "Release agent", "scopes": "read", "environment": "here"}


def promise_on(site: Site, path: str) -> str:
    found = _PROMISE.search(site.get(path).content.decode())
    assert found
    return found[1]


def send(site: Site, **typed: Any) -> Any:
    """The form of a new key, as a person who has just opened it sends it."""
    return site.post("/keys/new", {"promise": promise_on(site, "/keys/new"), **NEW, **typed})


def secret_in(answer: Any) -> str:
    assert answer.status_code == 200, answer.content
    return str(_SECRET.findall(answer.content.decode())[0])


def test_a_new_key_is_shown_on_the_answer_and_works_as_ticked(owner: Site, tenant: Tenant) -> None:
    answer = send(owner)
    secret = secret_in(answer)
    assert "no-store" in answer["Cache-Control"]
    assert secret not in str(answer.headers)
    call = Caller(secret)
    assert call("GET", "/v1/memory_stores").status == 200
    assert call("POST", "/v1/memory_stores", {"name": "x"}).status == 403
    made = ApiKey.objects.get(name="Release agent")
    assert (made.environment_id, made.created_by_id) == (tenant.development.id, tenant.owner.wire_id)
    for path in ("/keys", f"/keys/{made.wire_id}", f"/keys/{made.wire_id}/revoke"):
        shown = owner.get(path).content.decode()
        assert not _SECRET.search(shown)
        assert made.secret_hint in shown


def test_a_form_that_is_sent_twice_makes_one_key_and_shows_it_once(owner: Site, tenant: Tenant) -> None:
    form = {"promise": promise_on(owner, "/keys/new"), **NEW}
    secret_in(owner.post("/keys/new", form))
    count = ApiKey.objects.count()
    again = owner.post("/keys/new", form)
    assert again.status_code == 409
    assert "was made already" in again.content.decode()
    assert not _SECRET.search(again.content.decode())
    assert ApiKey.objects.count() == count


def test_two_clicks_at_once_make_one_key(committed: Tenant) -> None:
    site = sign_in(committed.owner, committed.project)
    form = {"promise": promise_on(site, "/keys/new"), **NEW}
    answers: list[int] = []
    send_it: Callable[[], None] = lambda: answers.append(  # noqa: E731
        sign_in(committed.owner, committed.project).post("/keys/new", form).status_code
    )
    run_together([send_it] * 4)
    assert sorted(answers) == [200, 409, 409, 409]
    assert ApiKey.objects.filter(project=committed.project, name="Release agent").count() == 1


def test_a_promise_is_good_for_its_person_its_project_and_its_kind(
    owner: Site, tenant: Tenant, stranger: Tenant
) -> None:
    another = sign_in(add_person(tenant, "owner"), tenant.project)
    elsewhere = sign_in(stranger.owner, stranger.project)
    foreign = [
        "",
        "apikey_" + "0" * 32,
        promise_on(another, "/keys/new"),
        promise_on(elsewhere, "/keys/new"),
        promise_on(owner, "/people/invitations/new"),
    ]
    for promise in foreign:
        answer = owner.post("/keys/new", {**NEW, "promise": promise})
        assert answer.status_code == 400, promise
        shown = answer.content.decode()
        assert "This form was not complete" in shown
        assert 'value="Release agent"' in shown
        fresh = _PROMISE.search(shown)
        assert fresh
        assert fresh[1] != promise
    secret_in(owner.post("/keys/new", {**NEW, "promise": fresh[1]}))


def test_an_agents_key_reaches_the_stores_that_were_chosen(owner: Site, shelf: Shelf, call: Caller) -> None:
    other = call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"]
    agent = Caller(secret_in(send(owner, scopes="agent", **{shelf.store_id: "read_only", other: ""})))
    assert agent("GET", f"/v1/memory_stores/{shelf.store_id}/memories").status == 200
    write = agent("POST", f"/v1/memory_stores/{shelf.store_id}/memories", {"path": "/a", "content": ""})
    assert (write.status, write.error_code) == (403, "store_read_only")
    assert agent("GET", f"/v1/memory_stores/{other}/memories").status == 404


def test_the_pages_of_an_agents_key_say_where_it_connects(owner: Site, shelf: Shelf, tenant: Tenant) -> None:
    shown = send(owner, scopes="agent", **{shelf.store_id: "read_only"}).content.decode()
    assert shown.count(settings.MCP_URL) == 2
    key = ApiKey.objects.get(name="Release agent", project_id=tenant.project.id)
    assert settings.MCP_URL in owner.get(f"/keys/{key.wire_id}").content.decode()
    keys.revoke_key(key.wire_id, actor=tenant.actor)
    assert settings.MCP_URL not in owner.get(f"/keys/{key.wire_id}").content.decode()
    plain = keys.create_key(environment="development", name="app", scopes=["read"], actor=tenant.actor)
    assert settings.MCP_URL not in owner.get(f"/keys/{plain.key.wire_id}").content.decode()


RECORDS = {"record_agent": "support", "record_subject": "alice", "record_issuer": "api"}


def test_an_agents_key_reaches_the_records_that_were_named(owner: Site, tenant: Tenant) -> None:
    agent = Caller(secret_in(send(owner, scopes="agent", **RECORDS)))
    save = {"headers": {"Idempotency-Key": "k1"}}
    assert agent("POST", "/v1/records/save", {"text": "Alice rows."}, **save).status == 201
    key = ApiKey.objects.get(name="Release agent", project_id=tenant.project.id)
    shown = owner.get(f"/keys/{key.wire_id}").content.decode()
    assert "of the agent <bdi>support</bdi> with <bdi>alice</bdi>" in shown
    secret_in(send(owner, **RECORDS, name="For another scope"))
    assert ApiKey.objects.get(name="For another scope", project_id=tenant.project.id).record_scope is None


@pytest.mark.parametrize("left_out", RECORDS)
def test_records_are_named_whole_or_not_at_all(owner: Site, left_out: str) -> None:
    answer = send(owner, scopes="agent", **(RECORDS | {left_out: ""}))
    assert answer.status_code == 400
    shown = answer.content.decode()
    assert shown.count("Fill in all three") == 1
    assert not ApiKey.objects.filter(name="Release agent").exists()


def test_stores_that_were_chosen_for_another_scope_are_left_out(owner: Site, shelf: Shelf) -> None:
    secret_in(send(owner, **{shelf.store_id: "read_only"}))
    assert ApiKey.objects.get(name="Release agent").stores is None


def test_a_store_that_is_named_is_chosen_already(owner: Site, shelf: Shelf, stranger: Tenant) -> None:
    shown = owner.get("/keys/new", store=shelf.store_id).content.decode()
    chosen = shown.partition(f'name="{shelf.store_id}"')[2].partition("</select>")[0]
    assert '<option value="read_only" selected>' in chosen
    foreign = stranger.call()("POST", "/v1/memory_stores", {"name": "Theirs"}).body["id"]
    assert foreign not in owner.get("/keys/new", store=foreign).content.decode().partition("<main")[2]


REFUSED = {
    "no name": ({"name": ""}, "id_name_error"),
    "one past the name": ({"name": "n" * 256}, "id_name_error"),
    "nothing ticked": ({"scopes": []}, "id_scopes_error"),
    "agent beside another": ({"scopes": ["agent", "read"]}, "id_scopes_error"),
    "an agent of the whole project": ({"scopes": "agent", "environment": "project"}, "id_environment_error"),
    "no day": ({"expires_at": "soon"}, "id_expires_at_error"),
    "a day that has passed": ({"expires_at": "2020-01-01"}, "id_expires_at_error"),
    "nowhere": ({"environment": ""}, "id_environment_error"),
}


@pytest.mark.parametrize(("typed", "beside"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_stands_beside_its_field_and_what_was_typed_is_kept(
    owner: Site, typed: dict[str, Any], beside: str
) -> None:
    count = ApiKey.objects.count()
    answer = send(owner, **typed)
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert re.findall(r'class="problem" id="(\w+)"', shown) == [beside]
    for value in (value for value in (NEW | typed).values() if isinstance(value, str) and value):
        assert f'value="{value}"' in shown
    assert not re.search(r"This must be|expires_at:|scopes:", shown)
    assert ApiKey.objects.count() == count


def test_a_key_at_the_limit_is_made_and_one_past_is_refused(
    owner: Site, tenant: Tenant, settings: Any
) -> None:
    settings.KEYS_MAX = ApiKey.objects.filter(project=tenant.project).count() + 1
    secret_in(send(owner, name="n" * 255))
    refused = send(owner)
    assert refused.status_code == 400
    assert "revoke one first" in refused.content.decode()


def test_a_key_works_to_the_end_of_its_last_day(owner: Site) -> None:
    with time_machine.travel(datetime(2026, 11, 30, 12, tzinfo=UTC), tick=False):
        secret_in(send(owner, expires_at="2026-11-30"))
    assert ApiKey.objects.get(name="Release agent").expires_at == datetime(2026, 12, 1, tzinfo=UTC)


def test_the_last_day_of_the_calendar_is_one(owner: Site) -> None:
    secret_in(send(owner, expires_at="9999-12-31"))
    key = ApiKey.objects.get(name="Release agent")
    assert key.expires_at == datetime.max.replace(tzinfo=UTC)
    assert "9999-12-31" in owner.get(f"/keys/{key.wire_id}").content.decode()


def test_a_key_of_the_whole_project_is_made_from_any_environment(owner: Site) -> None:
    secret = secret_in(send(owner, scopes="admin", environment="project"))
    assert Caller(secret)("GET", "/v1/members").status == 200


def test_the_states_of_keys_are_told_apart(owner: Site, tenant: Tenant) -> None:
    now = timezone.now()
    rows = {
        "valid": {"expires_at": now + timedelta(days=1)},
        "ending": {"revoked_at": now + timedelta(hours=1)},
        "expired": {"expires_at": now},
        "revoked": {"revoked_at": now},
    }
    for state, columns in rows.items():
        made = keys.create_key(environment="development", name=state, scopes=["read"], actor=tenant.actor)
        ApiKey.objects.filter(id=made.key.id).update(**columns)
        shown = owner.get(f"/keys/{made.key.wire_id}").content.decode().partition("<main")[2]
        assert f">{state.capitalize()}</span>" in shown
        assert ("/rotate" in shown, "/revoke" in shown) == (state == "valid", state != "revoked")


def test_a_rotated_key_overlaps_and_its_successor_is_shown_once(owner: Site, tenant: Tenant) -> None:
    old = keys.create_key(environment="development", name="app", scopes=["read"], actor=tenant.actor)
    url = f"/keys/{old.key.wire_id}/rotate"
    new = secret_in(owner.post(url, {"overlap_seconds": "3600"}))
    assert [Caller(secret)("GET", "/v1/projects").status for secret in (old.secret, new)] == [200, 200]
    again = owner.post(url, {"overlap_seconds": "3600"})
    assert again.status_code == 400
    assert "rotated or revoked already" in again.content.decode()
    assert ApiKey.objects.filter(name="app").count() == 2
    assert owner.post(url, {"overlap_seconds": "99"}).status_code == 400


def test_revoking_asks_by_name_and_says_when_the_key_was_used(owner: Site, tenant: Tenant) -> None:
    made = keys.create_key(environment="production", name="Old app", scopes=["read"], actor=tenant.actor)
    url = f"/keys/{made.key.wire_id}/revoke"
    assert "never used" in owner.get(url).content.decode()
    assert Caller(made.secret)("GET", "/v1/projects").status == 200
    asked = owner.get(url).content.decode()
    assert "Revoke <bdi>Old app</bdi>?" in asked
    assert "last used <strong>" in asked
    assert owner.post(url)["Location"] == f"{owner.base}/keys/{made.key.wire_id}"
    assert Caller(made.secret)("GET", "/v1/projects").status == 401


def test_a_foreign_key_is_told_as_one_that_never_was(owner: Site, stranger: Tenant) -> None:
    foreign = ApiKey.objects.filter(project=stranger.project).first()
    assert foreign
    for end in ("", "/rotate", "/revoke"):
        for method in (owner.get, owner.post):
            statuses = {
                method(f"/keys/{key}{end}").status_code for key in (foreign.wire_id, unused_id("apikey"))
            }
            assert statuses <= {404} or (end == "" and method == owner.post and statuses <= {405})
    assert ApiKey.objects.get(id=foreign.id).revoked_at is None


def test_the_list_makes_as_many_queries_for_20_keys_as_for_3(owner: Site, tenant: Tenant) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert owner.get("/keys").status_code == 200
        return len(queries)

    few = count()
    for number in range(25):
        keys.create_key(environment="development", name=f"k{number}", scopes=["read"], actor=tenant.actor)
    assert count() == few < 12
    assert 'rel="next"' in owner.get("/keys").content.decode()


def test_names_of_keys_are_text(owner: Site) -> None:
    name = "<script>alert(1)</script>"
    answer = send(owner, name=name)
    pages = [answer, owner.get("/keys"), owner.get(f"/keys/{ApiKey.objects.get(name=name).wire_id}")]
    assert all(b"<script>alert" not in one.content and b"alert(1)" in one.content for one in pages)


def test_nobody_else_makes_keys(stranger: Tenant, tenant: Tenant) -> None:
    make_tenant()
    foreign = sign_in(stranger.owner, tenant.project)
    assert foreign.post("/keys/new", NEW).status_code == 404

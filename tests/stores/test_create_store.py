import re
from typing import Any

import pytest

from memoryhub.audit import AuditAction
from memoryhub.models import AuditEvent
from stores.limits import (
    METADATA_KEY_LENGTH_MAX,
    METADATA_PAIRS_MAX,
    METADATA_VALUE_LENGTH_MAX,
    STORE_DESCRIPTION_LENGTH_MAX,
    STORE_NAME_LENGTH_MAX,
)
from stores.models import MemoryStore
from tests.world import Caller, Tenant

STORES = "/v1/memory_stores"
# The contract's, in its order, and then ours.
STORE_KEYS = [
    "id", "type", "name", "description", "metadata", "created_at", "updated_at", "archived_at",
    "frozen_at",
]  # fmt: skip
WIRE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def test_a_store_answers_every_key_in_the_contracts_order(call: Caller) -> None:
    sent = {"name": "User Preferences", "description": "Per-user preferences.", "metadata": {"user": "u1"}}
    made = call("POST", STORES, sent)
    assert made.status == 200
    assert list(made.body) == STORE_KEYS
    assert re.fullmatch(r"memstore_[0-9a-f]{32}", made.body["id"])
    assert made.body == sent | {
        "id": made.body["id"],
        "type": "memory_store",
        "created_at": made.body["created_at"],
        "updated_at": made.body["created_at"],
        "archived_at": None,
        "frozen_at": None,
    }
    assert WIRE_TIME.fullmatch(made.body["created_at"])
    assert call("GET", f"{STORES}/{made.body['id']}").body == made.body


def test_every_answer_says_its_type_and_the_request(call: Caller) -> None:
    for answer in (call("POST", STORES, {"name": "x"}), call("POST", STORES, {}), call("PUT", STORES)):
        assert answer.headers["content-type"] == "application/json"
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["request-id"])


def test_an_error_is_the_envelope_and_names_its_request(call: Caller) -> None:
    refused = call("POST", STORES, {})
    assert list(refused.body) == ["type", "error", "request_id"]
    assert refused.body["type"] == "error"
    assert refused.body["request_id"] == refused.headers["request-id"]
    assert refused.body["error"] == {
        "type": "invalid_request_error",
        "message": "name: This field is required.",
    }


def test_only_the_name_is_required(call: Caller) -> None:
    made = call("POST", STORES, {"name": "n"}).body
    assert (made["description"], made["metadata"], made["archived_at"]) == ("", {}, None)


def test_creating_is_audited_once_with_its_key(call: Caller, tenant: Tenant) -> None:
    made = call("POST", STORES, {"name": "n"})
    event = AuditEvent.objects.get(action=AuditAction.MEMORY_STORE_CREATED, project=tenant.project)
    assert (event.subject_id, event.actor_type) == (made.body["id"], "api_actor")
    assert event.environment_id == tenant.development.id
    assert event.request_id == made.headers["request-id"]


def test_names_need_not_be_unique_and_ids_are(call: Caller) -> None:
    first, second = (call("POST", STORES, {"name": "same"}).body for _ in range(2))
    assert first["name"] == second["name"]
    assert first["id"] < second["id"]  # in order of creation


def test_text_is_kept_as_it_was_sent(call: Caller) -> None:
    sent = {
        "name": "  é e\u0301 \U0001f600 ",
        "description": " \n\ttabs\r\n ",
        "metadata": {" k ": " v\n", "K": "v"},
    }
    made = call("POST", STORES, sent).body
    assert {name: made[name] for name in sent} == sent


AT_THE_LIMIT: list[dict[str, Any]] = [
    {"name": "\U0001f600" * STORE_NAME_LENGTH_MAX},
    {"description": "é" * STORE_DESCRIPTION_LENGTH_MAX},
    {"metadata": {f"k{n}": "" for n in range(METADATA_PAIRS_MAX)}},
    {"metadata": {"é" * METADATA_KEY_LENGTH_MAX: "v"}},
    {"metadata": {"k": "\U0001f600" * METADATA_VALUE_LENGTH_MAX}},
    {"name": "n", "description": "", "metadata": {}},
]
ONE_PAST: list[dict[str, Any]] = [
    {"name": "n" * (STORE_NAME_LENGTH_MAX + 1)},
    {"name": ""},
    {"description": "d" * (STORE_DESCRIPTION_LENGTH_MAX + 1)},
    {"metadata": {f"k{n}": "" for n in range(METADATA_PAIRS_MAX + 1)}},
    {"metadata": {"k" * (METADATA_KEY_LENGTH_MAX + 1): "v"}},
    {"metadata": {"": "v"}},
    {"metadata": {"k": "v" * (METADATA_VALUE_LENGTH_MAX + 1)}},
]


@pytest.mark.parametrize("fields", AT_THE_LIMIT, ids=range(len(AT_THE_LIMIT)))
def test_at_the_limit(call: Caller, fields: dict[str, Any]) -> None:
    made = call("POST", STORES, {"name": "n"} | fields)
    assert made.status == 200, made.body
    assert {name: made.body[name] for name in fields} == fields


@pytest.mark.parametrize("fields", ONE_PAST, ids=range(len(ONE_PAST)))
def test_one_past_the_limit(tenant: Tenant, call: Caller, fields: dict[str, Any]) -> None:
    refused = call("POST", STORES, {"name": "n"} | fields)
    assert refused.refusal == (400, "invalid_request_error", None)
    assert refused.message.startswith(f"{next(iter(fields))}: ")
    assert not tenant.project.memory_stores.exists()


MALFORMED: list[Any] = [
    {},
    {"name": None},
    {"name": 1},
    {"name": ["n"]},
    {"name": "a\nb"},
    {"name": "a\x7fb"},
    {"name": "a\x85b"},
    {"name": "n", "description": 1},
    {"name": "n", "description": None},
    {"name": "n", "metadata": []},
    {"name": "n", "metadata": {"k": 1}},
    {"name": "n", "metadata": {"k": None}},
    {"name": "n", "metadata": {"k": {"x": "y"}}},
    {"name": "n", "id": "memstore_1"},
    {"name": "n", "archived_at": None},
    [],
    None,
]


@pytest.mark.parametrize("body", MALFORMED, ids=repr)
def test_a_malformed_body_is_refused_and_creates_nothing(tenant: Tenant, call: Caller, body: Any) -> None:
    refused = call("POST", STORES, body)
    assert (refused.status, refused.error_type) == (400, "invalid_request_error")
    assert not tenant.project.memory_stores.exists()


def test_a_store_past_the_quota_of_its_environment_is_refused(call: Caller, settings: Any) -> None:
    settings.STORES_MAX = 2
    assert [call("POST", STORES, {"name": "n"}).status for _ in range(2)] == [200, 200]
    assert call("POST", STORES, {"name": "n"}).refusal == (400, "invalid_request_error", "stores_full")


def test_a_project_key_names_the_environment(tenant: Tenant) -> None:
    call = tenant.caller("admin", whole=True)
    assert call("POST", STORES, {"name": "n"}).message.startswith("environment: ")
    for environment in (tenant.production.name, tenant.production.wire_id):
        made = call("POST", STORES, {"name": "n", "environment": environment})
        assert list(made.body) == STORE_KEYS
        store = MemoryStore.objects.get(id=made.body["id"].removeprefix("memstore_"))
        assert store.environment_id == tenant.production.id


@pytest.mark.parametrize("environment", ["production", "nowhere"])
def test_an_environment_that_is_not_the_keys_is_not_found(call: Caller, environment: str) -> None:
    refused = call("POST", STORES, {"name": "n", "environment": environment})
    assert refused.refusal == (404, "not_found_error", None)

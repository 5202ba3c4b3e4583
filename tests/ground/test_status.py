import yaml
from django.db import OperationalError
from django.test import Client

from memoryhub import openapi, readiness


def test_a_serving_hub_says_so() -> None:
    answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert answer["request-id"].startswith("req_")


def test_a_ready_hub_names_no_cause(db: None) -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "causes": []})


def test_without_the_database_the_hub_is_not_ready(db: None, monkeypatch) -> None:
    def fail(self) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("django.db.migrations.recorder.MigrationRecorder.applied_migrations", fail)
    answer = Client().get("/readyz")
    assert answer.status_code == 503
    assert [cause["part"] for cause in answer.json()["causes"]] == ["database"]


def test_without_the_queue_requests_are_still_served(db: None, settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    answer = Client().get("/readyz").json()
    assert (answer["status"], [cause["part"] for cause in answer["causes"]]) == ("degraded", ["queue"])


def test_pending_migrations_are_named(db: None, monkeypatch) -> None:
    known = readiness._known_migrations()
    monkeypatch.setattr(readiness, "_known_migrations", lambda: known | {("stores", "9999_later")})
    assert [cause["part"] for cause in Client().get("/readyz").json()["causes"]] == ["schema"]


def test_metrics_count_requests_by_operation_and_status(db: None) -> None:
    Client().get("/healthz")
    text = Client().get("/metrics").content.decode()
    assert 'memoryhub_requests_total{operation="healthz",status="200"}' in text


def test_the_openapi_document_is_public_and_names_every_operation() -> None:
    answer = Client().get("/openapi.yaml")
    document = yaml.safe_load(answer.content)
    assert answer.status_code == 200 and document["openapi"].startswith("3.1")
    shown = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    assert "memories.update" in shown
    assert document == yaml.safe_load(openapi.document_yaml())


def test_every_answer_carries_the_security_headers(db: None) -> None:
    for path in ("/healthz", "/sign-in", "/v1/memory_stores", "/nowhere", "/v1/nowhere", "/docs"):
        answer = Client().get(path)
        assert "default-src 'none'" in answer["Content-Security-Policy"], path
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin"
        assert answer["request-id"].startswith("req_")


def test_unknown_paths_answer_in_the_language_of_their_door(db: None) -> None:
    api, page = Client().get("/v1/nowhere"), Client().get("/nowhere")
    assert (api.status_code, api.json()["error"]["type"]) == (404, "not_found_error")
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")

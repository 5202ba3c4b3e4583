"""Every URL of the hub is an operation of the document, or stands on a written list."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memoryhub.api import HubView
from stores import memory_stores
from tests.documented import METHODS, documented_operations
from tests.world import Tenant

# Anyone may ask these, and each says why.
OPEN_ROUTES = {
    "/healthz": "a load balancer has no key; it tells nothing but that the process serves",
    "/readyz": "the same; causes name parts of the hub, never what it holds",
    "/metrics": "Prometheus has no key; counts by operation and status, no tenant in them",
    "/openapi.yaml": "clients read it before they have a key; it is the same for every hub",
    "/oc-memory/{endpoint_id}": "the memory protocol, with the endpoint's own credentials: see test_endpoint_wire",
    "/oc-memory/{endpoint_id}/partitions/{partition}/ingest": "the same",
    "/sign-in": "the way in",
    "/sign-in/{token}": "the way in, by a secret",
    "/invitations/{token}": "joining, by a secret",
    "/docs": "the documentation is that of every hub",
    "/docs/reference": "the documentation is that of every hub",
    "/docs/{name}": "the documentation is that of every hub",
}
# Pages that show nothing without a signed-in person: they send everybody else to the sign-in page.
ENVIRONMENT = "/p/{project_id}/{environment}"
STORE = ENVIRONMENT + "/stores/{store_id}"
JOB = ENVIRONMENT + "/work/{job_id}"
RESOURCE = ENVIRONMENT + "/resources/{resource_id}"
DOCUMENT = RESOURCE + "/documents/{document_id}"
SESSION = ENVIRONMENT + "/sessions/{session_id}"
CALL = ENVIRONMENT + "/calls/{operation_id}"
ENDPOINT = ENVIRONMENT + "/endpoints/{endpoint_id}"
SCOPE = ENVIRONMENT + "/records/scopes/{scope_id}"
MEMORY_RECORD = SCOPE + "/records/{memory_record_id}"
PARTITION = ENDPOINT + "/partitions/{partition_id}"
WEBHOOK = ENVIRONMENT + "/webhooks/{webhook_id}"
NOMINATION = ENVIRONMENT + "/review/{authority_id}/{nomination_sha256}"
AUTHORITY = ENVIRONMENT + "/authorities/{authority_id}"
HOST_CALL = AUTHORITY + "/calls/{call_id}"
RECEIPT = AUTHORITY + "/receipts/{receipt_sha256}"
CONSOLE_ROUTES = {
    "/",
    "/start",
    "/projects/new",
    "/sign-out",
    "/account/theme",
    "/account",
    "/account/password",
    "/account/mails/{member_id}",
    "/account/sessions/end-others",
    "/account/sessions/{session_key}/end",
    ENVIRONMENT,
    f"{ENVIRONMENT}/keys",
    f"{ENVIRONMENT}/keys/new",
    ENVIRONMENT + "/keys/{key_id}",
    ENVIRONMENT + "/keys/{key_id}/rotate",
    ENVIRONMENT + "/keys/{key_id}/revoke",
    f"{ENVIRONMENT}/webhooks",
    f"{ENVIRONMENT}/webhooks/new",
    WEBHOOK,
    f"{WEBHOOK}/settings",
    f"{WEBHOOK}/rotate",
    f"{WEBHOOK}/delete",
    f"{WEBHOOK}/test",
    f"{WEBHOOK}/replay",
    WEBHOOK + "/deliveries/{delivery_id}",
    WEBHOOK + "/deliveries/{delivery_id}/replay",
    f"{ENVIRONMENT}/people",
    ENVIRONMENT + "/people/{member_id}/role",
    ENVIRONMENT + "/people/{member_id}/remove",
    f"{ENVIRONMENT}/people/invitations",
    f"{ENVIRONMENT}/people/invitations/new",
    ENVIRONMENT + "/people/invitations/{invitation_id}/revoke",
    f"{ENVIRONMENT}/audit",
    f"{ENVIRONMENT}/audit/export",
    f"{ENVIRONMENT}/stores",
    f"{ENVIRONMENT}/stores/new",
    f"{ENVIRONMENT}/search",
    f"{ENVIRONMENT}/settings",
    f"{ENVIRONMENT}/settings/rename",
    f"{ENVIRONMENT}/settings/environments/new",
    ENVIRONMENT + "/settings/environments/{other_id}/rename",
    f"{ENVIRONMENT}/work",
    f"{ENVIRONMENT}/operations",
    JOB,
    f"{JOB}/progress",
    f"{JOB}/file",
    f"{JOB}/cancel",
    f"{JOB}/delete-file",
    f"{ENVIRONMENT}/stores/import",
    f"{ENVIRONMENT}/stores/archive",
    f"{ENVIRONMENT}/records/import",
    f"{STORE}/export",
    f"{STORE}/zip",
    STORE,
    f"{STORE}/upload",
    f"{STORE}/settings",
    f"{STORE}/retention",
    f"{STORE}/delete",
    f"{STORE}/freeze",
    f"{STORE}/unfreeze",
    f"{STORE}/archive",
    f"{STORE}/history",
    f"{STORE}/as-it-was",
    f"{STORE}/compare",
    f"{STORE}/find",
    f"{STORE}/redact",
    STORE + "/versions/{version_id}",
    STORE + "/versions/{version_id}/restore",
    STORE + "/versions/{version_id}/redact",
    f"{ENVIRONMENT}/redactions",
    f"{ENVIRONMENT}/redactions/find",
    f"{ENVIRONMENT}/redactions/new",
    STORE + "/versions/{version_id}/raw",
    STORE + "/memories/new",
    STORE + "/memories/{memory_id}",
    STORE + "/memories/{memory_id}/raw",
    STORE + "/memories/{memory_id}/edit",
    STORE + "/memories/{memory_id}/move",
    STORE + "/memories/{memory_id}/delete",
    STORE + "/memories/{memory_id}/history",
    STORE + "/memories/{memory_id}/freeze",
    STORE + "/memories/{memory_id}/unfreeze",
    ENVIRONMENT + "/settings/environments/{other_id}/delete",
    f"{ENVIRONMENT}/settings/delete",
    f"{ENVIRONMENT}/resources",
    f"{ENVIRONMENT}/declare",
    RESOURCE,
    f"{RESOURCE}/declaration",
    f"{RESOURCE}/export",
    f"{RESOURCE}/new-document",
    DOCUMENT,
    f"{DOCUMENT}/edit",
    f"{DOCUMENT}/title",
    f"{DOCUMENT}/freeze",
    f"{DOCUMENT}/unfreeze",
    f"{DOCUMENT}/delete",
    f"{ENVIRONMENT}/try",
    f"{ENVIRONMENT}/deployments",
    f"{ENVIRONMENT}/deployments/new",
    ENVIRONMENT + "/deployments/{deployment_id}",
    ENVIRONMENT + "/deployments/{deployment_id}/promote",
    f"{ENVIRONMENT}/secrets",
    f"{ENVIRONMENT}/secrets/new",
    ENVIRONMENT + "/secrets/{secret_id}",
    ENVIRONMENT + "/secrets/{secret_id}/delete",
    f"{ENVIRONMENT}/sessions",
    SESSION,
    f"{SESSION}/events",
    SESSION + "/requests/{request_id}",
    f"{SESSION}/end",
    f"{SESSION}/delete",
    SESSION + "/bindings/{resource_id}/revoke",
    f"{STORE}/sessions",
    f"{RESOURCE}/calls",
    f"{RESOURCE}/try",
    f"{SESSION}/calls",
    SESSION + "/work/{work_id}/stop",
    CALL,
    f"{CALL}/cancel",
    f"{ENVIRONMENT}/writes",
    f"{ENVIRONMENT}/writes/reject",
    f"{ENVIRONMENT}/writes/{{write_id}}/approve",
    f"{ENVIRONMENT}/endpoints",
    f"{ENVIRONMENT}/endpoints/new",
    ENDPOINT,
    f"{ENDPOINT}/settings",
    f"{ENDPOINT}/delete",
    f"{ENDPOINT}/credentials",
    f"{ENDPOINT}/credentials/new",
    ENDPOINT + "/credentials/{credential_id}/rotate",
    ENDPOINT + "/credentials/{credential_id}/revoke",
    f"{ENDPOINT}/partitions",
    f"{ENVIRONMENT}/records",
    SCOPE,
    f"{SCOPE}/search",
    MEMORY_RECORD,
    f"{MEMORY_RECORD}/correct",
    f"{ENVIRONMENT}/records/effects",
    f"{ENVIRONMENT}/records/effects/{{effect_id}}",
    f"{ENVIRONMENT}/records/effects/{{effect_id}}/resolve",
    f"{ENVIRONMENT}/records/violations",
    f"{ENVIRONMENT}/records/violations/{{violation_id}}",
    f"{MEMORY_RECORD}/forget",
    PARTITION,
    f"{PARTITION}/conversations",
    f"{PARTITION}/freeze",
    f"{PARTITION}/unfreeze",
    f"{PARTITION}/export",
    f"{PARTITION}/delete",
    PARTITION + "/records/{record_id}",
    PARTITION + "/records/{record_id}/delete",
    f"{ENVIRONMENT}/review",
    f"{ENVIRONMENT}/review/reject",
    NOMINATION,
    f"{NOMINATION}/record",
    f"{NOMINATION}/adopt",
    f"{NOMINATION}/reject",
    ENVIRONMENT + "/nominate/{store_id}/{memory_id}",
    ENVIRONMENT + "/nominate/records/{scope_id}/{memory_record_id}",
    f"{ENVIRONMENT}/authorities",
    f"{ENVIRONMENT}/create-authority",
    f"{ENVIRONMENT}/create-space",
    AUTHORITY,
    f"{AUTHORITY}/archive",
    f"{AUTHORITY}/advance",
    HOST_CALL,
    f"{HOST_CALL}/progress",
    f"{HOST_CALL}/resend",
    f"{HOST_CALL}/withdraw",
    RECEIPT,
    f"{RECEIPT}/file",
}


def routes() -> Iterator[tuple[str, Any]]:
    """(URL with parameters as in the document, view) of every route, included ones too."""
    yield from _walk(get_resolver(), "/")


def _walk(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in resolver.url_patterns:
        url = prefix + _documented_form(str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern, url)
        else:
            assert isinstance(pattern, URLPattern)
            yield url, pattern.callback


def _documented_form(route: str) -> str:
    """`<str:store_id>` as `{store_id}`."""
    assert not route.startswith("^"), f"{route}: a regular expression cannot be told from another route"
    parts = route.replace(">", "<").split("<")
    return "".join(
        part if index % 2 == 0 else "{" + part.rpartition(":")[2] + "}" for index, part in enumerate(parts)
    )


def test_every_url_is_documented_or_listed() -> None:
    documented = {operation.path for operation in documented_operations()}
    served = {url for url, _ in routes()}
    assert served - documented - OPEN_ROUTES.keys() - CONSOLE_ROUTES == set()
    assert (documented | OPEN_ROUTES.keys() | CONSOLE_ROUTES) - served == set(), "listed, and not served"


def test_every_method_of_an_api_view_is_a_documented_operation() -> None:
    documented = {(operation.path, operation.method) for operation in documented_operations()}
    served = {
        (url, method.upper())
        for url, view in routes()
        if url.startswith("/v1/")
        for method in METHODS
        if hasattr(view.view_class, method)
    }
    assert served == documented


def test_every_url_below_v1_goes_through_the_one_door() -> None:
    views = [(url, view.view_class) for url, view in routes() if url.startswith("/v1/")]
    assert [url for url, view in views if not issubclass(view, HubView)] == []
    replaced = {"dispatch", "_serve", "authenticate", "allowed"}
    assert [
        url for url, view in views if any(replaced & vars(base).keys() for base in _own_bases(view))
    ] == []


def _own_bases(view: type) -> list[type]:
    return [base for base in view.__mro__ if issubclass(base, HubView) and base is not HubView]


@pytest.mark.parametrize("url", sorted(CONSOLE_ROUTES))
def test_a_console_page_shows_nothing_to_a_stranger(tenant: Tenant, url: str) -> None:
    store = memory_stores.create_store(
        environment="development", name="Notes", description="", metadata={}, actor=tenant.actor
    )
    ids_of = {"project_id": tenant.project.wire_id, "environment": "development", "store_id": store.wire_id}
    answer = Client().get(
        url.format(
            **ids_of,
            job_id="job_any",
            memory_id="mem_any",
            version_id="memver_any",
            key_id="apikey_any",
            webhook_id="webhook_any",
            delivery_id="whdelivery_any",
            member_id="mship_any",
            invitation_id="inv_any",
            session_key="any",
            other_id="env_any",
            resource_id="any",
            document_id="any",
            deployment_id="dep_any",
            secret_id="secret_any",
            session_id="sesn_any",
            request_id="mrq_any",
            operation_id="httpop_any",
            endpoint_id="endpoint_any",
            credential_id="epcred_any",
            partition_id="expart_any",
            scope_id="rscope_any",
            memory_record_id="mrec_any",
            effect_id="meffect_any",
            violation_id="violation_any",
            record_id="exrec_any",
            write_id="rwrite_any",
            work_id="work_any",
            authority_id="authority_any",
            nomination_sha256="any",
            call_id="hostcall_any",
            receipt_sha256="any",
        )
    )
    assert answer.status_code in (302, 405), answer.status_code
    assert answer.status_code == 405 or answer["Location"].startswith("/sign-in")
    assert tenant.project.name.encode() not in answer.content


@pytest.mark.parametrize("url", sorted(OPEN_ROUTES))
def test_an_open_route_tells_nothing_of_a_tenant(tenant: Tenant, url: str) -> None:
    answer = Client().get(
        url.format(token="unknown", name="settings", endpoint_id="endpoint_any", partition="any")
    )
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    for secret in (tenant.project.name, tenant.owner.email, tenant.project.wire_id, tenant.key):
        assert secret.encode() not in content

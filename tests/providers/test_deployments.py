"""Deployments, promotion, permanent kinds, moved endpoints. Contract, section 3."""

import pytest
from django.db.transaction import atomic

from memoryhub.audit import AuditAction
from memoryhub.errors import Conflict, NotFound
from memoryhub.models import AuditEvent, Project
from providers import declared, deployments
from providers.deployments import Promoted
from providers.models import Namespace, Promotion, Resource
from tests.providers.desk import Desk
from tests.providers.manifests import connection, document_resource, http_resource, manifest
from tests.providers.test_sessions import open_for
from tests.world import Tenant


def deploy(
    desk: Desk, *resources: object, origin: str = "https://memory.example.com", ack: bool = False
) -> Promoted:
    made = deployments.create_deployment(
        agent_id="triage",
        manifest=manifest(*resources, connections=[connection(origin=origin)]),  # type: ignore[arg-type]
        actor=desk.actor,
    )
    return deployments.promote_deployment(
        made.wire_id,
        environment="development",
        acknowledged_endpoints=["knowledge"] if ack else [],
        actor=desk.actor,
    )


def test_a_promotion_makes_the_resources_and_is_the_one_in_force(desk: Desk) -> None:
    first = deploy(desk, document_resource("notes"))
    second = deploy(desk, document_resource("notes", maxBytes=10))
    active = deployments.find_active(desk.tenant.development.id, "triage")
    assert active == second.deployment
    assert deployments.was_promoted(first.deployment, desk.tenant.development.id)
    resource = Resource.objects.get(environment=desk.tenant.development, resource_id="notes")
    assert resource.store is not None
    assert resource.store.content_bytes_max == 10


def test_promoting_what_is_in_force_changes_nothing(desk: Desk) -> None:
    made = deploy(desk, document_resource("notes"))
    before = Promotion.objects.count()
    deployments.promote_deployment(
        made.deployment.wire_id, environment="development", acknowledged_endpoints=[], actor=desk.actor
    )
    assert Promotion.objects.count() == before


def test_a_kind_is_for_ever(desk: Desk) -> None:
    deploy(desk, document_resource("knowledge"))
    with pytest.raises(Conflict) as refused:
        deploy(desk, http_resource("knowledge"))
    assert refused.value.error_code == "provider_kind_changed"


def test_a_moved_endpoint_needs_a_word_and_tells_who_still_calls_the_old_one(desk: Desk) -> None:
    deploy(desk, http_resource())
    Project.objects.filter(id=desk.tenant.project.id).update(http_memory="enabled")
    open_for(desk, "triage@development", {"knowledge": {"scope": "namespace", "id": "tenant-17"}})
    with pytest.raises(Conflict) as refused:
        deploy(desk, http_resource(), origin="https://new.example.com")
    assert refused.value.error_code == "endpoint_change_unacknowledged"
    change = {
        "resource": "knowledge",
        "old": "https://memory.example.com/memory",
        "new": "https://new.example.com/memory",
        "sessions_on_old": 1,
    }
    assert refused.value.facts["changes"] == [change]
    deploy(desk, http_resource(), origin="https://new.example.com", ack=True)
    event = AuditEvent.objects.filter(action=AuditAction.DEPLOYMENT_PROMOTED).latest("number")
    assert event.details["changed_endpoints"] == [change]


def test_a_declaration_in_force_that_moves_an_endpoint_back_is_promoted_again(desk: Desk) -> None:
    """Another agent had moved it meanwhile: the trail says that it moved, and who still calls the other endpoint."""

    def declare(*, acknowledge: bool) -> None:
        declared.declare_resource(
            environment="development",
            resource=http_resource(),
            connection=connection(),
            acknowledge_endpoint_change=acknowledge,
            actor=desk.actor,
        )

    declare(acknowledge=False)
    deploy(desk, http_resource(path="/v2"), ack=True)
    with pytest.raises(Conflict):
        declare(acknowledge=False)
    declare(acknowledge=True)
    promoted = AuditEvent.objects.filter(project=desk.tenant.project, action=AuditAction.DEPLOYMENT_PROMOTED)
    latest = promoted.order_by("-number").first()
    assert latest is not None
    [change] = latest.details["changed_endpoints"]
    assert (change["old"], change["new"]) == (
        "https://memory.example.com/v2",
        "https://memory.example.com/memory",
    )


def test_limits_stay_when_the_activation_fails_and_the_promotion_can_be_repeated(desk: Desk) -> None:
    deploy(desk, document_resource("notes", maxBytes=100))
    made = deployments.create_deployment(
        agent_id="triage", manifest=manifest(document_resource("notes", maxBytes=10)), actor=desk.actor
    )
    environment_id = desk.tenant.development.id
    changed = deployments.apply_limits(made, environment_id, [], actor=desk.actor)
    with pytest.raises(ZeroDivisionError), atomic():
        deployments.set_active(made, environment_id, changed, desk.actor)
        raise ZeroDivisionError
    resource = Resource.objects.select_related("store").get(resource_id="notes")
    assert resource.store is not None
    assert resource.store.content_bytes_max == 10
    assert deployments.find_active(environment_id, "triage") != made
    deployments.promote_deployment(
        made.wire_id, environment="development", acknowledged_endpoints=[], actor=desk.actor
    )
    assert deployments.find_active(environment_id, "triage") == made


def test_a_deployment_of_one_environment_is_not_seen_in_another(tenant: Tenant, desk: Desk) -> None:
    made = tenant.call()(
        "POST", "/v1/deployments", {"agent_id": "triage", "manifest": manifest(document_resource())}
    )
    assert made.status == 201, made.body
    other = tenant.caller("admin", environment=tenant.production)
    assert other("GET", f"/v1/deployments/{made.body['id']}").status == 404
    assert tenant.call()("GET", f"/v1/deployments/{made.body['id']}").status == 200


def test_a_strangers_deployment_is_not_found(desk: Desk, stranger: Tenant) -> None:
    made = deploy(desk, document_resource("notes"))
    with pytest.raises(NotFound):
        deployments.get_deployment(made.deployment.wire_id, actor=stranger.actor)


def test_a_namespace_has_one_partition_for_all_sessions(desk: Desk) -> None:
    deploy(desk, http_resource())
    Project.objects.filter(id=desk.tenant.project.id).update(http_memory="enabled")
    for _ in range(2):
        open_for(desk, "triage@development", {"knowledge": {"scope": "namespace", "id": "tenant-17"}})
    namespace = Namespace.objects.get(project=desk.tenant.project)
    assert namespace.partition.startswith("ocmem_v1_")
    assert len(namespace.partition) == 52


def test_a_lost_key_leaves_the_partition_that_was_stored(
    desk: Desk, settings: object, caplog: pytest.LogCaptureFixture
) -> None:
    deploy(desk, http_resource())
    Project.objects.filter(id=desk.tenant.project.id).update(http_memory="enabled")
    open_for(desk, "triage@development", {"knowledge": {"scope": "namespace", "id": "a"}})
    stored = Namespace.objects.get(project=desk.tenant.project).partition
    settings.PARTITION_KEY = b"2" * 32  # type: ignore[attr-defined]
    open_for(desk, "triage@development", {"knowledge": {"scope": "namespace", "id": "a"}})
    assert Namespace.objects.get(project=desk.tenant.project).partition == stored

"""No read across resources, documents, namespaces or environments, by any path, whatever their names. Promise Z1.

The world holds a document for every pair of sibling names in two environments and in a stranger's project; each says in its
text, title and summary where it is. Every way to read is then asked by one name, and may show what is of that name only.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from providers import declared, namespaces
from providers.models import Namespace
from tests.answers import Answer
from tests.providers.desk import Desk
from tests.providers.manifests import connection, http_resource
from tests.world import Caller, Tenant

RESOURCES = ["a", "ab", "a-b", "a1"]
DOCUMENTS = ["a", "ab", "a_b", "a-b", "axb", "A", "aB", "_", "-", "a1"]
# What a sibling could be taken for: wildcards, separators, case, look-alikes, encodings.
STRANGE = [
    "a%",
    "%",
    "a.",
    "a b",
    "á",
    "a\u0301",
    "a/b",
    "..",
    "a\\",
    "А",
    "ａ",
    "a*",
    "a'--",
    "a%00",
    "a\t",
    "",
]
CANARY = re.compile(r"canary<([^>]*)>")


def canary(*where: str) -> str:
    return f"canary<{'~'.join(where)}>"


@dataclass
class World:
    """`callers`, `desks`: by the name of the place."""

    callers: dict[str, Caller]
    desks: dict[str, Desk]

    def documents_url(self, place: str, resource: str) -> str:
        project = self.desks[place].tenant.project.wire_id
        return f"/v1/projects/{project}/memory/{resource}/documents"

    def environment(self, place: str) -> str:
        return "production" if place == "production" else "development"


def fill(desk: Desk, place: str) -> None:
    for resource in RESOURCES:
        desk.declare(resource)
        for document in DOCUMENTS:
            here = canary(place, resource, document)
            desk.put(document, text=here, title=here, summary=here, resource_id=resource)


@pytest.fixture
def world(tenant: Tenant, stranger: Tenant) -> World:
    production = Desk(tenant)
    production.environment = tenant.production.wire_id
    desks = {"development": Desk(tenant), "production": production, "foreign": Desk(stranger)}
    for place, desk in desks.items():
        fill(desk, place)
    keys = {"development": tenant.key, "production": tenant.production_key, "foreign": stranger.key}
    return World({place: Caller(key) for place, key in keys.items()}, desks)


def shown(answer: Answer) -> set[tuple[str, ...]]:
    """The places that an answer tells of."""
    return {tuple(found.split("~")) for found in CANARY.findall(answer.content.decode())}


asked_places = st.sampled_from(["development", "production"])
asked_resources = st.sampled_from([*RESOURCES, *STRANGE])
asked_documents = st.sampled_from([*DOCUMENTS, *STRANGE])
walked = run_settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def test_every_way_to_read_by_owners_stays_where_it_was_asked(world: World) -> None:
    @given(place=asked_places, resource=asked_resources, document=asked_documents)
    @walked
    def ask(place: str, resource: str, document: str) -> None:
        call, query = world.callers[place], {"environment": world.environment(place)}
        url = world.documents_url(place, quote(resource, safe=""))
        here = {(place, resource, document)} if resource in RESOURCES and document in DOCUMENTS else set()
        got = call("GET", f"{url}/{quote(document, safe='')}", query=query)
        assert shown(got) == here and (got.status == 200) == bool(here), got.content
        all_here = {(place, resource, one) for one in DOCUMENTS} if resource in RESOURCES else set()
        assert shown(call("GET", url, query=query)) == all_here
        export = f"/v1/projects/{world.desks[place].tenant.project.wire_id}/memory/export"
        if resource:
            exported = call("GET", export, query=query | {"resource": resource})
            assert shown(exported) == all_here
        other = {"environment": "production" if place == "development" else "development"}
        assert shown(call("GET", f"{url}/{quote(document, safe='')}", query=other)) == set()
        foreign = world.documents_url("foreign", quote(resource, safe=""))
        assert shown(call("GET", f"{foreign}/{quote(document, safe='')}", query=query)) == set()

    ask()


def test_every_way_to_read_as_a_store_stays_where_it_was_asked(world: World) -> None:
    @given(place=asked_places, resource=st.sampled_from(RESOURCES), document=asked_documents)
    @walked
    def ask(place: str, resource: str, document: str) -> None:
        call = world.callers[place]
        held = world.desks[place].get("a", resource).memory.store
        store = f"/v1/memory_stores/{held.wire_id}"
        listed = call("GET", f"{store}/memories", query={"view": "full", "path_prefix": f"/{document}"})
        files = call("GET", f"{store}/files/{quote(document, safe='')}")
        searched = call("GET", f"{store}/memories/search", query={"query": document or "a"})
        for answer in (listed, files, searched):
            assert {found[:2] for found in shown(answer)} <= {(place, resource)}, answer.content

    ask()


def test_every_way_to_read_by_a_model_stays_in_its_binding(world: World) -> None:
    sessions: dict[tuple[str, str, str], tuple[str, str]] = {}

    def bound(place: str, resource: str, document: str) -> tuple[str, str]:
        """(session, request) on a document, or on the collection without one."""
        key = (place, resource, document)
        if key not in sessions:
            binding = {"scope": "document", "id": document} if document else {"scope": "collection"}
            opened = world.callers[place]("POST", "/v1/sessions", {"memory": {resource: binding}})
            session = opened.body["id"]
            requests = f"/v1/sessions/{session}/model-requests"
            made = world.callers[place]("POST", requests, {"client_request_id": "r1"})
            request = made.body["id"]
            world.callers[place]("PUT", f"{requests}/{request}/selection", {"use": [resource]})
            wanted = [document] if document else DOCUMENTS
            assert shown(made) == {(place, resource, one) for one in wanted}
            sessions[key] = (session, request)
        return sessions[key]

    numbers = iter(range(10_000))

    @given(place=asked_places, resource=st.sampled_from(RESOURCES), document=asked_documents, data=st.data())
    @walked
    def ask(place: str, resource: str, document: str, data: st.DataObject) -> None:
        if document in DOCUMENTS:
            bound(place, resource, document)
        session, request = bound(place, resource, "")

        def tool(name: str, arguments: dict[str, Any]) -> Answer:
            body = {"call_id": f"c{next(numbers)}", "name": name, "arguments": arguments}
            url = f"/v1/sessions/{session}/model-requests/{request}/tool-calls"
            return world.callers[place]("POST", url, body)

        read = tool("memory_read", {"id": document})
        assert shown(read) == ({(place, resource, document)} if document in DOCUMENTS else set())
        other = data.draw(st.sampled_from([*RESOURCES, *STRANGE]))
        aimed = tool("memory_read", {"id": document, "memory": other})
        assert {found[:2] for found in shown(aimed)} <= ({(place, resource)} if other == resource else set())
        assert {found[:2] for found in shown(tool("memory_list", {}))} == {(place, resource)}
        elsewhere = world.callers["production" if place == "development" else "development"]
        for url in (f"/v1/sessions/{session}", f"/v1/sessions/{session}/model-requests/{request}"):
            assert elsewhere("GET", url).status == 404

    ask()


def test_a_cursor_of_one_list_is_none_of_another(world: World) -> None:
    for resource in ("a", "ab"):
        for number in range(55):
            world.desks["development"].put(f"more-{number}", resource_id=resource)
    cursors = {}
    for resource in ("a", "ab"):
        url = world.documents_url("development", resource)
        page = world.callers["development"](
            "GET", url, query={"environment": "development", "limit": 50}
        ).body
        cursors[resource] = page["next_page"]
    for resource, other in (("a", "ab"), ("ab", "a")):
        query = {"environment": "development", "page": cursors[other], "limit": 50}
        answer = world.callers["development"](
            "GET", world.documents_url("development", resource), query=query
        )
        assert answer.status == 400 and shown(answer) == set()


def test_sibling_namespaces_have_partitions_of_their_own(
    tenant: Tenant, stranger: Tenant, settings: Any
) -> None:
    settings.PARTITION_KEY = bytes(range(32))
    opened: list[Namespace] = []
    production = Desk(tenant)
    production.environment = tenant.production.wire_id
    for desk in (Desk(tenant), production, Desk(stranger)):
        for id_ in RESOURCES:
            resource = declared.declare_resource(
                environment=desk.environment,
                resource=http_resource(id_),
                connection=connection(),
                acknowledge_endpoint_change=False,
                actor=desk.actor,
            ).resource
            opened += [namespaces.open_namespace(resource, name) for name in DOCUMENTS]
    assert len({one.partition for one in opened}) == len(opened) == 3 * len(RESOURCES) * len(DOCUMENTS)
    again = [namespaces.open_namespace(one.resource, one.namespace_id) for one in opened]
    assert [one.id for one in again] == [one.id for one in opened]

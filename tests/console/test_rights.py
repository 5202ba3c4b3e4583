"""Who sees which page, and which buttons on it."""

import re
from dataclasses import replace

import pytest
from django.test import Client

from memoryhub.errors import NotFound
from tests.console.site import Site, lasting, sign_in
from tests.console.test_store_pages import pages_of
from tests.stores.shelf import Shelf
from tests.world import Tenant, unused_id

_BODY = re.compile(rb"<main.*</main>", re.DOTALL)
_FORMS = re.compile(rb'<form[^>]*method="post"[^>]*action="([^"]+)"')


def changes(shelf: Shelf) -> list[str]:
    store = f"/stores/{shelf.store_id}"
    memory = f"{store}/memories/{shelf.versions()[0].memory_wire_id}"
    version = f"{store}/versions/{shelf.versions()[0].wire_id}"
    return [
        "/stores/new",
        f"{store}/freeze",
        f"{store}/unfreeze",
        f"{store}/archive",
        f"{store}/settings",
        f"{store}/retention",
        f"{store}/delete",
        f"{store}/upload",
        f"{memory}/freeze",
        f"{memory}/unfreeze",
        f"{version}/restore",
        f"{version}/redact",
        f"{store}/redact",
        f"{store}/memories/new",
        f"{memory}/edit",
        f"{memory}/move",
        f"{memory}/delete",
    ]


def readable(shelf: Shelf) -> list[str]:
    """Without the pages of a change, and without that of a search, which is a form."""
    ends = ("/restore", "/redact", "/find")
    return [path for path in pages_of(shelf) if path not in changes(shelf) and not path.endswith(ends)]


def test_a_viewer_reads_every_page_and_is_offered_no_change(viewer: Site, owner: Site, shelf: Shelf) -> None:
    shelf.put()
    offered = [viewer.base + path for path in changes(shelf)]
    for frozen in (False, True):
        for path in readable(shelf):
            answer = viewer.get(path)
            assert answer.status_code == 200, path
            assert [url for url in offered if f'"{url}"'.encode() in answer.content] == []
            body = _BODY.search(answer.content)
            assert body
            # An export reads, as a file that the person gets later.
            assert [url for url in _FORMS.findall(body[0]) if not url.endswith(b"/export")] == []
        if not frozen:
            for path in changes(shelf)[1:2] + changes(shelf)[8:9]:
                assert f'"{owner.base}{path}"'.encode() in owner.get(path.removesuffix("/freeze")).content
                owner.post(path)


def test_what_a_viewer_is_not_offered_is_refused(viewer: Site, shelf: Shelf) -> None:
    shelf.put()
    before = shelf.state()
    for path in changes(shelf):
        answer = viewer.post(path, {"name": "Mine"})
        assert answer.status_code == 403, path
        assert b"Your role here, viewer, may not do this" in answer.content
    assert shelf.state() == before


def test_a_stranger_is_told_what_is_told_of_a_project_that_never_was(
    tenant: Tenant, stranger: Tenant, shelf: Shelf
) -> None:
    shelf.put()
    foreign = sign_in(stranger.owner, tenant.project)
    unknown = replace(foreign, base=f"/p/{unused_id('proj')}/development")
    for path in [*pages_of(shelf), *changes(shelf)]:
        for method in ("get", "post"):
            answers = [getattr(site, method)(path) for site in (foreign, unknown)]
            assert [answer.status_code for answer in answers] == [404, 404], path
            assert lasting(answers[0]) == lasting(answers[1]), path


def test_what_stands_elsewhere_is_told_as_what_never_was(
    tenant: Tenant, stranger: Tenant, shelf: Shelf
) -> None:
    """From one's own project: the store of another, and the store of one's other environment."""
    memory = shelf.put()
    version = shelf.versions()[0]
    sites = [sign_in(stranger.owner, stranger.project), sign_in(tenant.owner, tenant.project, "production")]
    for site in sites:
        for path in [*pages_of(shelf)[3:], *changes(shelf)[1:]]:
            nowhere = path.replace(shelf.store_id, unused_id("memstore"))
            for answer in ((site.get(path), site.get(nowhere)), (site.post(path), site.post(nowhere))):
                assert {one.status_code for one in answer} <= {404, 405}, path
                assert lasting(answer[0]) == lasting(answer[1]), path
                for known in (memory.wire_id, version.wire_id, shelf.store_id, memory.path):
                    assert known.encode() not in answer[0].content


@pytest.mark.parametrize("environment", ["nowhere", "Development", "env_1"])
def test_an_environment_that_is_not_there_is_not_found(tenant: Tenant, environment: str) -> None:
    answer = sign_in(tenant.owner, tenant.project, environment).get()
    assert answer.status_code == 404
    assert str(NotFound()).encode() in answer.content


def test_one_removed_from_the_project_sees_nothing_from_the_next_page_on(
    viewer: Site, owner: Site, tenant: Tenant, shelf: Shelf
) -> None:
    assert viewer.get("/stores").status_code == 200
    tenant.project.memberships.exclude(user=tenant.owner).delete()
    assert viewer.get("/stores").status_code == 404


def test_the_switcher_leads_to_ones_own_projects_only(tenant: Tenant, stranger: Tenant, owner: Site) -> None:
    shown = owner.get().content.decode()
    for environment in ("development", "production"):
        assert f'href="/p/{tenant.project.wire_id}/{environment}"' in shown
    assert stranger.project.wire_id not in shown


def test_a_change_without_the_forms_token_is_refused(tenant: Tenant, shelf: Shelf) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(tenant.owner)
    shelf.put()
    before = shelf.state()
    for path in changes(shelf):
        answer = client.post(f"/p/{tenant.project.wire_id}/development{path}", {"name": "Mine"})
        assert answer.status_code == 403, path
    assert shelf.state() == before

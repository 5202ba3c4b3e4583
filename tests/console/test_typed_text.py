"""Whatever answers a form, what was typed into it can be had back, and nobody else's words are shown as one's own."""

import pytest
from django.test import Client
from django.utils.html import escape

from memoryhub.typed import LABELS
from stores import memories
from stores.models import Memory
from tests.console.site import Site, form_of
from tests.stores.shelf import Shelf
from tests.world import Tenant

TYPED = {"path": "/a <b>.md", "content": "\nkept </textarea><script>alert(1)</script>"}


@pytest.fixture
def page(shelf: Shelf) -> str:
    return f"/stores/{shelf.store_id}/memories/new"


def gives_back(answer: object) -> bool:
    shown = answer.content.decode()  # type: ignore[attr-defined]
    assert "<script>alert" not in shown
    areas = [
        f'readonly rows="1">\n{escape(TYPED["path"])}</textarea>',
        f'readonly rows="12">\n{escape(TYPED["content"])}</textarea>',
    ]
    return all(area in shown for area in areas) and "It is not saved." in shown


def test_one_who_was_signed_out_gets_the_text_back(owner: Site, page: str, tenant: Tenant) -> None:
    owner.client.logout()
    answer = owner.post(page, TYPED)
    assert answer.status_code == 403
    assert gives_back(answer)
    assert f'href="/sign-in?next={owner.base}{page}"' in answer.content.decode()
    assert not Memory.objects.filter(project=tenant.project).exists()
    assert owner.post(page.replace("/memories/new", "/freeze"))["Location"] == "/sign-in", "nothing was typed"


def test_a_form_whose_token_was_replaced_gives_the_text_back(tenant: Tenant, owner: Site, page: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(tenant.owner)
    answer = client.post(owner.base + page, TYPED)
    assert answer.status_code == 403
    assert gives_back(answer)
    foreign = client.post(owner.base + page, TYPED, headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403
    assert escape(TYPED["content"]) not in foreign.content.decode()


def test_one_whose_role_was_lowered_gets_the_text_back(viewer: Site, page: str) -> None:
    answer = viewer.post(page, TYPED)
    assert answer.status_code == 403
    assert gives_back(answer)


def test_a_store_that_is_gone_gives_the_text_back(owner: Site, page: str, shelf: Shelf) -> None:
    answer = owner.post(page.replace(shelf.store_id, "memstore_" + "0" * 32), TYPED)
    assert answer.status_code == 404
    assert gives_back(answer)


def test_what_the_hub_fails_at_gives_the_text_back(
    owner: Site, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(memories, "create_memory", fail)
    owner.client.raise_request_exception = False
    answer = owner.post(page, TYPED)
    assert answer.status_code == 500
    assert gives_back(answer)


def test_no_secret_is_given_back(owner: Site) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post(
        "/sign-in", {"email": "a@example.com", "password": "typed-secret", "name": "typed-name"}
    )
    assert answer.status_code == 403
    assert "typed-secret" not in answer.content.decode()
    assert "typed-name" in answer.content.decode()
    assert not LABELS.keys() & {"password", "current", "new", "token", "secret", "text"}


def test_a_form_too_large_to_read_says_so(owner: Site, page: str) -> None:
    answer = owner.post(page, {"path": "/a.md", "content": "x" * 1_100_000})
    assert answer.status_code == 413
    assert "larger than" in answer.content.decode()


def test_the_page_of_a_text_just_past_the_limit_has_it(owner: Site, page: str) -> None:
    typed = {"path": "/a.md", "content": "語" * 100_000}
    answer = owner.post(page, typed)
    assert answer.status_code == 400
    assert form_of(answer)["content"] == typed["content"]

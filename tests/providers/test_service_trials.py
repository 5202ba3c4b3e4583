"""Asking a service from the console: over real sockets, as a model request would, and what is left of it."""

import pytest

from memoryhub.models import Session
from providers.models import HttpOperation, Projection
from tests.console.site import Site, sign_in
from tests.providers import misbehaving
from tests.providers.services import Service


@pytest.fixture
def owner(service: Service) -> Site:
    return sign_in(service.tenant.owner, service.tenant.project)


def ask(owner: Site, **typed: str) -> str:
    """The page of the call, below the environment."""
    answer = owner.post(
        "/resources/knowledge/try", {"input": "Where is the boat?", "namespace": "acme"} | typed
    )
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"]).removeprefix(owner.base)


def sessions(owner: Site) -> list[Session]:
    return list(Session.objects.filter(project=owner.project))


def test_what_a_service_gives_is_shown_with_its_attempts(owner: Site, service: Service) -> None:
    service.endpoint.script = [misbehaving.error(503)]
    shown = owner.get(ask(owner)).content.decode()
    assert "What the model was given" in shown
    assert "Known." in shown
    assert "The service was busy, status 503" in shown
    assert "Answered, status 200" in shown
    sent = [exchange.json for exchange in service.endpoint.exchanges]
    assert [one["input"] for one in sent] == [{"text": "Where is the boat?"}] * 2
    assert sent[0]["access"] == "read"
    [session] = sessions(owner)
    assert (session.title, session.ended_at is not None) == ("Trial of knowledge", True)
    assert Projection.objects.filter(model_request__session=session).count() == 1


def test_a_reload_of_the_answer_sends_nothing(owner: Site, service: Service) -> None:
    path = ask(owner)
    for _ in range(2):
        assert owner.get(path).status_code == 200
    assert len(service.endpoint.exchanges) == 1


def test_a_failure_is_shown_with_its_attempts_and_ends_the_session(owner: Site, service: Service) -> None:
    service.endpoint.always = misbehaving.error(404, "gone_away")
    shown = owner.get(ask(owner)).content.decode()
    assert "The recall failed, so the model was given nothing." in shown
    assert "Refused by the service, status 404" in shown
    assert "As scripted." in shown
    assert all(one.ended_at for one in sessions(owner))


def test_an_input_too_long_to_send_is_told_and_not_sent(owner: Site, service: Service) -> None:
    shown = owner.get(ask(owner, input="x" * 65_536)).content.decode()
    assert "request_too_large" in shown
    assert "None: nothing was sent." in shown
    assert service.endpoint.exchanges == []


def test_a_developer_asks_in_a_namespace_that_was_bound(owner: Site, service: Service) -> None:
    service.recall(service.open())
    assert 'value="tenant-17"' in owner.get("/resources/knowledge/try").content.decode()
    ask(owner, namespace="tenant-17")
    partitions = {exchange.json["partition"] for exchange in service.endpoint.exchanges}
    assert len(partitions) == 1
    assert HttpOperation.objects.filter(environment=service.tenant.development).count() == 2

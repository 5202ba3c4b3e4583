"""Mails of what waits, over a real SMTP server: digests that are asked for, sent once, and hold no text."""

from collections.abc import Iterator
from datetime import timedelta
from email.message import Message
from typing import Any

import pytest
from django.utils import timezone

from memoryhub import ids, mail_digests, mail_wishes, members, notice_types
from memoryhub.errors import NotFound
from memoryhub.models import AuditEvent, Membership
from memoryhub.notice_models import MailDigest, MailItem
from tests.authority.desk import Reviewed, make_reviewed
from tests.authority.doubles import entity
from tests.concurrency.clients import run_together
from tests.console.site import add_person, sign_in
from tests.webhooks.receivers import Desk
from tests.webhooks.smtp import Post, post_office
from tests.world import make_tenant

CANARY = "canary-5b1f"
BOTH = ["needs_person", "nominations"]


@pytest.fixture
def post(settings: Any) -> Iterator[Post]:
    with post_office() as made:
        settings.MAIL_HOST, settings.MAIL_PORT, settings.MAIL_SECURITY = "127.0.0.1", made.port, "none"
        settings.MAIL_FROM, settings.MAIL_USER = "memoryhub@example.com", None
        yield made


def member(desk: Desk) -> Membership:
    return Membership.objects.select_related("user").get(project=desk.tenant.project, user=desk.tenant.owner)


def wish(desk: Desk, *topics: str) -> None:
    one = member(desk)
    mail_wishes.change_wishes(one.user_id, one.wire_id, topics=topics)


def send(desk: Desk) -> bool:
    return mail_digests.send_digest(member(desk).id, desk.environment.id)


def let_time_pass(desk: Desk) -> None:
    long_ago = timezone.now() - timedelta(hours=2)
    rows = MailDigest.objects.filter(project=desk.tenant.project)
    rows.update(leased_until=None)
    rows.filter(sent_at__isnull=False).update(sent_at=long_ago)


def body(message: Message) -> str:
    return message.get_payload(decode=True).decode().replace("\r\n", "\n")  # type: ignore[union-attr]


def items(desk: Desk) -> int:
    return MailItem.objects.filter(project=desk.tenant.project).count()


@pytest.fixture
def reviewed(desk: Desk) -> Reviewed:
    work = (entity("note:a", CANARY), entity("note:b", CANARY, "note:a"))
    return make_reviewed(desk.tenant, work=work)


def test_what_waits_is_told_with_counts_and_links_and_no_text(
    desk: Desk, post: Post, reviewed: Reviewed, settings: Any
) -> None:
    wish(desk, *BOTH)
    reviewed.propose("note:a")
    reviewed.propose("note:b")
    desk.tell()
    assert send(desk)
    [(recipients, message)] = post.taken
    assert recipients == [desk.tenant.owner.email] == [message["To"]]
    place = f"{desk.tenant.project.name} / development"
    assert " ".join(message["Subject"].split()) == (
        f"[{place}] Nominations wait for a reviewer; Something needs a person"
    )
    assert (message["From"], message["Auto-Submitted"]) == ("memoryhub@example.com", "auto-generated")
    text, base = body(message), f"{settings.BASE_URL}/p/{desk.tenant.project.wire_id}/development"
    assert f"- Nominations that have arrived for review: 2\n  {base}/review\n" in text
    assert f"- Webhooks that the hub has disabled: 1\n  {base}/webhooks\n" in text
    assert CANARY not in message.as_string()
    assert items(desk) == 0 and not send(desk)


def test_at_most_one_in_some_minutes_and_nothing_is_lost(desk: Desk, post: Post) -> None:
    wish(desk, "needs_person")
    desk.tell()
    assert send(desk)
    desk.tell()
    desk.tell()
    assert not send(desk) and items(desk) == 2
    let_time_pass(desk)
    assert send(desk)
    assert "disabled: 2\n" in body(post.taken[1][1])


def test_only_what_was_asked_for_and_only_those_who_asked(desk: Desk, post: Post, reviewed: Reviewed) -> None:
    desk.tell()
    assert items(desk) == 0
    wish(desk, "nominations")
    desk.tell()
    assert items(desk) == 0
    reviewed.propose("note:a")
    assert items(desk) == 1
    wish(desk)
    assert items(desk) == 0 and not send(desk)


def test_without_a_server_nobody_is_told_and_the_page_says_so(desk: Desk, settings: Any) -> None:
    settings.MAIL_HOST = None
    wish(desk, *BOTH)
    desk.tell()
    assert items(desk) == 0
    page = sign_in(desk.tenant.owner, desk.tenant.project).client.get("/account").content.decode()
    assert "MEMORYHUB_EMAIL_HOST" in page and 'name="topics"' not in page


def test_a_server_that_refuses_is_asked_again_later(desk: Desk, post: Post) -> None:
    wish(desk, "needs_person")
    desk.tell()
    post.refuses = 1
    assert not send(desk)
    assert not send(desk)  # it is left alone for a while
    assert items(desk) == 1 and post.taken == []
    let_time_pass(desk)
    assert send(desk) and len(post.taken) == 1


def test_a_server_that_is_not_there_costs_nothing(desk: Desk, settings: Any, post: Post) -> None:
    wish(desk, "needs_person")
    desk.tell()
    settings.MAIL_PORT = 1
    assert not send(desk)
    assert items(desk) == 1


def test_workers_that_race_send_one_mail(desk: Desk, post: Post) -> None:
    wish(desk, "needs_person")
    for _ in range(3):
        desk.tell()
    run_together([lambda: send(desk) and None] * 4)
    [(_, message)] = post.taken
    assert "disabled: 3\n" in body(message)


def test_a_worker_that_dies_after_sending_sends_again(
    desk: Desk, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    wish(desk, "needs_person")
    desk.tell()
    with monkeypatch.context() as dying:
        dying.setattr(mail_digests, "_conclude", die)
        with pytest.raises(Killed):
            send(desk)
    assert not send(desk)
    let_time_pass(desk)
    assert send(desk)
    assert post.taken[0][1]["Message-ID"] == post.taken[1][1]["Message-ID"]


def test_the_sweep_rings_for_what_is_due(desk: Desk, post: Post, quiet: list[Any]) -> None:
    wish(desk, "needs_person")
    desk.tell()
    asked = (mail_digests.SEND, (member(desk).wire_id, desk.environment.wire_id))
    for due, act in (
        (True, lambda: None),
        (False, lambda: send(desk) and desk.tell()),
        (True, lambda: let_time_pass(desk)),
    ):
        act()
        quiet.clear()
        mail_digests.sweep()
        assert (asked in quiet) == due


def test_a_role_is_told_of_nothing_that_it_may_not_look_at(desk: Desk, post: Post) -> None:
    viewer = add_person(desk.tenant, "viewer")
    membership = Membership.objects.get(project=desk.tenant.project, user=viewer)
    mail_wishes.change_wishes(viewer.id, membership.wire_id, topics=BOTH)
    desk.tell()  # of a webhook, which only owners see
    assert not mail_digests.send_digest(membership.id, desk.environment.id)
    assert post.taken == [] and items(desk) == 0


def test_who_has_left_is_told_nothing(desk: Desk, post: Post) -> None:
    viewer = add_person(desk.tenant, "reviewer")
    membership = Membership.objects.get(project=desk.tenant.project, user=viewer)
    mail_wishes.change_wishes(viewer.id, membership.wire_id, topics=BOTH)
    desk.tell()
    members.remove_member(membership.wire_id, actor=desk.actor)
    assert items(desk) == 0
    assert not mail_digests.send_digest(membership.id, desk.environment.id)
    desk.tell()


def test_a_password_goes_to_the_server_and_into_no_log(
    desk: Desk, post: Post, settings: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    settings.MAIL_USER, settings.MAIL_PASSWORD = "hub", "s3cret-of-mail"
    wish(desk, "needs_person")
    desk.tell()
    post.refuses = 1
    send(desk)
    let_time_pass(desk)
    assert send(desk) and len(post.logins) == 2
    log = capfd.readouterr()
    assert "s3cret-of-mail" not in log.out + log.err and desk.tenant.owner.email not in log.out + log.err


def test_one_asks_on_the_page_of_the_account(desk: Desk, post: Post) -> None:
    site, one = sign_in(desk.tenant.owner, desk.tenant.project), member(desk)
    assert 'value="nominations" checked' not in site.client.get("/account").content.decode()
    path = f"/account/mails/{one.wire_id}"
    assert site.client.post(path, {"topics": ["nominations", "everything"]})["Location"] == "/account"
    assert 'value="nominations" checked' in site.client.get("/account").content.decode()
    site.client.post(path, {"topics": ["nominations"]})
    noted = AuditEvent.objects.filter(subject_id=one.wire_id, action="member.mail_wishes_changed")
    assert [event.details for event in noted] == [{"topics": "nominations"}]
    site.client.post(path)
    assert mail_wishes.list_wishes(one.user_id)[0].topics == []


def test_nobody_asks_for_somebody_else(desk: Desk) -> None:
    stranger = make_tenant()
    other = Membership.objects.get(project=stranger.project)
    site = sign_in(desk.tenant.owner, desk.tenant.project)
    for wire_id in (other.wire_id, "mship_0", ids.to_wire(ids.MEMBERSHIP, ids.new_id())):
        assert site.client.post(f"/account/mails/{wire_id}", {"topics": BOTH}).status_code == 404
    with pytest.raises(NotFound):
        mail_wishes.change_wishes(desk.tenant.owner.id, other.wire_id, topics=BOTH)


def test_what_could_not_be_told_for_a_week_goes(desk: Desk, post: Post) -> None:
    wish(desk, "needs_person")
    desk.tell()
    desk.tell()
    old = MailItem.objects.filter(project=desk.tenant.project).order_by("id").first()
    assert old is not None
    MailItem.objects.filter(id=old.id).update(created_at=timezone.now() - timedelta(days=8))
    mail_digests.clear_expired()
    assert items(desk) == 1


def test_every_topic_has_a_type_and_its_words() -> None:
    used = {kind.topic for kind in notice_types.list_notice_types() if kind.topic is not None}
    assert used == set(notice_types.TOPICS)

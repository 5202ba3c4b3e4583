"""A query that is compiled once gives what Django gives for it, with every set of values, on every thread."""

import threading
import uuid
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.models.query import QuerySet
from django.db.transaction import TransactionManagementError, atomic
from django.test.utils import CaptureQueriesContext

from memoryhub import ids
from memoryhub.columns import ClockTimestamp
from memoryhub.kept_queries import KeptSelect, insert_row, together, update_row
from memoryhub.models import Environment, Session, SessionEvent
from tests.world import Tenant, make_tenant


def make_session(tenant: Tenant, title: str) -> Session:
    return Session.objects.create(
        project_id=tenant.actor.project_id, environment_id=tenant.development.id, title=title
    )


def with_everything(**values: Any) -> QuerySet[Session]:
    """Joined, annotated, and with a value twice."""
    rows = (
        Session.objects.filter(**values).select_related("environment__project").annotate(at=ClockTimestamp())
    )
    return rows.exclude(title="never")


def facts(row: Session) -> dict[str, Any]:
    shown = {name: value for name, value in row.__dict__.items() if name not in ("_state", "at")}
    return shown | {"related": sorted(row._state.fields_cache), "adding": row._state.adding}


def test_rows_are_as_django_makes_them(tenant: Tenant) -> None:
    kept = KeptSelect(with_everything)
    for title in ("One", "Two %s"):
        session = make_session(tenant, title)
        wanted = with_everything(id=session.id, title=title).get()
        with CaptureQueriesContext(connection) as asked:
            found = kept.row(id=session.id, title=title)
            assert found is not None
            assert found.environment.project.id == tenant.actor.project_id
        assert len(asked) == 1
        assert facts(found) == facts(wanted)
        assert isinstance(found.at, datetime)  # type: ignore[attr-defined]
        assert facts(found.environment) == facts(wanted.environment)
        assert kept.row(id=session.id, title="Another") is None
        assert kept.row(id=uuid.uuid4(), title=title) is None


def test_columns_that_were_deferred_are_read_when_asked_for(tenant: Tenant) -> None:
    session = make_session(tenant, "Deferred")
    kept = KeptSelect(lambda id: Session.objects.filter(id=id).defer("title"))
    found = kept.row(id=session.id)
    assert found is not None
    assert "title" not in found.__dict__
    assert found.title == "Deferred"


def test_json_comes_back_as_it_was_written(tenant: Tenant) -> None:
    session = make_session(tenant, "Json")
    for number, data in enumerate(({"a": [1, None, "é\\u0000"]}, {}, {"deep": {"x": 1.5}}), start=1):
        event = SessionEvent(
            project_id=session.project_id, session=session, number=number, type="t", data=data
        )
        insert_row(event)
        kept = KeptSelect(
            lambda session_id, type: SessionEvent.objects.filter(session_id=session_id, type=type)
        )
        assert [one.data for one in kept.rows(session_id=session.id, type="t")][number - 1] == data


def test_a_query_that_locks_needs_a_transaction(committed: Tenant) -> None:
    session = make_session(committed, "Locked")
    kept = KeptSelect(lambda id: Session.objects.select_for_update().filter(id=id))
    with atomic():
        assert kept.row(id=session.id) == session
    with pytest.raises(TransactionManagementError):
        kept.row(id=session.id)


def test_a_value_that_stands_nowhere_is_found_at_the_first_use(tenant: Tenant) -> None:
    kept = KeptSelect(lambda id, title: Session.objects.filter(id=id))
    with pytest.raises(AssertionError, match="nowhere"):
        kept.row(id=uuid.uuid4(), title="x")


def test_threads_have_their_own_rows(committed: Tenant) -> None:
    """The first use, which compiles, on all of them at once."""
    kept = KeptSelect(lambda id: Session.objects.filter(id=id).select_related("environment"))
    sessions = [make_session(committed, str(number)) for number in range(8)]
    begin, failures = threading.Barrier(8), []

    def read(session: Session) -> None:
        begin.wait(30)
        try:
            for _ in range(50):
                found = kept.row(id=session.id)
                assert found is not None
                assert (found.id, found.title) == (session.id, session.title)
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            connection.close()

    threads = [threading.Thread(target=partial(read, session)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


def test_a_row_is_inserted_as_save_inserts_it(tenant: Tenant) -> None:
    """What the database makes comes back with it: its clock, whether as the column's default or as it was asked for."""
    new = partial(Environment, project_id=tenant.actor.project_id)
    asked_for, default = new(name="kept", created_at=ClockTimestamp()), new(name="kept too")
    for row in (asked_for, default):
        insert_row(row)
        assert facts_of(row) == facts_of(Environment.objects.get(id=row.id))
        assert not row._state.adding
    row.name = "renamed"
    row.save()  # it is known as a row that is there
    with pytest.raises(DatabaseError), atomic():
        insert_row(new(id=row.id, name="again"))


def facts_of(row: Environment) -> tuple[Any, ...]:
    return row.id, row.project_id, row.name, row.created_at


def test_the_named_columns_are_updated_and_no_others(tenant: Tenant) -> None:
    session = make_session(tenant, "Before")
    session.title, session.events_count, session.ended_at = "After", 7, ClockTimestamp()
    update_row(session, "title", "ended_at")
    held = Session.objects.get(id=session.id)
    assert (held.title, held.events_count) == ("After", 0)
    assert held.ended_at == session.ended_at
    session.ended_at = None
    update_row(session, "ended_at")
    assert Session.objects.get(id=session.id).ended_at is None


def test_a_row_that_is_gone_is_not_updated(tenant: Tenant) -> None:
    session = make_session(tenant, "Gone")
    Session.objects.filter(id=session.id).delete()
    with pytest.raises(DatabaseError, match="not there"):
        update_row(session, "title")


def test_another_projects_row_is_untouched(tenant: Tenant) -> None:
    other = make_session(make_tenant(), "Theirs")
    mine = make_session(tenant, "Mine")
    mine.title = "Mine now"
    update_row(mine, "title")
    assert Session.objects.get(id=other.id).title == "Theirs"
    assert ids.to_wire(ids.SESSION, mine.id) == mine.wire_id


def test_rows_written_together_are_as_if_written_one_by_one(tenant: Tenant) -> None:
    session = make_session(tenant, "Before")
    new = partial(SessionEvent, project_id=session.project_id, session=session, type="t")
    events = [new(number=number, data={"n": number}) for number in (1, 2)]
    with atomic(), together():
        session.title, session.ended_at = "After", ClockTimestamp()
        update_row(session, "title", "ended_at")
        for event in events:
            insert_row(event)
        assert not isinstance(session.ended_at, datetime)  # what the database makes is not known yet
    held = Session.objects.get(id=session.id)
    assert (held.title, held.ended_at) == ("After", session.ended_at)
    kept = SessionEvent.objects.filter(session=session).order_by("number")
    assert [(one.data, one.created_at) for one in kept] == [(one.data, one.created_at) for one in events]


def test_of_rows_written_together_one_that_fails_leaves_none(committed: Tenant) -> None:
    session = make_session(committed, "Before")
    missing = Session(id=uuid.uuid4(), project_id=session.project_id, title="Never")
    twice = Session(
        id=session.id, project_id=session.project_id, environment_id=session.environment_id, title="Twice"
    )
    for write in (partial(update_row, missing, "title"), partial(insert_row, twice)):
        with pytest.raises(DatabaseError), atomic():
            with together():
                session.title = "After"
                update_row(session, "title")
                write()
            raise AssertionError("the error came too late")
        assert Session.objects.get(id=session.id).title == "Before"
    assert Session.objects.filter(id=session.id).exists()  # the connection is as good as before


def test_rows_are_written_together_in_a_transaction_only(committed: Tenant) -> None:
    with pytest.raises(AssertionError, match="transaction"), together():
        raise AssertionError("not reached")


def test_what_is_asked_together_is_asked_in_order_and_answered_with_what_was_written(tenant: Tenant) -> None:
    session = make_session(tenant, "Before")
    kept = KeptSelect(lambda id: Session.objects.select_for_update().filter(id=id))
    with atomic(), together():
        before = kept.ask(id=session.id)
        session.title = "After"
        update_row(session, "title")
        after, missing = kept.ask(id=session.id), kept.ask(id=uuid.uuid4())
        early = before.row()
        assert early is not None and early.title == "Before"
    late = after.row()
    assert late is not None and late.title == "After"
    assert missing.row() is None

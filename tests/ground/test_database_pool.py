"""What keeps a request from asking the database more than it must."""

import select
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection as django_connection

from memoryhub.database_pool import check_open
from memoryhub.models import ApiKey

type Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture
def connect(db: None) -> Iterator[Connection]:
    """A connection of its own to the test's database."""
    parameters = django_connection.get_connection_params()
    wanted = {
        name: parameters[name]
        for name in ("host", "port", "user", "password", "dbname")
        if name in parameters
    }
    with psycopg.connect(**wanted, autocommit=True) as made:
        yield made


def last_query(of: Connection) -> object:
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT query FROM pg_stat_activity WHERE pid = %s", [of.info.backend_pid])
        return cursor.fetchone()[0]


def test_a_good_connection_is_not_asked(connect: Connection) -> None:
    connect.execute("SELECT 'the last question'")
    check_open(connect)
    assert last_query(connect) == "SELECT 'the last question'"


def test_a_connection_that_the_server_closed_is_refused(connect: Connection) -> None:
    with django_connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [connect.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        check_open(connect)


def test_a_connection_closed_here_is_refused(connect: Connection) -> None:
    connect.close()
    with pytest.raises(psycopg.OperationalError):
        check_open(connect)


def test_a_connection_with_unread_news_is_asked_and_kept(connect: Connection) -> None:
    connect.execute("LISTEN news")
    with psycopg.connect(connect.info.dsn, password=connect.info.password, autocommit=True) as other:
        other.execute("NOTIFY news")
    assert select.select([connect], [], [], 10)[0], "the news arrive"
    check_open(connect)
    assert last_query(connect) == ""
    assert connect.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_that_is_executed_often_is_planned_once(db: None) -> None:
    for _ in range(10):
        list(ApiKey.objects.filter(name="a name that the statement carries apart"))
    with django_connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement FROM pg_prepared_statements WHERE position('memoryhub_apikey' IN statement) > 0"
        )
        statements = [row[0] for row in cursor.fetchall()]
    assert len(statements) == 1
    assert "a name" not in statements[0]

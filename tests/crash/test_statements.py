"""Every statement of every change may fail: what is left is the state before it or the state after it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from stores import memories
from tests.crash.mutations import EVERY_MUTATION, Mutation, make_mutation
from tests.documented import DocumentedOperation, documented_operations
from tests.world import Caller

STATEMENTS_MAX = 200


@pytest.fixture(autouse=True)
def quick_passwords(committed: None, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class Fault:
    """Fails the n-th statement: instead of carrying it out, or when it is carried out."""

    def __init__(self, number: int, *, carried_out: bool) -> None:
        self.number = self.left = number
        self.carried_out = carried_out

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.left -= 1
        if self.left:
            return execute(sql, params, many, context)
        if self.carried_out:
            execute(sql, params, many, context)
        raise OperationalError("planted")

    def __repr__(self) -> str:
        return f"statement {self.number}, {'whose answer is lost' if self.carried_out else 'not carried out'}"

    @property
    def happened(self) -> bool:
        return self.left <= 0


@contextmanager
def failing(fault: Fault) -> Iterator[None]:
    with connection.execute_wrapper(fault):
        yield


def fail_each_statement(mutation: Mutation) -> int:
    """How many statements were made to fail, each in both ways, until the request passed without."""
    call = Caller(mutation.new_key())
    call("GET", "/v1/projects")  # the key's first use is noted
    before = mutation.state()
    for number in range(1, STATEMENTS_MAX):
        for carried_out in (False, True):
            fault = Fault(number, carried_out=carried_out)
            with failing(fault):
                answer = mutation.ask(call)
            if not fault.happened:
                assert answer.status == mutation.operation.status, answer.body
                assert mutation.state() != before, "the request changes nothing"
                return number - 1
            assert answer.status == 503, (fault, answer.status, answer.content)
            assert answer.error_code == "database_unavailable", answer.body
            assert mutation.state() == before, f"half a change is left by a fault: {fault}"
    raise AssertionError(f"more than {STATEMENTS_MAX} statements")


@EVERY_MUTATION
def test_a_statement_that_fails_or_whose_answer_is_lost_leaves_nothing_of_the_change(
    operation: DocumentedOperation,
) -> None:
    assert fail_each_statement(make_mutation(operation)) >= 3


def test_a_change_without_a_transaction_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memories.update_memory
    monkeypatch.setattr(memories, "update_memory", whole.__wrapped__)  # type: ignore[attr-defined]
    # A row can only be locked within a transaction, so the locks go too.
    monkeypatch.setattr(memories, "lock_memory", lambda store, memory_id: _read(store, memory_id))
    operation = next(found for found in documented_operations() if found.name == "memories.update")
    with pytest.raises(AssertionError, match="half a change"):
        fail_each_statement(make_mutation(operation))


def _read(store: Any, memory_id: str) -> memories.Memory:
    return memories.Memory.objects.get(store_id=store.id, id=memories._key(memory_id))

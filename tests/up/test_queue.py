"""The embedded queue as a real process."""

import os
import signal
import stat
from collections.abc import Iterator

import pytest
import redis

from memoryhub.embedded import EmbeddedQueue, processes
from tests.up.hubs import new_data_dir


@pytest.fixture
def queue() -> Iterator[EmbeddedQueue]:
    with new_data_dir() as folder:
        server = EmbeddedQueue(folder / "data")
        server.start()
        yield server
        server.stop()


def test_it_listens_on_a_socket_of_its_owner_alone(queue: EmbeddedQueue) -> None:
    with redis.Redis.from_url(queue.url()) as client:
        config = client.config_get("port", "appendonly", "maxmemory-policy")
    assert config == {"port": "0", "appendonly": "yes", "maxmemory-policy": "noeviction"}
    assert stat.S_IMODE(queue.socket.stat().st_mode) == 0o700


def test_what_was_sent_a_second_ago_survives_a_kill(queue: EmbeddedQueue) -> None:
    with redis.Redis.from_url(queue.url()) as client:
        client.rpush("celery", "a job")
        client.execute_command("WAITAOF", 1, 0, 5000)
    pid = queue.pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert processes.wait_until(lambda: queue.pid() is None, 5)
    queue.start()
    assert queue.pid() != pid
    with redis.Redis.from_url(queue.url()) as client:
        assert client.lrange("celery", 0, -1) == [b"a job"]


def test_one_that_outlived_its_parent_is_ended_first(queue: EmbeddedQueue) -> None:
    stranded = queue.pid()
    assert stranded is not None
    other = EmbeddedQueue(queue.data_dir)
    other.start()
    assert other.ready() and other.pid() != stranded and queue.pid() is None
    other.stop()


def test_starting_and_stopping_twice(queue: EmbeddedQueue) -> None:
    pid = queue.pid()
    queue.start()
    assert queue.pid() == pid
    queue.stop()
    queue.stop()
    assert queue.pid() is None and not queue.ready()

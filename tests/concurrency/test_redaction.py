"""A redacted text: no call that begins after the redaction's answer is given it, by any door."""

import threading
import time
from collections.abc import Callable

from tests.answers import Answer, Call
from tests.concurrency.clients import created, in_rounds, make_memory, make_store
from tests.live import LiveHub
from tests.world import Tenant

ROUNDS = 50
READS_AFTER = 2  # by each door in each round

type Door = Callable[[Call, str, "Target"], Answer]


class Target:
    """What a round is about: a text in a former version, and in the head of another memory."""

    def __init__(self, call: Call, base: str, number: int) -> None:
        self.text = f"canary{number}of{base[-12:]}"
        self.former = created(
            call("POST", f"{base}/memories", {"path": f"/{number}/a", "content": self.text})
        )
        created(call("POST", f"{base}/memories/{self.former['id']}", {"content": "clean"}))
        self.head_id = make_memory(call, base.rpartition("/")[2], f"/{number}/b", self.text)
        self.answered_at: float | None = None
        self.is_read = threading.Event()


DOORS: dict[str, Door] = {
    "get": lambda call, base, target: call("GET", f"{base}/memories/{target.head_id}"),
    "list": lambda call, base, target: call(
        "GET",
        f"{base}/memories",
        query={"view": "full", "path_prefix": target.former["path"].rpartition("/")[0] + "/"},
    ),
    "search": lambda call, base, target: call(
        "GET", f"{base}/memories/search", query={"query": target.text, "view": "full"}
    ),
    "version": lambda call, base, target: call(
        "GET", f"{base}/memory_versions/{target.former['memory_version_id']}"
    ),
    "versions": lambda call, base, target: call("GET", f"{base}/memory_versions", query={"view": "full"}),
    "diff": lambda call, base, target: call(
        "GET", f"{base}/memory_versions/{target.former['memory_version_id']}/diff"
    ),
    "export": lambda call, base, target: call("GET", f"{base}/export"),
}


def test_a_redacted_text_is_given_to_nobody_from_the_answer_on(live: LiveHub, live_tenant: Tenant) -> None:
    call = live.caller(live_tenant.key)
    base = f"/v1/memory_stores/{make_store(call)}"
    targets: list[Target] = []
    given: dict[str, list[tuple[bool, bool]]] = {name: [] for name in DOORS}  # (began after, held the text)

    def read(name: str) -> None:
        target, after = targets[-1], 0
        end = time.monotonic() + 30
        while after < READS_AFTER and time.monotonic() < end:
            is_after = target.answered_at is not None  # read before the call begins
            answer = DOORS[name](call, base, target)
            given[name].append((is_after, target.text.encode() in answer.content))
            assert answer.status == 200 or (name == "get" and answer.status == 404), answer.content
            after += is_after
            target.is_read.set()

    def redact(number: int) -> None:
        target = targets[-1]
        assert target.is_read.wait(30)
        if number % 2:
            version = f"{base}/memory_versions/{target.former['memory_version_id']}"
            created(call("POST", f"{version}/redact"))
            created(call("DELETE", f"{base}/memories/{target.head_id}"))
        created(call("POST", "/v1/redactions", {"contains": target.text, "heads": "delete"}))
        target.answered_at = time.monotonic()

    readers = [lambda number, name=name: read(name) for name in DOORS]
    in_rounds(ROUNDS, redact, *readers, between=lambda: targets.append(Target(call, base, len(targets))))
    late = {name: sum(held for is_after, held in seen if is_after) for name, seen in given.items()}
    assert late == dict.fromkeys(DOORS, 0)
    for name, seen in given.items():
        assert sum(is_after for is_after, _ in seen) >= ROUNDS * READS_AFTER, name
        assert sum(held for is_after, held in seen if not is_after) >= ROUNDS // 5, f"{name}: no race"

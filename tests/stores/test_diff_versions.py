import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.diffs import DIFF_CONTEXT_LINES, Difference, diff_texts, split_lines, unified_text
from stores.limits import MEMORY_CONTENT_BYTES_MAX
from tests.stores.shelf import Shelf
from tests.world import Caller, Tenant, unused_id

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d", "\n", "\r\n", "\u2028", " "]), max_size=24)


def diff_url(shelf: Shelf, version_id: str) -> str:
    return shelf.url("memory_versions", version_id, "diff")


def patched(difference: Difference, before: str) -> str:
    """What `patch` makes of the text before."""
    old, done, made = split_lines(before), 0, []
    for hunk in difference.hunks:
        start = hunk.before_start - 1 if hunk.before_lines else hunk.before_start
        made += old[done:start]
        done = start
        for run in hunk.runs:
            if run.operation != "insert":
                assert old[done : done + len(run.lines)] == run.lines
                done += len(run.lines)
            if run.operation != "delete":
                made += run.lines
    return "".join(made + old[done:])


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for line in old:
        above, row = row, [0]
        for index, other in enumerate(new):
            row.append(above[index] + 1 if line == other else max(above[index + 1], row[index]))
    return row[-1]


@given(LINES, LINES)
def test_a_difference_rebuilds_the_text_after_with_the_fewest_lines(old: list[str], new: list[str]) -> None:
    before, after = "".join(old), "".join(new)
    difference = diff_texts(before, after)
    assert patched(difference, before) == after
    kept = longest_common(split_lines(before), split_lines(after))
    assert difference.lines_removed == len(split_lines(before)) - kept
    assert difference.lines_added == len(split_lines(after)) - kept
    assert not difference.coarse


def test_a_line_ends_with_lf_alone() -> None:
    assert split_lines("a\r\nb\u2028c\x0bd\n\ne") == ["a\r\n", "b\u2028c\x0bd\n", "\n", "e"]
    assert split_lines("") == []


def test_the_unified_text_is_what_patch_reads() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    after = before.replace("2\n3\n", "2\nthree\n", 1).removesuffix("20\n") + "20"
    assert unified_text(diff_texts(before, after), "old", "new") == (
        "--- old\n+++ new\n"
        "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n"
        "@@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n"
    )


def test_changes_closer_than_twice_the_context_share_a_hunk() -> None:
    def lines(between: int) -> tuple[str, str]:
        middle = "".join(f"{number}\n" for number in range(between))
        return f"x\n{middle}x\n", f"y\n{middle}y\n"

    assert len(diff_texts(*lines(2 * DIFF_CONTEXT_LINES)).hunks) == 1
    assert len(diff_texts(*lines(2 * DIFF_CONTEXT_LINES + 1)).hunks) == 2


def test_equal_texts_have_no_hunks() -> None:
    assert diff_texts("a\nb", "a\nb") == Difference([], 0, 0, False)
    assert unified_text(diff_texts("a", "a"), "old", "new") == ""


def numbered(count: int) -> list[str]:
    return [f"{number:x}\n" for number in range(count)]


def shuffled(count: int) -> list[str]:
    lines = numbered(count)
    random.Random(count).shuffle(lines)
    return lines


WORST = {
    "reversed": lambda n: (numbered(n), numbered(n)[::-1]),
    "shuffled": lambda n: (numbered(n), shuffled(n)),
    "two words": lambda n: (["a\n"] * n, ["a\n", "b\n", "a\n"] * (n // 3)),
    "swapped pairs": lambda n: (["a\n", "b\n"] * (n // 2), ["b\n", "a\n"] * (n // 2)),
    "nothing shared": lambda n: (numbered(n), [f"x{line}" for line in numbered(n)]),
    "every second": lambda n: (numbered(n), [line for one in numbered(n // 2) for line in (one, f"x{one}")]),
}


NOISE_SECONDS = 0.15  # caches that no longer hold the lines; a quadratic search takes minutes


def cpu_seconds(before: str, after: str) -> float:
    """The least of five."""
    taken = []
    for _ in range(5):
        began = time.process_time()
        unified_text(diff_texts(before, after), "old", "new")
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.parametrize("worst", WORST)
def test_time_grows_no_faster_than_the_texts(worst: str) -> None:
    seconds = []
    for count in (6_250, 12_500, 25_000):
        old, new = WORST[worst](count)
        seconds.append(cpu_seconds("".join(old), "".join(new)))
    for earlier, later in zip(seconds, seconds[1:], strict=False):
        assert later <= 2.3 * earlier + NOISE_SECONDS, seconds


def test_past_the_work_bound_the_middle_is_one_replaced_block() -> None:
    old, new = ["first\n", *numbered(25_000), "last\n"], ["first\n", *numbered(25_000)[::-1], "last\n"]
    difference = diff_texts("".join(old), "".join(new))
    assert difference.coarse
    assert (difference.lines_removed, difference.lines_added) == (25_000, 25_000)
    assert [run.operation for hunk in difference.hunks for run in hunk.runs] == [
        "equal", "delete", "insert", "equal",
    ]  # fmt: skip
    assert patched(difference, "".join(old)) == "".join(new)


def test_a_version_is_compared_with_the_one_before_it(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/a.md", "one\ntwo\n")
    shelf.put("/other.md", "between\n")
    shelf.update(memory, path="/b.md", content="one\n2\n")
    newest, _, oldest = shelf.versions()
    answer = call("GET", diff_url(shelf, newest.wire_id))
    assert answer.status == 200
    body = answer.body
    assert (body["type"], body["memory_store_id"]) == ("memory_version_diff", shelf.store_id)
    assert body["before"] == {
        "memory_version_id": oldest.wire_id,
        "memory_id": memory.wire_id,
        "state": "present",
        "path": "/a.md",
        "content_size_bytes": 8,
        "content_sha256": oldest.content_sha256,
    }
    assert (body["after"]["memory_version_id"], body["after"]["path"]) == (newest.wire_id, "/b.md")
    assert (body["lines_added"], body["lines_removed"], body["coarse"]) == (1, 1, False)
    assert body["unified"] == (
        f"--- {oldest.wire_id}\n+++ {newest.wire_id}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    )
    assert body["hunks"] == [
        {
            "before_start": 1,
            "before_lines": 2,
            "after_start": 1,
            "after_lines": 2,
            "runs": [
                {"operation": "equal", "lines": ["one\n"]},
                {"operation": "delete", "lines": ["two\n"]},
                {"operation": "insert", "lines": ["2\n"]},
            ],
        }
    ]


def test_any_two_versions_of_a_store_can_be_compared(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "one\n")
    shelf.put("/b", "two\n")
    newer, older = shelf.versions()
    body = call("GET", diff_url(shelf, older.wire_id), query={"against": newer.wire_id}).body
    assert body["unified"].endswith("@@ -1,1 +1,1 @@\n-two\n+one\n")


def test_the_first_version_is_compared_with_nothing(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a", "one\n")
    body = call("GET", diff_url(shelf, shelf.versions()[0].wire_id)).body
    assert (body["before"]["state"], body["before"]["memory_version_id"]) == ("none", None)
    assert body["unified"].startswith("--- /dev/null\n") and body["unified"].endswith(
        "@@ -0,0 +1,1 @@\n+one\n"
    )


def test_a_deletion_is_said_and_shows_what_went(call: Caller, shelf: Shelf) -> None:
    shelf.delete(shelf.put("/a", "one\n"))
    body = call("GET", diff_url(shelf, shelf.versions()[0].wire_id)).body
    assert (body["after"]["state"], body["after"]["content_sha256"]) == ("deleted", None)
    assert body["unified"].endswith("+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n")


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_redacted_side_is_said_and_nothing_of_it_shown(call: Caller, shelf: Shelf, side: str) -> None:
    memory = shelf.put("/a", "canary\n")
    shelf.update(memory, content="shown\n")
    first = shelf.versions()[-1]
    call("POST", f"{shelf.version_url(first)}/redact")
    asked = shelf.versions()[0].wire_id if side == "before" else first.wire_id
    against = {} if side == "before" else {"against": shelf.versions()[0].wire_id}
    answer = call("GET", diff_url(shelf, asked), query=against)
    assert answer.status == 200
    assert answer.body[side] == {
        "memory_version_id": first.wire_id,
        "memory_id": memory.wire_id,
        "state": "redacted",
        "path": None,
        "content_size_bytes": None,
        "content_sha256": None,
    }
    assert [answer.body[name] for name in ("unified", "hunks", "coarse", "lines_added")] == [None] * 4
    assert b"canary" not in answer.content


def test_the_largest_contents_are_compared_within_the_bound(call: Caller, shelf: Shelf) -> None:
    lines = [f"{number:x}\n" for number in range(20_000)]
    old, new = "".join(lines)[:MEMORY_CONTENT_BYTES_MAX], "".join(lines[::-1])[:MEMORY_CONTENT_BYTES_MAX]
    shelf.update(shelf.put("/a", old), content=new)
    answer = call("GET", diff_url(shelf, shelf.versions()[0].wire_id))
    assert answer.status == 200 and answer.body["coarse"] is True
    assert len(answer.content) < 10 * MEMORY_CONTENT_BYTES_MAX


def test_unknown_versions_are_not_found(call: Caller, tenant: Tenant, shelf: Shelf) -> None:
    shelf.put()
    other = Shelf(call("POST", "/v1/memory_stores", {"name": "Other"}).body["id"], tenant.actor)
    other.put()
    version, elsewhere = shelf.versions()[0].wire_id, other.versions()[0].wire_id
    assert call("GET", diff_url(shelf, elsewhere)).refusal == (404, "not_found_error", None)
    for against in (elsewhere, unused_id("memver"), "memver_", "x\0"):
        answer = call("GET", diff_url(shelf, version), query={"against": against})
        assert answer.refusal in [(404, "not_found_error", None), (400, "invalid_request_error", None)]
    assert call("GET", diff_url(shelf, version), query={"against": elsewhere}).status == 404


def test_what_the_caller_may_not_see_answers_like_an_unknown_id(shelf: Shelf, stranger: Tenant) -> None:
    shelf.put()
    version = shelf.versions()[0].wire_id
    foreign = stranger.call()("GET", diff_url(shelf, version))
    absent = stranger.call()("GET", diff_url(Shelf(unused_id("memstore"), shelf.actor), version))
    assert foreign.status == absent.status == 404 and foreign.body["error"] == absent.body["error"]

"""Bytes in are bytes out: what was sent hashes to the same at every door that shows it."""

import hashlib
import io
import json
import os
import tarfile
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores import exports
from tests.answers import Answer
from tests.authorization.snapshots import undone
from tests.hostile.corpus import KEPT
from tests.world import Caller, Tenant

# MEMORYHUB_TEST_CONTENT_EXAMPLES asks for more: 5,000 take some minutes.
EXAMPLES = int(os.environ.get("MEMORYHUB_TEST_CONTENT_EXAMPLES", "200"))

ODD = st.sampled_from(
    [" ", "\t", "\n", "\r\n", "\r", "\u00a0", "\u200b", "\ufeff", "\u0301", "\u200d", "\u202e", "\u2066", "\U0001f469", "\U0001f680", "\x01", "\x7f"]
    + ["\x85", "\u2028", '"', "\\", "\\u0000", "</script>", "%", "\U0010ffff", "\ufffe", "\u0378"]
)  # fmt: skip
CONTENTS = st.lists(ODD | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30), max_size=8).map("".join)  # fmt: skip


@pytest.mark.parametrize("content", KEPT, ids=range(len(KEPT)))
def test_odd_text_is_kept(tenant: Tenant, call: Caller, store_id: str, content: str) -> None:
    check_round_trip(tenant, call, store_id, content)


@pytest.mark.timeout(300 + EXAMPLES)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True
)  # fmt: skip
@given(content=CONTENTS)
def test_any_text_is_kept(tenant: Tenant, call: Caller, store_id: str, content: str) -> None:
    with undone():
        check_round_trip(tenant, call, store_id, content)


def check_round_trip(tenant: Tenant, call: Caller, store_id: str, content: str) -> None:
    url = f"/v1/memory_stores/{store_id}"
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    made = call("POST", f"{url}/memories", {"path": "/a.md", "content": content})
    assert (made.status, made.body["content_sha256"]) == (200, sha256), made.content
    assert made.body["content_size_bytes"] == len(content.encode())
    escaped = json.dumps({"content": content}, ensure_ascii=True).encode()
    again = call("POST", f"{url}/memories/{made.body['id']}", raw=escaped)  # the same text, spelled otherwise
    assert again.body["memory_version_id"] == made.body["memory_version_id"]
    version_id = made.body["memory_version_id"]
    for name, shown in {
        "get": shown_content(call("GET", f"{url}/memories/{made.body['id']}")),
        "list": call("GET", f"{url}/memories", query={"view": "full"}).body["data"][0]["content"],
        "version": shown_content(call("GET", f"{url}/memory_versions/{version_id}")),
        "versions": call("GET", f"{url}/memory_versions", query={"view": "full"}).body["data"][0]["content"],
        "file": shown_content(call("GET", f"{url}/files/a.md")),
        "text": raw_text(call("GET", f"{url}/files/a.md", headers={"Accept": "text/plain"})),
    }.items():
        assert shown == content, name
    plain = {
        "Content-Type": "text/plain; charset=utf-8"
    }  # as a header: Django's client drops it from an empty body
    put = call("PUT", f"{url}/files/raw.md", raw=content.encode(), headers=plain)
    assert (put.status, put.body["content_sha256"]) == (200, sha256)


def shown_content(answer: Answer) -> str:
    assert answer.status == 200, answer.content
    return str(answer.body["content"])


def raw_text(answer: Answer) -> str:
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return answer.content.decode()


def test_an_export_holds_the_bytes_that_were_sent(committed: Tenant) -> None:
    call = committed.call()
    store_id = call("POST", "/v1/memory_stores", {"name": "Odd"}).body["id"]
    for index, content in enumerate(KEPT):
        answer = call(
            "PUT", f"/v1/memory_stores/{store_id}/files/{quote(f'{index}.md')}", {"content": content}
        )
        assert answer.status == 200, answer.content
    spool = io.BytesIO()
    exports.export_store(store_id, spool, bytes_max=None, actor=committed.actor)
    spool.seek(0)
    with tarfile.open(fileobj=spool) as archive:
        blobs = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        texts = {file.read() for name, file in blobs.items() if name.startswith("blobs/") and file}
    assert texts == {content.encode() for content in KEPT}

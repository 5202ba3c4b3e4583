"""Promise E1 on a whole hub: redacted text and its digest are in no log, archive, backup or message of the queue."""

import io
import re
import tarfile
from collections.abc import Iterator

import pytest

from memoryhub.digests import sha256_hex
from memoryhub.embedded import processes
from tests.browsers import Browser
from tests.live import LiveCaller
from tests.secrets.spellings import hits
from tests.secrets.talkative import TalkativeHub
from tests.up.hubs import run_command

TEXT = "canary4d7e canary9a01"
DIGEST = {"the text": TEXT, "its digest": sha256_hex(TEXT)}


@pytest.fixture
def store(talkative: TalkativeHub) -> Iterator[str]:
    """A store in which the text is, or was, in every way, and of which it was asked by every door."""
    call = talkative.caller()
    base = f"/v1/memory_stores/{call('POST', '/v1/memory_stores', {'name': 'Redacted'}).body['id']}"
    for path in ("/a", "/b", f"/{TEXT}/c"):
        memory = call("POST", f"{base}/memories", {"path": path, "content": TEXT}).body
        assert call("POST", f"{base}/memories", {"path": path, "content": TEXT}).status == 409
        again = {"content": "x", "precondition": {"type": "content_sha256", "content_sha256": "0" * 64}}
        assert call("POST", f"{base}/memories/{memory['id']}", again).status == 409
    assert call("POST", f"{base}/memories/{memory['id']}", {"content": "clean"}).status == 200
    found = call("POST", "/v1/memories/search", {"query": TEXT}).body["data"]
    assert len(found) >= 2
    fail(talkative, call, base)
    yield base


def fail(talkative: TalkativeHub, call: LiveCaller, base: str) -> None:
    """As a bug would: PostgreSQL refuses the row, and says in full what is in it."""
    checked = "ALTER TABLE stores_memoryversion ADD CONSTRAINT planted CHECK (path <> '/refused') NOT VALID"
    talkative.execute(checked)
    try:
        body = {"path": "/refused", "content": TEXT}
        assert call("POST", f"{base}/memories", body).status == 500
    finally:
        talkative.execute("ALTER TABLE stores_memoryversion DROP CONSTRAINT planted")
    with talkative.without_table("stores_memoryversion"):
        assert call("POST", "/v1/memory_versions/search", {"contains": TEXT}).status == 500


def archive(call: LiveCaller, base: str) -> bytes:
    """The bytes of an export and of all that is in it."""
    answer = call("GET", f"{base}/export")
    assert answer.status == 200
    with tarfile.open(fileobj=io.BytesIO(answer.content)) as members:
        files = [members.extractfile(member) for member in members if member.isfile()]
        return answer.content + b"\n".join(file.read() for file in files if file)


def export_in_background(talkative: TalkativeHub, call: LiveCaller, base: str) -> tuple[Browser, str]:
    """As a person asks for it: (their browser, the page of the job, whose worker is done)."""
    token = re.search(r"/sign-in/(\S+)", run_command(talkative.data_dir, "sign_in_link").stdout)
    assert token
    browser = talkative.browser()
    browser.sign_in_by_link(token[1])
    project = call("GET", "/v1/projects").body["data"][0]["id"]
    page = f"/p/{project}/{talkative.facts['environment']}/stores/{base.rpartition('/')[2]}"
    job = browser.post(f"{page}/export", page=page).headers["location"]
    assert processes.wait_until(lambda: b">Done<" in browser.get(job).content, 60)
    return browser, job


def test_redacted_text_is_left_in_nothing_that_is_kept_or_given_away(
    talkative: TalkativeHub, store: str
) -> None:
    call = talkative.caller()
    assert hits(archive(call, store), DIGEST) == list(DIGEST)  # else the search would find nothing anyway
    assert hits(talkative.dump(), DIGEST) == list(DIGEST)
    browser, job = export_in_background(talkative, call, store)
    assert hits(browser.get(f"{job}/file").content, DIGEST) == list(DIGEST)
    with talkative.watched_queue() as sent:
        redacted = call("POST", "/v1/redactions", {"contains": TEXT, "heads": "delete"}).body
    assert (redacted["complete"], redacted["left"]) == (True, []) and len(redacted["redacted"]) >= 4
    assert hits(archive(call, store), DIGEST) == []
    assert hits(talkative.dump(), DIGEST) == []
    assert browser.get(f"{job}/file").status == 404
    assert hits(browser.get(job).content, DIGEST) == []
    assert hits(talkative.queue_content() + b"\n".join(sent), DIGEST) == []
    assert b"CheckViolation" in talkative.log() and b"UndefinedTable" in talkative.log()
    assert hits(talkative.log(), DIGEST) == []

"""An archive comes from anywhere: whatever is wrong with it is named in one sentence, and nothing is written."""

import gzip
import io
import tarfile
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785

from memoryhub import ids
from memoryhub.digests import sha256_hex
from memoryhub.models import AuditEvent
from stores.models import Memory, MemoryIndex, MemoryStore, MemoryVersion
from tests.answers import Answer
from tests.archives.written import (
    MANIFEST,
    TAR,
    VERSIONS,
    Draft,
    import_archive,
    members_of,
    new_wire_id,
    write_tar,
)
from tests.world import Caller, Tenant

TABLES = (MemoryStore, Memory, MemoryVersion, MemoryIndex, AuditEvent)
type Members = dict[str, bytes]


@pytest.fixture
def call(tenant: Tenant) -> Caller:
    return tenant.call()


@pytest.fixture
def draft() -> Draft:
    """An archive that is accepted: two memories, and one that was changed and deleted."""
    draft = Draft()
    draft.add_head("/a.md", b"alpha")
    draft.add_head("/b.md", b"beta")
    gone = draft.add("/gone.md", b"once")
    draft.add("/gone.md", b"twice", memory_id=gone["memory_id"], operation="modified")
    draft.add("/gone.md", None, memory_id=gone["memory_id"], operation="deleted")
    return draft


def refused(call: Caller, archive: bytes) -> Answer:
    before = [table.objects.count() for table in TABLES]
    answer = import_archive(call, archive)
    assert answer.status == 400, answer.content[:300]
    assert answer.error_code == "archive_invalid"
    assert [table.objects.count() for table in TABLES] == before
    return answer


def test_the_draft_itself_is_accepted(call: Caller, draft: Draft) -> None:
    answer = import_archive(call, draft.write())
    assert answer.status == 200, answer.body
    assert answer.body["counts"]["memory_versions"] == 5


def test_an_archive_packed_again_by_gnu_tar_is_accepted_in_any_order(call: Caller, draft: Draft) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.GNU_FORMAT) as tar:
        for name, content in reversed(draft.members().items()):
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uname, member.mode = len(content), 1_800_000_000, "ana", 0o600
            tar.addfile(member, io.BytesIO(content))
    assert import_archive(call, out.getvalue()).status == 200


# The tar.


def special(kind: bytes, name: str = "manifest.json") -> Callable[[Members], bytes]:
    def write(members: Members) -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:", format=tarfile.USTAR_FORMAT) as tar:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        return out.getvalue()[:512] + write_tar(members)

    return write


def with_size(size: bytes) -> Callable[[Members], bytes]:
    """The first header claims another size, and its checksum is right."""

    def write(members: Members) -> bytes:
        archive = bytearray(write_tar(members))
        archive[124:136] = size
        archive[148:156] = b" " * 8
        archive[148:156] = f"{sum(archive[:512]):06o}\0 ".encode()
        return bytes(archive)

    return write


def with_long_name(members: Members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("x" * 200))
    return out.getvalue()[:1024] + write_tar(members)


def with_pax_header(members: Members) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.PAX_FORMAT, pax_headers={"comment": "x"}) as tar:
        tar.addfile(tarfile.TarInfo("manifest.json"))
    return out.getvalue()


TARS: dict[str, tuple[Callable[[Members], bytes], str]] = {
    "gzip": (lambda m: gzip.compress(write_tar(m)), "archive: The archive is compressed: send a plain tar."),
    "nothing": (lambda m: b"\0" * 511, "archive: The archive is cut off after 511 bytes."),
    "not a tar": (lambda m: b"PK\3\4" + bytes(range(256)) * 4, "archive: At byte 0 stands no tar header."),
    "cut in a member": (
        lambda m: write_tar(m)[:600],
        "manifest.json: The archive is cut off within this member.",
    ),
    "cut before the end": (lambda m: write_tar(m).rstrip(b"\0") + b"\0" * 100, "cut off"),
    "cut to one block of end": (
        lambda m: _cut_end(write_tar(m)),
        "archive: The archive is cut off before its end.",
    ),
    "something behind the end": (
        lambda m: write_tar(m) + b"x",
        "Something stands behind the end of the archive.",
    ),
    "another tar behind the end": (
        lambda m: write_tar(m) * 2,
        "Something stands behind the end of the archive.",
    ),
    "a broken checksum": (lambda m: b"N" + write_tar(m)[1:], "At byte 0 stands no tar header."),
    "a hard link": (special(tarfile.LNKTYPE), "manifest.json: This is a hard link, not a plain file."),
    "a symbolic link": (
        special(tarfile.SYMTYPE),
        "manifest.json: This is a symbolic link, not a plain file.",
    ),
    "a device": (special(tarfile.CHRTYPE), "manifest.json: This is a device, not a plain file."),
    "a block device": (special(tarfile.BLKTYPE), "manifest.json: This is a device, not a plain file."),
    "a pipe": (special(tarfile.FIFOTYPE), "manifest.json: This is a pipe, not a plain file."),
    "a folder": (special(tarfile.DIRTYPE, "blobs"), "This is a folder, not a plain file."),
    "a sparse file": (
        special(tarfile.GNUTYPE_SPARSE),
        "manifest.json: This is a sparse file, not a plain file.",
    ),
    "a long name": (with_long_name, "This is an extended header, not a plain file."),
    "a pax header": (with_pax_header, "This is an extended header, not a plain file."),
    "an unknown kind": (special(b"Z"), "manifest.json: This is an extended header, not a plain file."),
    "a size of nothing": (with_size(b"\0" * 12), "manifest.json: Its size cannot be read."),
    "a size in base 256": (with_size(b"\x80" + b"\xff" * 11), "manifest.json: Its size cannot be read."),
    "a negative size": (with_size(b"-0000000001\0"), "manifest.json: Its size cannot be read."),
    "a size that is not octal": (with_size(b"00000000099\0"), "manifest.json: Its size cannot be read."),
    "a size of 8 GiB": (
        with_size(b"77777777777\0"),
        "manifest.json: The archive is cut off within this member.",
    ),
    "no manifest": (
        lambda m: write_tar(_without(m, MANIFEST)),
        "manifest.json: The archive does not hold it.",
    ),
    "no versions": (
        lambda m: write_tar(_without(m, VERSIONS)),
        "versions.ndjson: The archive does not hold it.",
    ),
    "a member twice": (
        lambda m: write_tar([*m.items(), *list(m.items())[:1]]),
        "manifest.json: The archive holds it twice.",
    ),
    "a blob twice": (lambda m: write_tar([*m.items(), *list(m.items())[-1:]]), "The archive holds it twice."),
}
NAMES = [
    "../manifest.json",
    "/etc/passwd",
    "./manifest.json",
    "blobs/../x",
    "blobs/" + "A" * 64,
    "blobs/" + "a" * 63,
    "é",
    "",
    "notes.txt",
]


def _cut_end(archive: bytes) -> bytes:
    end = len(archive.rstrip(b"\0"))
    return archive[: end + -end % 512 + 512]


def _without(members: Members, name: str) -> Members:
    return {other: content for other, content in members.items() if other != name}


@pytest.mark.parametrize("case", TARS)
def test_a_hostile_tar_is_refused(call: Caller, draft: Draft, case: str) -> None:
    write, sentence = TARS[case]
    assert sentence in refused(call, write(draft.members())).message


@pytest.mark.parametrize("name", NAMES)
def test_a_member_of_another_name_is_refused(call: Caller, draft: Draft, name: str) -> None:
    members = {**draft.members(), name: b"x"}
    assert refused(call, write_tar(members)).message.endswith("An archive has no such member.")


@pytest.mark.parametrize("cut", range(1, 12))
def test_an_archive_cut_anywhere_is_refused(call: Caller, draft: Draft, cut: int) -> None:
    archive = draft.write()
    content_end = len(archive.rstrip(b"\0"))
    refused(call, archive[: content_end * cut // 12])


def test_every_flipped_bit_of_a_version_or_a_content_is_found(call: Caller, draft: Draft) -> None:
    for name, content in list(draft.members().items())[1:]:
        for position in range(0, len(content), max(1, len(content) // 8)):
            flipped = content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
            refused(call, write_tar({**draft.members(), name: flipped}))


# The manifest.


def set_in(*keys: Any, to: Any) -> Callable[[Draft], None]:
    """Set a value deep in the manifest."""

    def change(draft: Draft) -> None:
        place = draft.manifest
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


def drop(*keys: Any) -> Callable[[Draft], None]:
    def change(draft: Draft) -> None:
        place = draft.manifest
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return change


MANIFESTS: dict[str, tuple[Callable[[Draft], Any], str]] = {
    "another format": (
        set_in("format", to="zip"),
        "This hub reads the format memoryhub.memory_store, versions 1 and 2.",
    ),
    "a newer version": (
        set_in("format_version", to=3),
        "This hub reads the format memoryhub.memory_store, versions 1 and 2.",
    ),
    "a key more": (set_in("extra", to=1), "manifest.json: extra is not known here."),
    "a key less": (drop("memory_store"), "manifest.json: memory_store is missing."),
    "heads no list": (set_in("heads", to={}), "heads must be a list of at most 2000."),
    "a store that is none": (set_in("memory_store", to=[]), "memory_store must be an object."),
    "a store key more": (set_in("memory_store", "project_id", to="x"), "project_id is not known here."),
    "an empty name": (set_in("memory_store", "name", to=""), "manifest.json, memory_store: name:"),
    "a name too long": (set_in("memory_store", "name", to="x" * 256), "manifest.json, memory_store: name:"),
    "a name with a bell": (set_in("memory_store", "name", to="\a"), "manifest.json, memory_store: name:"),
    "a name that is no text": (set_in("memory_store", "name", to=1), "manifest.json, memory_store: name:"),
    "a description too long": (set_in("memory_store", "description", to="x" * 1_025), "description:"),
    "metadata of numbers": (set_in("memory_store", "metadata", to={"a": 1}), "metadata:"),
    "17 pairs": (set_in("memory_store", "metadata", to={str(n): "" for n in range(17)}), "metadata:"),
    "an id of another kind": (
        set_in("memory_store", "id", to=new_wire_id("mem")),
        "id is not an id that a hub gives out.",
    ),
    "the zero id": (
        set_in("memory_store", "id", to="memstore_" + "0" * 32),
        "id is not an id that a hub gives out.",
    ),
    "a time without zone": (
        set_in("memory_store", "created_at", to="2026-01-01T00:00:00.000000"),
        "created_at must be a time",
    ),
    "a time with an offset": (
        set_in("memory_store", "created_at", to="2026-01-01T00:00:00.000000+00:00"),
        "created_at must be a time",
    ),
    "a time that is none": (
        set_in("memory_store", "updated_at", to="2026-02-30T00:00:00.000000Z"),
        "updated_at must be a time",
    ),
    "no time": (set_in("memory_store", "created_at", to=None), "created_at must be a time"),
    "a head that is none": (set_in("heads", 0, to="x"), "manifest.json, heads[0]: It must be an object."),
    "a head key less": (drop("heads", 1, "frozen_at"), "manifest.json, heads[1]: frozen_at is missing."),
    "a head path that is no text": (set_in("heads", 0, "path", to=None), "heads[0]: path must be a string."),
    "a head of no memory": (
        set_in("heads", 0, "memory_id", to=new_wire_id("mem")),
        "heads[0]: It does not point to the newest version of a memory.",
    ),
    "a head at a missing version": (
        set_in("heads", 0, "memory_version_id", to=new_wire_id("memver")),
        "heads[0]: It does not point to the newest version",
    ),
    "a head with another path": (
        set_in("heads", 0, "path", to="/a.txt"),
        "heads[0]: Its path is not that of its version.",
    ),
    "a head too few": (drop("heads", 1), "The history leaves 2 heads, not 1."),
    "heads out of order": (
        lambda d: d.manifest["heads"].reverse(),
        "heads[1]: The heads are not in path order",
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_hostile_manifest_is_refused(call: Caller, draft: Draft, case: str) -> None:
    change, sentence = MANIFESTS[case]
    change(draft)
    answer = refused(call, draft.write())
    assert answer.message.startswith("manifest.json")
    assert sentence in answer.message


@pytest.mark.parametrize("key", ["versions", "blobs"])
@pytest.mark.parametrize(
    "value", [{}, [], {"count": -1, "sha256": "0" * 64, "size_bytes": 0}, {"count": True, "size_bytes": 0}]
)
def test_counts_that_are_none_are_refused(call: Caller, draft: Draft, key: str, value: Any) -> None:
    members = draft.members()
    members[MANIFEST] = rfc8785.dumps({**draft.manifest, key: value})
    assert refused(call, write_tar(members)).message.startswith("manifest.json")


WRONG_COUNTS: dict[str, tuple[dict[str, Any], str]] = {
    "a version more": ({"versions": {"count": 6}}, "versions.ndjson does not hold 6 versions."),
    "a version less": ({"versions": {"count": 4}}, "versions.ndjson does not hold 4 versions."),
    "another digest": (
        {"versions": {"sha256": "0" * 64}},
        "versions.ndjson: Its SHA-256 is not the one in the manifest.",
    ),
    "a blob more": ({"blobs": {"count": 5}}, "The archive holds blobs that no version has."),
    "a byte more": ({"blobs": {"size_bytes": 19}}, "The archive does not hold the blobs that it counts."),
}


@pytest.mark.parametrize("case", WRONG_COUNTS)
def test_counts_that_do_not_fit_are_refused(call: Caller, draft: Draft, case: str) -> None:
    changes, sentence = WRONG_COUNTS[case]
    members = draft.members()
    manifest = {**draft.manifest}
    for key, change in changes.items():
        manifest[key] = {**manifest[key], **change}
    members[MANIFEST] = rfc8785.dumps(manifest)
    assert sentence in refused(call, write_tar(members)).message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"format_version":1', b'"format_version":NaN'),
        (b'"format_version":1', b'"format_version":1.0'),
        (b'"format_version":1', b'"format_version":1,"format_version":1'),
        (b'"name":"Notes"', b'"name":"Not\\u0065s"'),
        (b'"name":"Notes"', b'"name":"\\u0000"'),
        (b'"name":"Notes"', b'"name":"\\ud800"'),
        (b'"name":"Notes"', b'"name":"\xff"'),
        (b'"name":"Notes"', b'"name": "Notes"'),
        (b'"metadata":{}', b'"metadata":' + b"[" * 100 + b"]" * 100),
        (b'"format_version":1', b'"format_version":9007199254740993'),
        (b"}", b""),
    ],
)
def test_json_that_is_not_canonical_is_refused(call: Caller, draft: Draft, old: bytes, new: bytes) -> None:
    members = draft.members()
    assert old in members[MANIFEST]
    members[MANIFEST] = members[MANIFEST].replace(old, new)
    assert refused(call, write_tar(members)).message.startswith("manifest.json: ")


# The versions.


def line(number: int, **values: Any) -> Callable[[Draft], None]:
    return lambda draft: draft.versions[number - 1].update(values)


def move(old: int, new: int) -> Callable[[Draft], None]:
    return lambda draft: draft.versions.insert(new - 1, draft.versions.pop(old - 1))


AGENT = {"type": "session_actor", "session_id": "sesn_" + "0" * 32}
USER = {"type": "user_actor", "user_id": "user_" + "0" * 32}
HISTORIES: dict[str, tuple[Callable[[Draft], Any], str]] = {
    "a key more": (line(1, project="x"), "line 1: project is not known here."),
    "a key less": (lambda d: d.versions[0].pop("path"), "line 1: path is missing."),
    "an unknown operation": (line(1, operation="renamed"), "line 1: operation must be one of"),
    "an operation that is a list": (line(1, operation=[]), "line 1: operation must be one of"),
    "a path that climbs": (line(1, path="/../etc/passwd"), "line 1: path: it has a segment . or .."),
    "a path without root": (line(1, path="a.md"), "line 1: path: it must start with /"),
    "a path that is null": (line(1, path=None), "line 1: path: it must be a string."),
    "a path not in NFC": (line(1, path="/e\u0301"), "line 1: path: it is not in Unicode normal form NFC."),
    "a reserved path": (line(1, path="/.memoryhub-store"), "line 1: path: this name is reserved"),
    "a path of 1,025 bytes": (line(1, path="/" + "a" * 1_024), "line 1: path: it has 1025 bytes"),
    "a size that lies": (line(1, content_size_bytes=6), "line 1: content_size_bytes is not the size of its content."),
    "a size beyond the limit": (line(1, content_size_bytes=102_401), "line 1: content_size_bytes must be a whole number from 0 to 102400."),
    "a size that is true": (line(1, content_size_bytes=True), "line 1: content_size_bytes must be a whole number"),
    "no size": (line(1, content_size_bytes=None), "line 1: content_size_bytes must be a whole number"),
    "no digest": (line(1, content_sha256=None), "line 1: content_sha256 must be 64"),
    "a digest in capitals": (line(1, content_sha256="A" * 64), "line 1: content_sha256 must be 64"),
    "a content that is missing": (line(1, content_sha256="a" * 64), "line 1: The archive does not hold its content."),
    "a blob of no version": (lambda d: d.add_blob(b"stray"), "The archive holds blobs that no version has."),
    "no actor": (line(1, created_by=None), "line 1: created_by is not an actor."),
    "an actor of no kind": (line(1, created_by={"type": "root", "root_id": "x"}), "line 1: created_by is not an actor."),
    "an actor of two kinds": (line(1, created_by={**AGENT, "user_id": "user_x"}), "line 1: created_by is not an actor."),
    "an actor with markup": (line(1, created_by={"type": "user_actor", "user_id": "<b>"}), "line 1: created_by is not an actor."),
    "an actor of 65 letters": (line(1, created_by={"type": "user_actor", "user_id": "u" * 65}), "line 1: created_by is not an actor."),
    "redacted and not emptied": (line(3, redacted_at="2026-01-02T00:00:00.000000Z", redacted_by=USER), "line 3: A redacted version holds no path, size or digest."),
    "redacted by nobody": (line(3, redacted_at="2026-01-02T00:00:00.000000Z"), "line 3: redacted_by is not an actor."),
    "redacted by an agent": (line(3, redacted_at="2026-01-02T00:00:00.000000Z", redacted_by=AGENT), "line 3: redacted_by is not an actor."),
    "redacted never, by somebody": (line(3, redacted_by=USER), "line 3: redacted_by is set, and redacted_at is not."),
    "a redacted head": (lambda d: d.redact(d.versions[1]), "heads[1]: It points to a redacted version."),
    "a deletion with content": (line(5, content_size_bytes=5), "line 5: A deletion holds no size and no digest."),
    "an id twice": (lambda d: d.versions[1].update(id=d.versions[0]["id"]), "line 2: A version with this id stands above."),
    "a version id of a memory": (line(1, id=new_wire_id("mem")), "line 1: id is not an id that a hub gives out."),
    "a memory that begins with a change": (line(3, operation="modified"), "line 3: A memory's first version, and no other, is created."),
    "a memory created twice": (line(4, operation="created"), "line 4: A memory's first version, and no other, is created."),
    "a change after the deletion": (move(5, 4), "line 5: It changes a memory that was deleted above."),
    "a deletion first": (move(5, 3), "line 3: A memory's first version, and no other, is created."),
    "written after the archive": (set_in("memory_store", "archived_at", to="2026-01-01T00:00:01.000003Z"), "line 5: It was written after its store was archived."),
    "a time of the wrong form": (line(1, created_at="2026-01-01 00:00:00Z"), "line 1: created_at must be a time"),
    "one path twice": (lambda d: _make_path(d, "/a.md"), "heads[1]: The heads are not in path order, or two have one path."),
    "a path below another": (lambda d: _make_path(d, "/a.md/b"), "heads[1]: Its path lies below another memory's."),
}  # fmt: skip


def _make_path(draft: Draft, path: str) -> None:
    """Of the second memory."""
    draft.versions[1]["path"] = draft.manifest["heads"][1]["path"] = path


@pytest.mark.parametrize("case", HISTORIES)
def test_a_hostile_history_is_refused(call: Caller, draft: Draft, case: str) -> None:
    change, sentence = HISTORIES[case]
    change(draft)
    assert sentence in refused(call, draft.write()).message


@pytest.mark.parametrize(
    "lines",
    [
        lambda text: text[:-1],
        lambda text: text + b"\n",
        lambda text: b" " + text,
        lambda text: text.replace(b"\n", b"\r\n"),
    ],
)
def test_lines_end_with_one_line_feed(call: Caller, draft: Draft, lines: Callable[[bytes], bytes]) -> None:
    members = draft.members()
    members[VERSIONS] = lines(members[VERSIONS])
    draft.manifest["versions"]["sha256"] = sha256_hex(members[VERSIONS])
    members[MANIFEST] = rfc8785.dumps(draft.manifest)
    assert refused(call, write_tar(members)).message.startswith("versions.ndjson, line ")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"nul \0", b"\xed\xa0\x80"])
def test_a_content_that_no_memory_can_hold_is_refused(call: Caller, draft: Draft, content: bytes) -> None:
    draft.add_head("/c.md", content)
    assert "It is not UTF-8 text without NUL." in refused(call, draft.write()).message


def test_a_blob_whose_content_has_another_digest_is_refused(call: Caller, draft: Draft) -> None:
    draft.blobs[draft.versions[0]["content_sha256"]] = b"ALPHA"
    assert refused(call, draft.write()).message.endswith("Its content has another SHA-256.")


def test_an_agent_that_wrote_after_a_freeze_is_refused_and_a_person_is_not(
    tenant: Tenant, call: Caller, draft: Draft
) -> None:
    draft.manifest["memory_store"]["frozen_at"] = "2026-01-01T00:00:01.000001Z"
    draft.versions[4]["created_by"] = AGENT
    assert "line 5: An agent wrote it after the freeze." in refused(call, draft.write()).message
    agent_key = tenant.new_key("agent", stores={})
    draft.versions[4]["created_by"] = {"type": "api_actor", "api_key_id": f"apikey_{agent_key[3:35]}"}
    assert "An agent wrote a version after the freeze." in refused(call, draft.write()).message
    draft.versions[4]["created_by"] = USER
    assert import_archive(call, draft.write()).status == 200


def test_an_agent_that_wrote_to_a_frozen_memory_is_refused(call: Caller, draft: Draft) -> None:
    draft.manifest["heads"][1]["frozen_at"] = "2026-01-01T00:00:01.000000Z"
    draft.versions[1]["created_by"] = AGENT
    assert "line 2: An agent wrote it after the freeze." in refused(call, draft.write()).message
    draft.manifest["heads"][1]["frozen_at"] = "2026-01-01T00:00:01.000001Z"
    assert import_archive(call, draft.write()).status == 200


# Limits: the last that is accepted, and one past it.


def test_content_of_the_most_bytes_and_one_more(call: Caller, draft: Draft) -> None:
    draft.add_head("/c.md", b"x" * 102_400)
    assert import_archive(call, draft.write()).status == 200
    draft.add_head("/d.md", b"y" * 102_401)
    assert "It has 102401 bytes; at most 102400 are allowed." in refused(call, draft.write()).message


def test_two_thousand_memories_and_one_more(call: Caller) -> None:
    draft = Draft()
    for number in range(2_000):
        draft.add_head(f"/{number:04d}")
    assert import_archive(call, draft.write()).status == 200
    draft.add_head("/2000")
    assert "heads must be a list of at most 2000." in refused(call, draft.write()).message
    draft.manifest["heads"].pop()
    assert "line 2001: A store holds at most 2000 memories." in refused(call, draft.write()).message


def test_a_deleted_memory_makes_room_for_another(call: Caller) -> None:
    draft = Draft()
    gone = draft.add("/gone")
    draft.add("/gone", None, memory_id=gone["memory_id"], operation="deleted")
    for number in range(2_000):
        draft.add_head(f"/{number:04d}")
    assert import_archive(call, draft.write()).status == 200


def test_a_body_of_the_most_bytes_and_one_more(call: Caller, draft: Draft, settings: Any) -> None:
    archive = draft.write()
    settings.ARCHIVE_BYTES_MAX = len(archive)
    assert import_archive(call, archive).status == 200
    settings.ARCHIVE_BYTES_MAX = len(archive) - 1
    answer = import_archive(call, archive)
    assert (answer.status, answer.error_code) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("bound", "fits", "sentence"),
    [
        ("stores.archive_reader.ARCHIVE_VERSIONS_MAX", 5, "versions"),
        ("stores.archive_reader.MANIFEST_BYTES_MAX", None, "manifest.json: It has"),
        ("stores.archive_reader.VERSION_LINE_BYTES_MAX", 0, "It does not end within"),
    ],
)
def test_each_bound_of_a_member_and_one_less(
    call: Caller, draft: Draft, monkeypatch: pytest.MonkeyPatch, bound: str, fits: int | None, sentence: str
) -> None:
    members = draft.members()
    if fits is None:
        fits = len(members[MANIFEST])
    elif fits == 0:
        fits = max(len(line) + 1 for line in members[VERSIONS].splitlines())
    monkeypatch.setattr(bound, fits)
    assert import_archive(call, draft.write()).status == 200
    monkeypatch.setattr(bound, fits - 1)
    assert sentence in refused(call, draft.write()).message


def test_only_a_tar_is_taken(call: Caller, draft: Draft) -> None:
    for content_type in ("application/json", "application/gzip", "multipart/form-data; boundary=x", ""):
        answer = call("POST", "/v1/memory_stores/import", raw=draft.write(), content_type=content_type)
        assert (answer.status, answer.message) == (400, f"Content-Type must be {TAR}.")


def test_names_in_sentences_are_bounded_text(call: Caller, draft: Draft) -> None:
    """What an archive says comes back escaped, never as it is."""
    answer = refused(call, write_tar({**draft.members(), "<script>\x1b[0m": b""}))
    assert "\x1b" not in answer.message


def test_every_version_is_imported_with_its_actor_and_time(call: Caller, draft: Draft) -> None:
    draft.versions[0]["created_by"] = AGENT
    draft.redact(draft.versions[2])
    made = import_archive(call, draft.write()).body["memory_store"]["id"]
    rows = MemoryVersion.objects.filter(store_id=ids.from_wire("memstore", made)).order_by("number")
    shown = call("GET", f"/v1/memory_stores/{made}/memory_versions", query={"view": "basic"}).body["data"]
    assert [row["created_by"] for row in reversed(shown)] == [
        version["created_by"] for version in draft.versions
    ]
    assert [row["created_at"] for row in reversed(shown)] == [
        version["created_at"] for version in draft.versions
    ]
    assert [row["redacted_by"] for row in reversed(shown)] == [
        version["redacted_by"] for version in draft.versions
    ]
    assert [row.content for row in rows] == ["alpha", "beta", None, "twice", None]


def test_members_of_is_what_was_written(draft: Draft) -> None:
    assert members_of(draft.write()) == draft.members()

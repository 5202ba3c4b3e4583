"""Files from elsewhere: what is read, what is told instead, and the limits of each kind of source."""

import io
import os
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from memoryhub.errors import InvalidRequest
from memoryhub.source_files import (
    Folder,
    OneFile,
    Source,
    SourceFile,
    SourceLimits,
    Unread,
    ZipSource,
    is_zip,
)

LIMITS = SourceLimits(files=10, file_bytes=100, all_bytes=250, depth=2)


def read(source: Source, limits: SourceLimits = LIMITS) -> dict[str, bytes | str]:
    """Contents and reasons by name."""
    return {
        one.name: one.content if isinstance(one, SourceFile) else one.reason for one in source.files(limits)
    }


def zipped(**members: bytes) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made


def refused_as(source: Source, limits: SourceLimits = LIMITS) -> tuple[str | None, str]:
    with pytest.raises(InvalidRequest) as refused:
        read(source, limits)
    return refused.value.error_code, refused.value.message


def test_a_file_is_read_to_its_limit_and_not_past_it() -> None:
    assert read(OneFile("a", io.BytesIO(b"x" * 100))) == {"a": b"x" * 100}
    assert read(OneFile("a", io.BytesIO(b"x" * 101))) == {"a": "The file has more than 100 bytes."}


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for name in ("b.md", "a/2.md", "a/1.md", "a/deep/er.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    assert list(read(Folder(tmp_path)).items()) == [
        ("a/1.md", b"a/1.md"),
        ("a/2.md", b"a/2.md"),
        ("a/deep/er.md", b"a/deep/er.md"),
        ("b.md", b"b.md"),
    ]


def test_no_link_is_followed_and_nothing_special_is_opened(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (folder / "file").symlink_to(outside / "secret")
    (folder / "folder").symlink_to(outside)
    (folder / "gone").symlink_to(outside / "nothing")
    os.mkfifo(folder / "pipe")
    (folder / ".hidden").write_bytes(b"x")
    (folder / "plain").write_bytes(b"x")
    os.symlink(b"x", os.fsencode(folder) + b"/\xff")
    link = "It is a link, and none is followed."
    assert read(Folder(folder)) == {
        ".hidden": "It is hidden, so it is left out.",
        "file": link,
        "folder": link,
        "gone": link,
        "pipe": "It is no plain file.",
        "plain": b"x",
        "\\udcff": "Its name is not UTF-8.",
    }
    (tmp_path / "to").symlink_to(folder)
    assert refused_as(Folder(tmp_path / "to"))[0] == "import_invalid"
    assert refused_as(Folder(tmp_path / "nowhere"))[0] == "import_invalid"


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"x")
    really = os.open

    def refuse(path: object, *given: int, **named: int) -> int:
        if path == "a":
            raise PermissionError(13, "Permission denied")
        return really(path, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refuse)
    assert read(Folder(tmp_path)) == {"a": "It cannot be read: Permission denied."}


def test_a_folder_has_limits(tmp_path: Path) -> None:
    (tmp_path / "1/2").mkdir(parents=True)
    (tmp_path / "1/2/at").write_bytes(b"x" * 100)
    (tmp_path / "1/2/3").mkdir()
    assert read(Folder(tmp_path)) == {
        "1/2/3": "It stands more than 2 folders deep.",
        "1/2/at": b"x" * 100,
    }
    (tmp_path / "second").write_bytes(b"x" * 100)
    (tmp_path / "third").write_bytes(b"x" * 50)
    assert len(read(Folder(tmp_path))) == 4
    (tmp_path / "third").write_bytes(b"x" * 51)
    code, message = refused_as(Folder(tmp_path))
    assert code == "import_too_large" and "250 bytes" in message


@pytest.mark.parametrize("count", [10, 11])
def test_a_source_has_so_many_files_and_no_more(tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / str(number)).write_bytes(b"x")
    archive = zipped(**{str(number): b"x" for number in range(count)})
    sources: tuple[Source, ...] = (Folder(tmp_path), ZipSource(archive))
    for source in sources:
        if count == 10:
            assert len(read(source)) == 10
        else:
            assert refused_as(source)[0] == "import_too_large"


def test_a_zip_is_read_in_the_order_of_its_names() -> None:
    assert is_zip(zipped(a=b"x")) and not is_zip(io.BytesIO(b"PK?"))
    assert list(read(ZipSource(zipped(**{"b": b"2", "a/1": b"1", "a/": b""}))).items()) == [
        ("a/1", b"1"),
        ("b", b"2"),
    ]


@pytest.mark.parametrize("name", ["../up", "/root", "a/../b", "a//b", "./a", "a\\b"])
def test_a_member_whose_name_leads_elsewhere_is_told(name: str) -> None:
    assert read(ZipSource(zipped(**{name: b"x"}))) == {name: "Its name is no path below the archive."}


def test_members_that_are_not_plain_files_are_told() -> None:
    made = io.BytesIO()
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(link, b"/etc/passwd")
        archive.writestr("1/2/3/deep", b"x")
        archive.writestr("__MACOSX/a", b"x")
        archive.writestr(".git/a", b"x")
        archive.writestr("large", b"x" * 101)
        archive.writestr(zipfile.ZipInfo("bz"), b"x", zipfile.ZIP_BZIP2)
    assert read(ZipSource(made)) == {
        "link": "It is a link, and none is followed.",
        "1/2/3/deep": "It stands more than 2 folders deep.",
        "__MACOSX/a": "It is hidden, so it is left out.",
        ".git/a": "It is hidden, so it is left out.",
        "large": "The file has more than 100 bytes.",
        "bz": "It is compressed in a way that is not read here.",
    }


def test_an_encrypted_member_is_told() -> None:
    raw = bytearray(zipped(a=b"x").getvalue())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(signature) + at] |= 1
    assert read(ZipSource(io.BytesIO(raw))) == {"a": "It is encrypted."}


def test_a_member_that_comes_twice_is_told() -> None:
    made = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", b"first")
        archive.writestr("a", b"second")
    found = list(ZipSource(made).files(LIMITS))
    assert [type(one) for one in found] == [SourceFile, Unread]


def test_what_a_member_says_of_its_size_is_not_believed() -> None:
    raw = bytearray(zipped(bomb=b"\0" * 1_000_000).getvalue())
    for signature, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", raw, raw.index(signature) + at, 50)
    [reason] = read(ZipSource(io.BytesIO(raw))).values()
    assert reason == "The archive is damaged in this member."


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-10], lambda raw: b"PK\x03\x04" + b"x" * 30])
def test_a_damaged_archive_is_refused(spoil: object) -> None:
    raw = spoil(zipped(a=b"x").getvalue())  # type: ignore[operator]
    assert refused_as(ZipSource(io.BytesIO(raw))) == ("import_invalid", "The archive is damaged, or no ZIP.")


def test_a_list_of_members_that_would_fill_the_memory_is_not_read() -> None:
    raw = bytearray(zipped(a=b"x").getvalue())
    end = raw.rindex(b"PK\x05\x06")
    struct.pack_into("<L", raw, end + 12, 4_194_305)
    assert refused_as(ZipSource(io.BytesIO(raw)))[0] == "import_too_large"
    plain = zipped(a=b"x").getvalue()
    at = plain.rindex(b"PK\x05\x06")
    large = plain[:at] + b"PK\x06\x07" + bytes(16) + plain[at:]
    assert refused_as(ZipSource(io.BytesIO(large)))[0] == "import_too_large"

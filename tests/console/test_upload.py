"""Files from a person's machine: each is written or refused by itself, and none that was there is replaced unasked."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile

from stores.limits import MEMORY_CONTENT_BYTES_MAX
from stores.models import Memory, MemoryVersion
from stores.uploads import UPLOAD_BYTES_MAX, UPLOAD_FILES_MAX
from tests.console.site import Site
from tests.stores.shelf import Shelf

_RESULT = re.compile(
    r'<bdi>([^<]+)</bdi>(?:</a>)?</td><td><span class="badge \w+">(\w+)</span> ?([^<]*)</td>'
)


def file(name: str, content: bytes = b"text") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="text/plain")


def send(site: Site, shelf: Shelf, *files: SimpleUploadedFile, **typed: str) -> Any:
    form = {"directory": "/", **typed, "files": list(files)}
    return site.client.post(f"{site.base}/stores/{shelf.store_id}/upload", form)


def results(answer: Any) -> dict[str, tuple[str, str]]:
    found = _RESULT.findall(answer.content.decode())
    return {path: (outcome, sentence.strip()) for path, outcome, sentence in found}


def texts(shelf: Shelf) -> dict[str, str]:
    memories = Memory.objects.filter(store_id=shelf.store.id).select_related("head")
    return {memory.path: memory.head.content or "" for memory in memories}


def test_files_go_into_a_directory_each_with_its_result(owner: Site, shelf: Shelf) -> None:
    answer = send(owner, shelf, file("a.md", "één\n".encode()), file("b.md"), directory="/in/here")
    assert answer.status_code == 200
    assert results(answer) == {"/in/here/a.md": ("Created", ""), "/in/here/b.md": ("Created", "")}
    assert texts(shelf) == {"/in/here/a.md": "één\n", "/in/here/b.md": "text"}


def test_what_is_there_is_replaced_only_when_ticked(owner: Site, shelf: Shelf) -> None:
    shelf.put("/a.md", "old")
    answer = send(owner, shelf, file("a.md", b"new"))
    assert results(answer)["/a.md"][0] == "Refused"
    assert texts(shelf) == {"/a.md": "old"}
    answer = send(owner, shelf, file("a.md", b"new"), replaces="yes")
    assert results(answer)["/a.md"] == ("Updated", "")
    answer = send(owner, shelf, file("a.md", b"new"), replaces="yes")
    assert results(answer)["/a.md"] == ("Unchanged", "It held this text already.")
    assert texts(shelf) == {"/a.md": "new"}
    assert MemoryVersion.objects.filter(store_id=shelf.store.id).count() == 2


def test_one_that_is_refused_leaves_the_others_written(owner: Site, shelf: Shelf) -> None:
    shelf.put("/dir/deep.md")
    answer = send(
        owner,
        shelf,
        file("latin.md", b"caf\xe9"),
        file("nul.md", b"a\0b"),
        file("dir", b"a file where a directory is"),
        file("good.md"),
    )
    told = results(answer)
    assert {path: outcome for path, (outcome, _) in told.items()} == {
        "/latin.md": "Refused",
        "/nul.md": "Refused",
        "/dir": "Refused",
        "/good.md": "Created",
    }
    assert told["/latin.md"][1] == "The file is not UTF-8 text; save it as UTF-8, or leave it out."
    assert "is taken by the memory at /dir/deep.md" in told["/dir"][1]


def test_a_file_at_the_limit_is_kept_and_one_past_it_is_refused(owner: Site, shelf: Shelf) -> None:
    most = b"x" * MEMORY_CONTENT_BYTES_MAX
    told = results(send(owner, shelf, file("at.md", most), file("past.md", most + b"x")))
    assert told["/at.md"] == ("Created", "")
    assert told["/past.md"] == ("Refused", "The file is too large; a memory holds at most 102,400 bytes.")


def test_as_many_files_as_there_may_be_and_one_more(owner: Site, shelf: Shelf) -> None:
    files = [file(f"{number}.md") for number in range(UPLOAD_FILES_MAX + 1)]
    answer = send(owner, shelf, *files)
    assert answer.status_code == 400
    assert f"send at most {UPLOAD_FILES_MAX} at once" in answer.content.decode()
    assert texts(shelf) == {}
    assert len(results(send(owner, shelf, *files[:-1]))) == UPLOAD_FILES_MAX


def test_files_that_are_too_large_together_are_not_read(owner: Site, shelf: Shelf) -> None:
    answer = send(owner, shelf, file("a.md", b"x" * UPLOAD_BYTES_MAX), file("b.md", b"x"))
    assert answer.status_code == 400
    assert "nothing was written" in answer.content.decode()
    assert texts(shelf) == {}


def test_a_form_larger_than_the_hub_takes_is_not_read(owner: Site, shelf: Shelf) -> None:
    url = f"{owner.base}/stores/{shelf.store_id}/upload"
    answer = owner.client.generic(
        "POST", url, b"x", content_type="multipart/form-data; boundary=b", CONTENT_LENGTH=str(settings.FORM_BYTES_MAX + 1)
    )  # fmt: skip
    assert answer.status_code == 413
    assert str(settings.FORM_BYTES_MAX) in answer.content.decode()


def test_more_files_than_any_form_brings_are_refused_in_a_sentence(owner: Site, shelf: Shelf) -> None:
    files = [file(f"{number}.md") for number in range(settings.DATA_UPLOAD_MAX_NUMBER_FILES + 1)]
    answer = send(owner, shelf, *files)
    assert answer.status_code == 400
    assert "at most 200 files at once" in answer.content.decode()


@pytest.mark.parametrize("directory", ["here", "/a//b/", "/../", "/a\x07/"])
def test_a_directory_that_cannot_be_stays_in_its_field(owner: Site, shelf: Shelf, directory: str) -> None:
    answer = send(owner, shelf, file("a.md"), directory=directory, replaces="yes")
    shown = answer.content.decode()
    assert answer.status_code == 400
    assert f'value="{directory}"' in shown
    assert shown.count('class="problem"') == 1
    assert " checked" in shown
    assert texts(shelf) == {}


def test_no_file_is_said_so(owner: Site, shelf: Shelf) -> None:
    answer = send(owner, shelf, directory="/kept/")
    assert answer.status_code == 400
    assert "Choose one file at least." in answer.content.decode()
    assert 'value="/kept/"' in answer.content.decode()


def test_a_name_is_brought_to_the_form_that_paths_have(owner: Site, shelf: Shelf) -> None:
    """macOS gives an accent as a letter of its own."""
    assert results(send(owner, shelf, file("cafe\u0301.md"))) == {"/caf\u00e9.md": ("Created", "")}


def test_an_archived_store_takes_nothing(owner: Site, shelf: Shelf) -> None:
    shelf.archive()
    assert 'type="file"' not in owner.get(f"/stores/{shelf.store_id}/upload").content.decode()
    told = results(send(owner, shelf, file("a.md")))
    assert told["/a.md"] == ("Refused", "The memory store is archived, so it is read-only.")


def test_the_store_page_leads_to_its_own_directory(owner: Site, shelf: Shelf) -> None:
    shelf.put("/a b/c.md")
    shown = owner.get(f"/stores/{shelf.store_id}", directory="/a b/").content.decode()
    assert f'href="{owner.base}/stores/{shelf.store_id}/upload?directory=%2Fa%20b%2F"' in shown
    asked = owner.get(f"/stores/{shelf.store_id}/upload", directory="/a b/").content.decode()
    assert 'value="/a b/"' in asked

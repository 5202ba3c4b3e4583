"""Nothing outside the folder is read or written, whatever somebody does in it meanwhile."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from stores.mount import exchanges
from stores.mount.folders import InTheWayError, OpenFolder, open_folder, open_parent
from stores.mount.ignores import Ignores
from stores.mount.scans import Scanner

SWAPS_MIN = int(os.environ.get("MEMORYHUB_TEST_SWAPS", "300"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[OpenFolder]:
    (tmp_path / "root").mkdir()
    parent = open_parent(tmp_path)
    with open_folder(tmp_path / "root", parent) as opened:
        yield opened
    os.close(parent)


def test_a_file_is_put_at_once_with_its_folders(folder: OpenFolder, tmp_path: Path) -> None:
    assert folder.put("/a/b/c", b"one") is None
    assert folder.read("/a/b/c") == b"one"
    hidden = folder.put("/a/b/c", b"two")
    assert hidden is not None and folder.read(folder.beside("/a/b/c", hidden)) == b"one"
    folder.put_back("/a/b/c", hidden)
    assert os.listdir(tmp_path / "root" / "a" / "b") == ["c"]
    assert folder.read("/a/b/c") == b"one"


def test_a_link_is_never_gone_through(folder: OpenFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").write_text("safe")
    (tmp_path / "root" / "link").symlink_to(outside)
    assert folder.read("/link/canary") is None
    assert not folder.has_file("/link/canary")
    with pytest.raises(InTheWayError) as failed:
        folder.put("/link/canary", b"harm")
    assert failed.value.path == "/link"
    (tmp_path / "root" / "file").symlink_to(outside / "canary")
    assert folder.read("/file") is None
    assert folder.put("/file", b"harm") is not None
    assert (outside / "canary").read_text() == "safe" and os.listdir(outside) == ["canary"]


def test_a_pipe_does_not_hang(folder: OpenFolder, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "root" / "pipe")
    assert folder.read("/pipe") is None


def test_a_root_that_is_a_link_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "root").symlink_to(tmp_path)
    parent = open_parent(tmp_path)
    with pytest.raises(NotADirectoryError), open_folder(tmp_path / "root", parent):
        pass
    os.close(parent)


def test_a_folder_above_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(NotADirectoryError):
        open_parent(tmp_path / "link" / "more")


def test_what_was_taken_comes_back_unless_something_new_stands_there(folder: OpenFolder) -> None:
    folder.put("/a", b"one")
    taken = folder.take("/a")
    assert folder.read("/a") is None
    assert folder.give_back("/a", taken) and folder.read("/a") == b"one"
    taken = folder.take("/a")
    folder.put("/a", b"new")
    assert not folder.give_back("/a", taken)
    assert folder.read(folder.beside("/a", taken)) == b"one"


@pytest.mark.parametrize("system_can", [True, False])
def test_two_names_are_exchanged(
    folder: OpenFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system_can: bool
) -> None:
    if not system_can:
        monkeypatch.setattr(exchanges, "_renameat2", lambda: None)
    folder.put("/a", b"a")
    folder.put("/b", b"b")
    exchanges.exchange(folder.descriptor, "a", "b")
    assert (folder.read("/a"), folder.read("/b")) == (b"b", b"a")
    with pytest.raises(FileNotFoundError):
        exchanges.exchange(folder.descriptor, "a", "absent")
    assert folder.read("/a") == b"b"


def test_swaps_of_a_folder_and_a_link_lead_nowhere(folder: OpenFolder, tmp_path: Path) -> None:
    """Somebody swaps a folder for a link to the outside, and back, while the folder is read, written and scanned."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").write_text("secret")
    (root / "real").mkdir()
    (root / "real" / "canary").write_text("ours")
    (root / "link").symlink_to(outside)
    (root / "swapped").symlink_to(outside)
    stop, swaps, looks, seen = threading.Event(), [0], 0, set()

    def swap() -> None:
        while not stop.is_set():
            exchanges.exchange(folder.descriptor, "real", "swapped")
            swaps[0] += 1

    swapper = threading.Thread(target=swap)
    swapper.start()
    scanner = Scanner("memstore_1", Ignores())
    try:
        while swaps[0] < SWAPS_MIN or looks < SWAPS_MIN // 10:
            looks += 1
            seen.add(folder.read("/swapped/canary"))
            with suppress(InTheWayError):
                hidden = folder.put("/swapped/written", b"ours")
                if hidden is not None:
                    with suppress(OSError, InTheWayError):
                        folder.unlink(folder.beside("/swapped/written", hidden))
            with suppress(OSError, InTheWayError):
                folder.unlink(folder.beside("/swapped/written", folder.take("/swapped/written")))
            scanner.scan(folder)
    finally:
        stop.set()
        swapper.join()
    print(f"{swaps[0]} swaps, {looks} looks, 0 escapes")
    assert os.listdir(outside) == ["canary"]
    assert (outside / "canary").read_text() == "secret"
    assert seen <= {b"ours", None}


def test_a_file_linked_from_elsewhere_is_held(folder: OpenFolder, tmp_path: Path) -> None:
    (tmp_path / "canary").write_text("outside")
    os.link(tmp_path / "canary", tmp_path / "root" / "a")
    found = Scanner("memstore_1", Ignores()).scan(folder)
    assert (found.files, found.held) == ({}, {"/a"})
    assert folder.read("/a") is None

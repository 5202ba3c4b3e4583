"""Every edge case of the contract, by its number. Source: stores contract, section 11."""

import os
import socket
import stat
from pathlib import Path

import pytest

from stores.mount.downloads import MountError
from stores.mount.ignores import Ignores
from stores.mount.mounted_stores import MountedStores, Wanted
from tests.mount.ground import Bench, files_of

TOO_LARGE = "x" * 102_401


def test_e1_a_file_that_is_not_utf8_is_refused_once_and_others_go_on(bench: Bench) -> None:
    bench.mount()
    bench.write("binary", b"\xff\xfe")
    bench.write("text", "fine")
    assert bench.sync() and bench.sync()
    assert bench.memories() == {"/text": "fine"}
    assert [event.path for event in bench.said("refused")] == ["/binary"]
    bench.write("binary", "now text")
    bench.sync()
    assert bench.memories()["/binary"] == "now text"


def test_e2_a_file_too_large_is_not_sent_until_it_shrinks(bench: Bench) -> None:
    bench.mount()
    bench.write("big", TOO_LARGE)
    bench.sync()
    bench.transport.count()
    bench.sync()
    assert [method for method, _ in bench.transport.asked] == ["GET"]
    assert bench.memories() == {}
    bench.write("big", TOO_LARGE[1:])
    bench.sync()
    assert len(bench.memories()["/big"]) == 102_400


def test_e3_links_pipes_and_sockets_are_ignored_and_named_once(bench: Bench, tmp_path: Path) -> None:
    bench.mount()
    canary = tmp_path / "canary"
    canary.write_text("outside")
    (bench.root / "link").symlink_to(canary)
    (bench.root / "folder").symlink_to(tmp_path)
    os.link(canary, bench.root / "hard")
    os.mkfifo(bench.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(bench.root)  # a socket's path is short
        listener.bind("socket")
        os.chdir(here)
    bench.write("file", "fine")
    assert bench.sync() and bench.sync()
    assert bench.memories() == {"/file": "fine"}
    assert sorted(str(event.path) for event in bench.said("not_synced")) == [
        "/folder",
        "/hard",
        "/link",
        "/pipe",
        "/socket",
    ]
    assert canary.read_text() == "outside"


def test_e4_dotfiles_and_editors_leavings_are_memories(bench: Bench) -> None:
    bench.mount()
    for name in (".hidden", ".x.swp", "name~", ".tmp"):
        bench.write(name, name)
    bench.sync()
    assert sorted(bench.memories()) == ["/.hidden", "/.tmp", "/.x.swp", "/name~"]


def test_e4_a_glob_leaves_them_alone_on_both_sides(bench: Bench) -> None:
    bench.shelf.put("/cache/kept.md", "there")
    bench.mount(ignores=Ignores(["*.swp", "cache/**", "build"]))
    assert bench.files() == {}
    for name in ("a.swp", "in/b.swp", "cache/new", "build/c", "a.md"):
        bench.write(name, name)
    bench.confirm_deletes()
    assert sorted(bench.memories()) == ["/a.md", "/cache/kept.md"]


def test_e5_an_editor_that_renames_over_makes_one_version(bench: Bench) -> None:
    bench.shelf.put("/a.md", "one")
    bench.mount()
    bench.write(".a.md.new", "two")
    (bench.root / ".a.md.new").rename(bench.root / "a.md")
    bench.sync()
    assert bench.operations() == [("created", "/a.md"), ("modified", "/a.md")]


def test_e6_a_rename_keeps_the_memory_and_its_history(bench: Bench) -> None:
    memory = bench.shelf.put("/a.md", "one")
    bench.shelf.put("/b.md", "two")
    bench.mount()
    (bench.root / "deep").mkdir()
    (bench.root / "a.md").rename(bench.root / "deep" / "c.md")
    bench.sync()
    assert bench.memory("/deep/c.md").id == memory.id
    assert bench.operations()[2:] == [("modified", "/deep/c.md")]
    assert not bench.disk.pending_delete
    bench.transport.count()
    bench.sync()
    assert bench.transport.count() == 1


def test_e6_a_folder_of_equal_files_is_moved_by_their_names(bench: Bench) -> None:
    ids = {name: bench.shelf.put(f"/old/{name}", "same").id for name in ("a", "b", "c")}
    bench.mount()
    (bench.root / "old").rename(bench.root / "new")
    bench.sync()
    assert {name: bench.memory(f"/new/{name}").id for name in ids} == ids


def test_e6_a_rename_into_the_place_of_another_waits_for_it(bench: Bench) -> None:
    first, second = bench.shelf.put("/a", "1"), bench.shelf.put("/b", "2")
    bench.mount()
    (bench.root / "b").rename(bench.root / "d")
    (bench.root / "b").mkdir()
    (bench.root / "a").rename(bench.root / "b" / "c")
    bench.sync()
    assert bench.memories() == bench.files() == {"/b/c": "1", "/d": "2"}
    assert (bench.memory("/b/c").id, bench.memory("/d").id) == (first.id, second.id)


def test_e6_a_file_moved_over_another_is_an_edit_and_a_deletion(bench: Bench) -> None:
    bench.shelf.put("/a", "1")
    bench.shelf.put("/b", "2")
    bench.mount()
    (bench.root / "a").rename(bench.root / "b")
    bench.confirm_deletes()
    assert bench.memories() == bench.files() == {"/b": "1"}


def test_e7_a_file_replaced_by_a_folder_of_its_name_loses_nothing(bench: Bench) -> None:
    bench.shelf.put("/notes", "old")
    bench.mount()
    (bench.root / "notes").unlink()
    bench.write("notes/today", "new")
    assert bench.sync()
    assert bench.memories() == {"/notes/today": "new"} == bench.files()
    assert bench.operations()[1:] == [("deleted", "/notes"), ("created", "/notes/today")]


def test_e7_with_its_own_text_it_is_a_rename(bench: Bench) -> None:
    memory = bench.shelf.put("/notes", "old")
    bench.mount()
    (bench.root / "notes").unlink()
    bench.write("notes/today", "old")
    bench.sync()
    assert bench.memory("/notes/today").id == memory.id


def test_e8_a_folder_replaced_by_a_file_loses_nothing(bench: Bench) -> None:
    for name in ("a", "b", "c/d"):
        bench.shelf.put(f"/notes/{name}", name)
    bench.mount()
    for name in ("a", "b", "c/d"):
        (bench.root / "notes" / name).unlink()
    (bench.root / "notes" / "c").rmdir()
    (bench.root / "notes").rmdir()
    bench.write("notes", "all in one")
    assert bench.sync()
    assert bench.memories() == {"/notes": "all in one"} == bench.files()


def test_e8_when_the_cap_leaves_some_the_file_waits_for_the_next_pass(bench: Bench) -> None:
    for number in range(10):
        bench.shelf.put(f"/notes/{number}", str(number))
    bench.mount()
    for number in range(10):
        (bench.root / "notes" / str(number)).unlink()
    (bench.root / "notes").rmdir()
    bench.write("notes", "one")
    bench.sync()
    assert len(bench.memories()) == 2 and "/notes" not in bench.memories()
    assert bench.said("deletes_held")[0].facts == {"sent": 8, "held": 2}
    bench.sync()
    assert bench.memories() == {"/notes": "one"}


def test_e9_a_name_that_is_not_utf8_is_named_once(bench: Bench) -> None:
    bench.mount()
    with open(os.fsencode(bench.root) + b"/\xff", "wb") as file:
        file.write(b"x")
    assert bench.sync() and bench.sync()
    assert bench.memories() == {}
    assert [event.path for event in bench.said("not_synced")] == ["/\\xff"]


def test_e10_a_name_not_in_nfc_is_refused_once_and_shown_as_nfc(bench: Bench) -> None:
    bench.mount()
    bench.write("u\u0308.md", "x")
    assert bench.sync() and bench.sync()
    assert [event.facts["as_nfc"] for event in bench.said("refused")] == ["/\u00fc.md"]


def test_e11_a_memory_with_a_name_no_disk_takes_is_left_out_and_stays(bench: Bench) -> None:
    long = "/" + "n" * 256
    bench.shelf.put(long, "x")
    bench.shelf.put("/a", "x")
    bench.mount()
    bench.confirm_deletes()
    assert bench.files() == {"/a": "x"}
    assert sorted(bench.memories()) == ["/a", long]
    assert [event.path for event in bench.said("left_out")] == [long]


def test_e12_a_backslash_is_an_ordinary_character(bench: Bench) -> None:
    bench.shelf.put("/a\\b", "x")
    bench.mount()
    assert os.listdir(bench.root) != ["a"] and (bench.root / "a\\b").read_text() == "x"
    bench.sync()
    assert bench.memories() == {"/a\\b": "x"}


def test_e13_a_disk_that_does_not_tell_cases_apart_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stores.mount.folders import OpenFolder

    monkeypatch.setattr(OpenFolder, "has_file", lambda folder, path: True)
    with pytest.raises(MountError, match="does not tell A from a"):
        bench.mount()
    assert not bench.root.exists()


@pytest.mark.parametrize("how", ["folder", "files", "marker and files", "everything above"])
def test_e14_a_wiped_mount_is_rebuilt_and_deletes_nothing(bench: Bench, how: str) -> None:
    bench.folder = bench.folder / "above"
    for name in ("a", "b/c"):
        bench.shelf.put(f"/{name}", name)
    bench.mount()
    import shutil

    if how in ("folder", "everything above"):
        shutil.rmtree(bench.root if how == "folder" else bench.folder)
    else:
        (bench.root / "a").unlink()
        (bench.root / "b" / "c").unlink()
        if how == "marker and files":
            (bench.root / ".memoryhub-store").unlink()
    assert bench.confirm_deletes()
    assert bench.files() == bench.memories() == {"/a": "a", "/b/c": "b/c"}
    assert len(bench.said("rebuilt")) == 1
    bench.write("a", "edited")
    bench.sync()
    assert bench.memories()["/a"] == "edited"


def test_e15_deleting_both_files_of_two_is_taken_for_a_wipe(bench: Bench) -> None:
    for name in ("a", "b"):
        bench.shelf.put(f"/{name}", name)
    bench.mount()
    (bench.root / "a").unlink()
    (bench.root / "b").unlink()
    bench.confirm_deletes()
    assert bench.files() == bench.memories() == {"/a": "a", "/b": "b"}


def test_e15_deleting_the_only_file_is_a_deletion(bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.mount()
    (bench.root / "a").unlink()
    bench.sync()
    assert bench.memories() == {"/a": "a"}
    bench.confirm_deletes()
    assert bench.memories() == {}


def test_e16_modes_and_empty_folders_are_not_kept_and_files_come_private(bench: Bench) -> None:
    bench.shelf.put("/in/a", "a")
    old = os.umask(0)
    try:
        bench.mount()
    finally:
        os.umask(old)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [bench.root, *bench.root.rglob("*")]}
    assert {modes[bench.root], modes[bench.root / "in"]} == {0o700}
    assert {modes[bench.root / "in" / "a"], modes[bench.root / ".memoryhub-store"]} == {0o600}
    (bench.root / "in" / "a").chmod(0o777)
    (bench.root / "empty").mkdir()
    bench.sync()
    assert len(bench.operations()) == 1


def test_e17_an_unreadable_folder_fails_the_pass_and_sends_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.shelf.put("/in/a", "a")
    bench.shelf.put("/b", "b")
    bench.mount()
    bench.write("b", "edited")
    real = os.open

    def refuse(path: object, *args: object, **options: object) -> int:
        if path == "in":
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("stores.mount.scans.os.open", refuse)
        assert not bench.sync()
        assert len(bench.said("pass_failed")) == 1
    assert bench.memories() == {"/in/a": "a", "/b": "b"}
    assert bench.sync()
    assert bench.memories() == {"/in/a": "a", "/b": "edited"}


@pytest.mark.parametrize("had", [True, False], ids=["update", "create"])
def test_e18_a_lost_answer_is_no_conflict_and_the_newer_edit_goes_out(bench: Bench, had: bool) -> None:
    if had:
        bench.shelf.put("/a", "one")
    bench.mount()
    bench.write("a", "two")
    bench.transport.fault = lambda method, path: "lose" if method == "POST" else None
    bench.sync()
    bench.transport.fault = lambda method, path: None
    bench.write("a", "three")
    bench.sync()
    assert bench.memories() == bench.files() == {"/a": "three"}
    assert not bench.said("conflict") and not bench.kept()


def test_e19_a_second_mount_at_a_place_that_is_taken_fails_and_leaves_it(bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    first = bench.mount()
    with pytest.raises(MountError, match="exists already") as failed:
        bench.mount()
    assert failed.value.kind == "occupied"
    assert files_of(bench.root) == {"/a": "a"}
    first.dispose()
    assert not bench.root.exists()


def test_e20_a_store_archived_meanwhile_is_read_only_from_then_on(bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.mount()
    bench.shelf.archive()
    bench.write("a", "edited")
    bench.write("new", "new")
    bench.sync()
    bench.transport.count()
    bench.sync()
    assert {method for method, _ in bench.transport.asked} == {"GET"}
    assert bench.memories() == {"/a": "a"}
    assert len(bench.said("archived")) == 1
    assert not bench.said("refused")


@pytest.mark.parametrize("status", ["401", "412"])
def test_e21_a_lease_lost_in_the_flush_writes_nothing(bench: Bench, status: str) -> None:
    bench.shelf.put("/a", "a")
    mounted = bench.mount()
    bench.write("a", "edited")
    bench.transport.fault = lambda method, path: status if method == "POST" else None
    assert not mounted.flush()
    assert bench.memories() == {"/a": "a"}
    assert mounted.dispose() == 1
    assert bench.kept() == ["edited"]


def test_e22_a_memory_moved_on_the_server_moves_here(bench: Bench) -> None:
    memory = bench.shelf.put("/a", "a")
    bench.mount()
    bench.shelf.update(memory, path="/in/b")
    bench.sync()
    assert bench.files() == {"/in/b": "a"}
    assert len(bench.operations()) == 2


def test_two_stores_keep_apart_and_one_that_fails_stops_no_other(bench: Bench, tmp_path: Path) -> None:
    wanted = [
        Wanted(bench.shelf.store_id, bench.root, False, "Notes"),
        Wanted("memstore_" + "0" * 32, tmp_path / "other", False, "Other"),
    ]
    with pytest.raises(MountError, match="cannot be downloaded"):
        MountedStores(bench.transport, wanted).download()
    assert not bench.root.exists() and not (tmp_path / "other").exists()

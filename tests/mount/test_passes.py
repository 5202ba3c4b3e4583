"""What a pass does with both sides, beyond the numbered edge cases."""

import os
import threading
import time
from pathlib import Path

import pytest

from stores import freezes, memories, memory_stores
from stores.mount.downloads import MountError
from stores.mount.mounted_stores import MountedStores, Wanted, check_sync_seconds, wanted_by_session
from stores.mount.stores_on_disk import Deletions
from tests.live import LiveHub
from tests.mount.ground import Bench, FaultyTransport, files_of
from tests.stores.shelf import Shelf
from tests.world import Tenant


def test_both_sides_meet_and_each_change_is_one_version(bench: Bench) -> None:
    edited = bench.shelf.put("/theirs", "1")
    bench.shelf.put("/ours", "1")
    gone = bench.shelf.put("/gone/there", "1")
    bench.mount()
    bench.shelf.update(edited, content="2")
    bench.shelf.delete(gone)
    bench.shelf.put("/in/theirs new", "3")
    bench.write("ours", "2")
    bench.write("in/ours new", "4")
    assert bench.sync()
    assert (
        bench.files()
        == bench.memories()
        == {"/theirs": "2", "/ours": "2", "/in/theirs new": "3", "/in/ours new": "4"}
    )
    assert not (bench.root / "gone").exists()
    assert len(bench.operations()) == 8
    assert bench.sync() and len(bench.operations()) == 8


def test_of_two_edits_the_servers_stands_and_the_other_is_kept_aside(bench: Bench) -> None:
    memory = bench.shelf.put("/in/a.md", "one")
    bench.mount()
    bench.write("in/a.md", "ours")
    bench.shelf.update(memory, content="theirs")
    bench.sync()
    assert bench.files() == bench.memories() == {"/in/a.md": "theirs"}
    assert len(bench.said("conflict")) == 1
    kept = Path(bench.said("kept_aside")[0].facts["kept"])
    assert kept.read_text() == "ours" and kept.name == "a.md"
    assert bench.folder in kept.parents and bench.root not in kept.parents
    bench.sync()
    assert len(bench.operations()) == 2


def test_an_edit_in_the_moment_of_the_pull_is_kept_aside_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = bench.shelf.put("/a", "one")
    bench.mount()
    bench.shelf.update(memory, content="theirs")
    real = bench.disk.remote.get_content

    def edit_meanwhile(memory_id: str) -> object:
        bench.write("a", "ours")
        return real(memory_id)

    monkeypatch.setattr(bench.disk.remote, "get_content", edit_meanwhile)
    bench.sync()
    assert bench.files() == {"/a": "theirs"}
    assert bench.kept() == ["ours"]


def test_a_memory_that_needs_the_place_of_new_files_gets_it_and_they_are_kept_aside(bench: Bench) -> None:
    bench.mount()
    bench.write("a/b", "ours")
    bench.write("c", "ours too")
    bench.shelf.put("/a", "theirs")
    bench.shelf.put("/c/d", "theirs")
    for _ in range(2):
        bench.sync()
    assert bench.files() == bench.memories() == {"/a": "theirs", "/c/d": "theirs"}
    assert bench.kept() == ["ours", "ours too"]


def test_a_full_place_for_kept_files_leaves_the_edit_where_it_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = bench.shelf.put("/a", "one")
    monkeypatch.setattr("stores.mount.keeping.KEPT_MAX", 0)
    bench.mount()
    bench.write("a", "ours")
    bench.shelf.update(memory, content="theirs")
    bench.sync()
    assert bench.files() == {"/a": "ours"} and bench.memories() == {"/a": "theirs"}
    assert [name for name in os.listdir(bench.root) if "writing" in name] == []
    assert len(bench.said("write_failed")) == 1


def test_a_file_deleted_here_and_edited_there_comes_back(bench: Bench) -> None:
    memory = bench.shelf.put("/a", "one")
    bench.shelf.put("/b", "stays")
    bench.mount()
    (bench.root / "a").unlink()
    bench.sync()
    bench.shelf.update(memory, content="two")
    bench.confirm_deletes()
    assert bench.files() == bench.memories() == {"/a": "two", "/b": "stays"}
    assert len(bench.said("conflict")) == 1


def test_a_deletion_waits_half_a_minute_and_a_file_that_comes_back_is_none(bench: Bench) -> None:
    for name in "abc":
        bench.shelf.put(f"/{name}", name)
    bench.mount()
    (bench.root / "a").unlink()
    (bench.root / "b").unlink()
    bench.sync()
    bench.sync()
    assert len(bench.memories()) == 3
    bench.write("b", "b")
    bench.confirm_deletes()
    assert bench.memories() == {"/b": "b", "/c": "c"}
    assert bench.disk.pending_delete == {}


def test_a_clean_end_does_not_wait_but_keeps_the_cap(bench: Bench) -> None:
    for number in range(12):
        bench.shelf.put(f"/{number}", "x")
    mounted = bench.mount()
    for number in range(11):
        (bench.root / str(number)).unlink()
    assert mounted.finish()
    assert len(bench.memories()) == 4
    with pytest.raises(RuntimeError):
        mounted.finish()


@pytest.mark.parametrize("mode", [Deletions.LOG_ONLY, Deletions.DISABLED])
def test_deletions_can_be_said_only_or_switched_off(bench: Bench, mode: Deletions) -> None:
    bench.shelf.put("/a", "a")
    bench.shelf.put("/b", "b")
    bench.mount(deletions=mode)
    (bench.root / "a").unlink()
    bench.confirm_deletes()
    assert len(bench.memories()) == 2
    assert bool(bench.said("would_delete")) == (mode is Deletions.LOG_ONLY)


def test_a_file_edited_here_and_deleted_there_is_made_again(bench: Bench) -> None:
    memory = bench.shelf.put("/a", "one")
    bench.mount()
    bench.write("a", "edited")
    bench.shelf.delete(memory)
    bench.sync()
    assert bench.memories() == bench.files() == {"/a": "edited"}
    assert bench.memory("/a").id != memory.id


def test_a_read_only_mount_sends_nothing_and_takes_everything(bench: Bench) -> None:
    edited, gone = bench.shelf.put("/edited", "1"), bench.shelf.put("/gone", "1")
    bench.shelf.put("/deleted", "1")
    mounted = bench.mount(read_only=True)
    bench.write("edited", "ours")
    bench.write("gone", "ours")
    bench.write("new", "ours")
    (bench.root / "deleted").unlink()
    bench.confirm_deletes()
    assert len(bench.operations()) == 3
    bench.shelf.update(edited, content="2")
    bench.shelf.delete(gone)
    bench.confirm_deletes()
    assert bench.files() == {"/edited": "2", "/gone": "ours", "/new": "ours"}
    assert bench.kept() == ["ours"]
    assert mounted.finish() and mounted.flush()
    assert len(bench.operations()) == 5
    assert {method for method, _ in bench.transport.asked} == {"GET"}


@pytest.mark.parametrize("what", ["missing", "wrong"])
def test_files_without_the_right_marker_are_left_as_they_are(bench: Bench, what: str) -> None:
    bench.shelf.put("/a", "a")
    mounted = bench.mount()
    marker = bench.root / ".memoryhub-store"
    marker.unlink()
    if what == "wrong":
        marker.write_text("version 1\nmemstore_other")
    bench.write("a", "edited")
    bench.write("new", "new")
    assert bench.confirm_deletes() and bench.sync()
    assert bench.memories() == {"/a": "a"}
    assert len(bench.said("untrusted")) == 1
    assert not mounted.flush()
    mounted.dispose()
    assert (bench.root / "new").read_text() == "new"
    assert len(bench.said("folder_left")) == 1


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_root_that_became_something_else_is_left_alone(bench: Bench, what: str, tmp_path: Path) -> None:
    bench.shelf.put("/a", "a")
    mounted = bench.mount()
    bench.root.rename(bench.folder / "moved")
    if what == "link":
        bench.root.symlink_to(bench.folder / "moved")
    else:
        bench.root.write_text("mine")
    assert not bench.sync()
    mounted.dispose()
    assert bench.root.is_symlink() == (what == "link") and bench.root.exists()
    assert bench.memories() == {"/a": "a"}


def test_a_frozen_memory_is_tried_again_and_saved_when_it_is_free(
    bench: Bench, live_tenant: Tenant, live: LiveHub
) -> None:
    memory = bench.shelf.put("/a", "a")
    key = live_tenant.new_key("agent", stores={bench.shelf.store.id: "read_write"})
    bench.transport = FaultyTransport(live.url, key)
    bench.mount()
    freezes.freeze_memory(bench.shelf.store_id, memory.wire_id, actor=bench.shelf.actor)
    bench.write("a", "edited")
    bench.sync()
    assert bench.memories() == {"/a": "a"}
    freezes.unfreeze_memory(bench.shelf.store_id, memory.wire_id, actor=bench.shelf.actor)
    bench.sync()
    assert bench.memories() == {"/a": "edited"}
    bench.transport.close()


def test_a_full_store_is_said_once_and_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.shelf.fill([f"/{number:04}" for number in range(2_000)])
    bench.mount()
    bench.write("one more", "x")
    bench.sync()
    bench.sync()
    assert len(bench.said("full")) == 1 and not bench.disk.refused
    memories.delete_memory(bench.shelf.store_id, bench.memory("/0000").wire_id, actor=bench.shelf.actor)
    bench.sync()
    assert bench.memories()["/one more"] == "x"


def test_a_flush_sends_and_does_nothing_else(bench: Bench) -> None:
    theirs, gone = bench.shelf.put("/theirs", "1"), bench.shelf.put("/gone", "1")
    bench.shelf.put("/both", "1")
    bench.shelf.put("/deleted", "1")
    mounted = bench.mount()
    bench.shelf.update(theirs, content="2")
    bench.shelf.update(bench.memory("/both"), content="2")
    bench.shelf.delete(gone)
    bench.write("both", "ours")
    bench.write("new", "new")
    (bench.root / "deleted").unlink()
    assert not mounted.flush()
    assert bench.memories() == {"/theirs": "2", "/both": "2", "/deleted": "1", "/new": "new"}
    assert bench.files() == {"/theirs": "1", "/both": "ours", "/gone": "1", "/new": "new"}
    assert mounted.dispose() == 1
    assert bench.kept() == ["ours"] and not bench.root.exists()


def test_a_flush_is_cut_off_in_its_time_and_says_what_was_not_sent(bench: Bench) -> None:
    mounted = bench.mount()
    for number in range(40):
        bench.write(str(number), "x")
    stop = threading.Event()

    def slow(method: str, path: str) -> str | None:
        return "drop" if method == "POST" and stop.wait(20) else None

    bench.transport.fault = slow
    began = time.monotonic()
    assert not mounted.flush(seconds=1)
    assert time.monotonic() - began < 5
    while not bench.said("flush_failed"):
        time.sleep(0.01)
    stop.set()
    assert "40 of 40 changed files were not sent" in bench.said("flush_failed")[0].facts["error"]
    assert len([method for method, _ in bench.transport.asked if method == "POST"]) == 32


def test_leaving_the_block_flushes_and_removes_the_folder(bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    wanted = [Wanted(bench.shelf.store_id, bench.root, False, "Notes")]
    with pytest.raises(KeyError), MountedStores(bench.transport, wanted) as stores:
        assert [mount.name for mount in stores.mounts] == ["Notes"]
        bench.write("a", "edited")
        raise KeyError
    assert bench.memories() == {"/a": "edited"}
    assert not bench.root.exists()


def test_a_pass_is_due_after_its_interval(bench: Bench) -> None:
    mounted = bench.mount()
    bench.transport.count()
    assert not mounted.sync_if_due() and bench.transport.count() == 0
    mounted._last_end -= 15
    assert mounted.sync_if_due() and bench.transport.count() == 1
    assert not mounted.sync_if_due()


@pytest.mark.parametrize("seconds", [0, 4.9, -1, float("nan"), float("inf")])
def test_an_interval_below_five_seconds_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="5 seconds apart"):
        check_sync_seconds(seconds)
    assert check_sync_seconds(5) == 5


def test_a_server_without_a_feed_is_listed(bench: Bench) -> None:
    memory = bench.shelf.put("/a", "a")
    bench.transport.fault = lambda method, path: "404" if path.endswith("/changes") else None
    bench.mount()
    bench.shelf.update(memory, content="theirs")
    bench.write("b", "ours")
    bench.sync()
    assert bench.files() == bench.memories() == {"/a": "theirs", "/b": "ours"}
    bench.transport.count()
    bench.sync()
    assert [path.rpartition("/")[2] for _, path in bench.transport.asked] == ["memories"]


def test_two_mounts_of_one_store_meet(bench: Bench) -> None:
    bench.shelf.put("/a", "a")
    bench.mount()
    other = MountedStores(
        bench.transport, [Wanted(bench.shelf.store_id, bench.folder / "other", False, "Notes")]
    )
    other.download()
    bench.write("a", "one")
    (bench.folder / "other" / "b").write_text("two")
    bench.sync(), other.sync(), bench.sync()
    assert bench.files() == files_of(bench.folder / "other") == {"/a": "one", "/b": "two"}
    other.dispose()


def test_a_store_that_fails_stops_no_other(bench: Bench, live_tenant: Tenant) -> None:
    other = memory_stores.create_store(
        environment="development", name="Other", description="", metadata={}, actor=live_tenant.actor
    )
    wanted = [
        Wanted(bench.shelf.store_id, bench.root, False, "Notes"),
        Wanted(other.wire_id, bench.folder / "other", False, "Other"),
    ]
    mounted = MountedStores(bench.transport, wanted, listener=bench.events.append)
    mounted.download()
    bench.write("a", "a")
    (bench.folder / "other" / "b").write_text("b")
    bench.transport.fault = lambda method, path: "503" if other.wire_id in path else None
    assert not mounted.sync()
    assert bench.memories() == {"/a": "a"}
    bench.transport.fault = lambda method, path: None
    assert mounted.sync()
    assert Shelf(other.wire_id, live_tenant.actor).paths() == ["/b"]
    assert mounted.mounts.find_mount(bench.root / "a") == mounted.mounts.mounts[0]
    mounted.end(is_clean=True)


def test_stores_have_a_number_and_places_of_their_own(bench: Bench) -> None:
    wanted = [Wanted(f"memstore_{number}", bench.folder / str(number), False, "") for number in range(9)]
    MountedStores(bench.transport, wanted[:8])
    with pytest.raises(MountError, match="At most 8"):
        MountedStores(bench.transport, wanted)
    with pytest.raises(MountError, match="one path"):
        MountedStores(bench.transport, [wanted[0], wanted[0]])


@pytest.mark.parametrize("path", ["relative", "/a/../b", "/", "/a//b", "/a/\0"])
def test_a_mount_path_that_is_not_clean_is_refused(path: str) -> None:
    resource = {
        "type": "memory_store",
        "memory_store_id": "memstore_1",
        "mount_path": path,
        "access": "read_only",
        "name": "",
    }
    with pytest.raises(MountError, match="no clean absolute path"):
        wanted_by_session({"resources": [resource]})


def test_content_that_is_not_what_its_digest_says_is_not_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.shelf.put("/a", "a")
    monkeypatch.setattr("stores.mount.remote.sha256_hex", lambda raw: "0" * 64)
    with pytest.raises(MountError, match="not what its digest says"):
        bench.mount()
    assert not bench.root.exists()


def test_a_folder_with_too_many_names_fails_the_pass(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.mount()
    monkeypatch.setattr("stores.mount.scans.SCANNED_MAX", 3)
    bench.write("a", "a")
    bench.write("b", "b")
    assert bench.sync()  # with the marker that is the limit
    bench.write("c", "c")
    assert not bench.sync()
    assert sorted(bench.memories()) == ["/a", "/b"]


def test_folders_deeper_than_a_path_may_be_are_named_and_not_entered(bench: Bench) -> None:
    bench.mount()
    bench.write("/".join("d" * 19) + "/file", "twenty names")
    bench.write("/".join("d" * 20) + "/file", "one more")
    assert bench.sync() and bench.sync()
    assert list(bench.memories().values()) == ["twenty names"]
    assert [event.facts["reason"] for event in bench.said("not_synced")] == ["too deep"]


@pytest.mark.parametrize("has_feed", [True, False])
def test_a_rebuild_that_breaks_off_is_completed_by_the_next_pass(bench: Bench, has_feed: bool) -> None:
    bench.shelf.fill([f"/{number:02}" for number in range(45)])
    bench.mount()
    for number in range(45):
        (bench.root / f"{number:02}").unlink()
    pages = []

    def break_off(method: str, path: str) -> str | None:
        if path.endswith("/changes") and not has_feed:
            return "404"
        pages.append(path)
        return "503" if len([page for page in pages if page.endswith("/memories")]) == 3 else None

    bench.transport.fault = break_off
    while not bench.said("pass_failed"):
        bench.sync()
    assert len(bench.files()) < 45
    bench.transport.fault = lambda method, path: None
    bench.confirm_deletes()
    assert len(bench.files()) == len(bench.memories()) == 45


@pytest.mark.parametrize("fault", ["503", "drop", "lose"])
def test_a_pull_that_failed_is_tried_again_though_nothing_is_new(bench: Bench, fault: str) -> None:
    memory = bench.shelf.put("/a", "one")
    bench.mount()
    bench.shelf.update(memory, content="two")
    bench.transport.fault = lambda method, path: fault if memory.wire_id in path else None
    bench.sync()
    assert bench.files() == {"/a": "one"}
    bench.transport.fault = lambda method, path: None
    bench.sync()
    assert bench.files() == {"/a": "two"}

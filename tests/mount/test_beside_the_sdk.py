"""The official SDK's own engine and ours, each with a folder of one store."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from anthropic import AsyncAnthropic
from anthropic.lib.tools import _memories as sdk

from tests.live import LiveHub
from tests.mount.ground import Bench
from tests.world import Tenant


def sdk_files(root: Path) -> dict[str, str]:
    return {
        "/" + file.relative_to(root).as_posix(): file.read_text()
        for file in root.rglob("*")
        if file.is_file() and file.name != sdk.MARKER_PATH
    }


def test_both_engines_meet_in_one_store(
    bench: Bench, live: LiveHub, live_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "DELETE_CORROBORATION_SECONDS", 0)
    asyncio.run(_meet(bench, live.url, live_tenant.key))


async def _meet(bench: Bench, url: str, key: str) -> None:
    for name in ("theirs", "ours", "both", "gone by them", "gone by us"):
        await asyncio.to_thread(bench.shelf.put, f"/{name}", "1")
    await asyncio.to_thread(bench.mount)
    their_root = bench.folder / "sdk"
    resource = SimpleNamespace(
        type="memory_store",
        memory_store_id=bench.shelf.store_id,
        mount_path=str(their_root),
        access="read_write",
        name="N",
    )
    async with AsyncAnthropic(base_url=url, api_key=key) as client:
        theirs = sdk.SessionMemoryStores(client, workdir=bench.folder)
        await theirs.download(SimpleNamespace(resources=[resource]))  # type: ignore[arg-type]
        assert sdk_files(their_root) == bench.files()
        (their_root / "theirs").write_text("2 by them")
        (their_root / "new").mkdir()
        (their_root / "new" / "file").write_text("by them")
        (their_root / "gone by them").unlink()
        (their_root / "both").write_text("by them")
        bench.write("ours", "2 by us")
        bench.write("both", "by us")
        (bench.root / "gone by us").unlink()
        (bench.root / "ours").rename(bench.root / "moved")
        for _ in range(3):
            await theirs._sync_all(final=False)
            await asyncio.to_thread(bench.confirm_deletes)
        await theirs._sync_all(final=False)
        wanted = {"/theirs": "2 by them", "/new/file": "by them", "/both": "by them", "/moved": "2 by us"}
        assert await asyncio.to_thread(bench.memories) == wanted
        assert sdk_files(their_root) == bench.files() == wanted
        assert bench.kept() == ["by us"]
        await theirs.dispose()

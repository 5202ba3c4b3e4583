"""The tools over standard input and output: a process of its own, and the official client of the protocol."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from stores.mount.tools_specs import SPECS
from tests.mount.test_tools import _ends, _runs

ROOT = Path(__file__).resolve().parents[2]
MODULE = [
    "-c",
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from stores.mount.tools_server import main; sys.exit(main())",
    str(ROOT),
]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for name in ("work", "notes", "rules"):
        (tmp_path / name).mkdir()
    (tmp_path / "rules" / "a.md").write_text("rule")
    return tmp_path.resolve()


def arguments(base: Path) -> list[str]:
    return [
        "--workdir", str(base / "work"),
        "--mount", f"{base / 'notes'}=Notes",
        "--read-only", f"{base / 'rules'}=House rules",
    ]  # fmt: skip


def with_client(
    base: Path, talk: Callable[[ClientSession], Coroutine[Any, Any, None]], **environment: str
) -> None:
    async def run() -> None:
        parameters = StdioServerParameters(
            command=sys.executable, args=[*MODULE, *arguments(base)], env={**os.environ, **environment}
        )
        async with (
            stdio_client(parameters) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            await talk(session)

    asyncio.run(asyncio.wait_for(run(), 60))


async def call(session: ClientSession, name: str, **given: Any) -> tuple[bool, str]:
    answer = await session.call_tool(
        name, {key: str(value) if isinstance(value, Path) else value for key, value in given.items()}
    )
    return bool(answer.is_error), "".join(getattr(part, "text", "") for part in answer.content)


def test_a_client_lists_the_tools_and_works_with_them(base: Path) -> None:
    async def talk(session: ClientSession) -> None:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert tools.keys() == SPECS.keys()
        hints = {
            name: (tool.annotations.read_only_hint, tool.annotations.destructive_hint)
            for name, tool in tools.items()
            if tool.annotations
        }
        assert hints == {
            "read": (True, False), "write": (False, True), "edit": (False, True),
            "glob": (True, False), "grep": (True, False), "bash": (False, True),
        }  # fmt: skip
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
        assert (await call(session, "write", file_path=base / "notes" / "a.md", content="one\r\n"))[
            0
        ] is False
        assert await call(session, "read", file_path=base / "notes" / "a.md") == (False, "one\r\n")
        is_error, said = await call(session, "write", file_path=base / "rules" / "a.md", content="x")
        assert is_error and "House rules" in said and str(base / "rules") in said
        assert (await call(session, "read", file_path="/etc/passwd"))[0] is True
        assert (await call(session, "nothing"))[0] is True
        both = await asyncio.gather(
            call(session, "bash", command="sleep 0.3; echo a"),
            call(session, "read", file_path=base / "rules" / "a.md"),
        )
        assert both == [(False, "a\n"), (False, "rule")]

    with_client(base, talk)
    assert (base / "notes" / "a.md").read_bytes() == b"one\r\n"


def test_no_credential_of_the_environment_is_within_reach_of_a_command(base: Path) -> None:
    async def talk(session: ClientSession) -> None:
        look = "env; tr '\\0' '\\n' < /proc/$PPID/environ"
        is_error, said = await call(session, "bash", command=look)
        assert not is_error and "PATH=" in said and "top-secret" not in said

    with_client(base, talk, MEMORYHUB_KEY="top-secret", SOME_TOKEN="top-secret")


def start(base: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, *MODULE, *arguments(base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.parametrize("end", ["the client closes", "SIGTERM"])
def test_when_it_ends_no_command_goes_on(base: Path, end: str) -> None:
    mark = "86411.25" if end == "SIGTERM" else "86412.25"
    server = start(base)
    assert server.stdin is not None and server.stdout is not None
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    called = {"name": "bash", "arguments": {"command": f"sleep {mark}"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called},
    ]
    server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    server.stdin.flush()
    assert b'"id":1' in server.stdout.readline()
    while not _runs(f"sleep {mark}"):
        assert server.poll() is None
    if end == "SIGTERM":
        server.send_signal(signal.SIGTERM)
    else:
        server.stdin.close()
    assert server.wait(20) == 0
    server.stdin.close()
    assert _ends(f"sleep {mark}")
    server.stdout.close()
    assert server.stderr is not None
    server.stderr.close()


def test_a_folder_that_is_not_there_is_one_sentence(base: Path) -> None:
    (base / "notes").rmdir()
    done = subprocess.run(
        [sys.executable, *MODULE, *arguments(base)], input=b"", capture_output=True, check=False
    )
    assert done.returncode == 64 and done.stdout == b""
    assert b"mount the stores before" in done.stderr and b"Traceback" not in done.stderr

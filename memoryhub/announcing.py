"""What `./hub up` prints: one line of JSON for a program, or a greeting and its progress for a person."""

import json
import sys
from typing import Any

FACTS = ("url", "mcp_url", "api_key", "project", "environment", "sign_in_url", "data_dir")


def say(text: str) -> None:
    """A line of progress, for a person who watches."""
    if sys.stderr.isatty():
        tell(text)


def tell(text: str) -> None:
    sys.stderr.write(f"memoryhub: {text}\n")


def announce(facts: dict[str, Any], *, as_json: bool) -> None:
    """That it is ready, and the first way in. `as_json`: FACTS, in that order."""
    text = json.dumps({name: facts[name] for name in FACTS}) if as_json else greeting(facts)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def greeting(facts: dict[str, Any]) -> str:
    lines = [f"MemoryHub is ready at {facts['url']}"]
    if "api_key" in facts:
        lines += [
            f"  Sign in (once):  {facts['sign_in_url']}",
            f"  API key:         {facts['api_key']}",
            f"                   of project {facts['project']}, environment {facts['environment']}",
            "  Both are shown this once. New ones: ./hub sign_in_link and ./hub create_key",
        ]
    else:
        lines.append("  Sign in with a link from: ./hub sign_in_link")
    return "\n".join([*lines, f"  MCP, for agents: {facts['mcp_url']}", "  Ctrl-C ends it."])

"""The ports of a hub: opened before anything starts, so that a taken one is told at once, and asked whether it is ready.

Imports nothing of Django.
"""

import errno
import socket
from http.client import HTTPConnection, HTTPException

from memoryhub.environ import read_integer, read_text
from memoryhub.exits import Exit, UpError

LISTEN_BACKLOG = 2_048


def open_port(named: int | None) -> socket.socket:
    """The port, ours from here on; it is listened on when the web server starts. Raises: UpError."""
    port = read_integer("PORT", 8000, minimum=1, maximum=65_535) if named is None else named
    return _bind(port, "PORT", example=8010)


def open_mcp_port(*, beside: socket.socket) -> socket.socket:
    """The port of the MCP server: the one that is set, else the one after the hub's own, else a free one. Raises: UpError."""
    if read_text("MEMORYHUB_MCP_PORT"):
        return _bind(
            read_integer("MEMORYHUB_MCP_PORT", 8001, minimum=1, maximum=65_535),
            "MEMORYHUB_MCP_PORT",
            example=8011,
        )
    try:
        return _bind(beside.getsockname()[1] + 1, "MEMORYHUB_MCP_PORT", example=8011)
    except UpError:
        return _bind(0, "MEMORYHUB_MCP_PORT", example=8011)


def take_port(descriptor: str | None, port: int) -> socket.socket:
    """The socket that the hub has opened and handed over as this descriptor, or one on the port. Raises: UpError."""
    if descriptor is not None:
        return socket.socket(fileno=int(descriptor))
    listener = _bind(port, "MEMORYHUB_MCP_PORT", example=8011)
    listener.listen(LISTEN_BACKLOG)
    return listener


def _bind(port: int, setting: str, *, example: int) -> socket.socket:
    host = read_text("MEMORYHUB_BIND_HOST") or "127.0.0.1"
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise _port_error(error, host, port, f"{setting}={example} ./hub up") from error
    return listener


def _port_error(error: OSError | OverflowError, host: str, port: int, command: str) -> UpError:
    number = getattr(error, "errno", None)
    if number == errno.EADDRINUSE:
        return UpError(Exit.PORT_TAKEN, f"Port {port} is taken: choose another one with {command}.")
    if number in (errno.EACCES, errno.EPERM):
        return UpError(Exit.PORT_TAKEN, f"Port {port} is for root alone: choose another one with {command}.")
    setting = command.partition("=")[0]
    return UpError(
        Exit.SETTING, f"{host}, port {port}, cannot be served on: set MEMORYHUB_BIND_HOST and {setting}."
    )


def ask_ready(listener: socket.socket, *, host: str) -> str:
    """`ready`, or why it is not. `host`: the name that the hub is called by."""
    address, port = listener.getsockname()[:2]
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    connection = HTTPConnection(address, port, timeout=2)
    try:
        connection.request("GET", "/readyz", headers={"Host": host})
        answer = connection.getresponse()
        body = answer.read(500).decode(errors="replace")
        return "ready" if answer.status == 200 else f"/readyz says {answer.status}: {body.strip()}"
    except (OSError, HTTPException) as error:
        return f"nobody answers ({type(error).__name__})"
    finally:
        connection.close()

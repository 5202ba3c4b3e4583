"""Bodies and answers too large for memory: they pass through a file of the data folder that has no name.

So neither a slow sender nor a slow reader holds a database connection, and a failure is told before the first byte.
"""

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from django.conf import settings
from django.http import FileResponse, HttpRequest, UnreadablePostError

from memoryhub.errors import InvalidRequest, Unavailable
from memoryhub.problems import body_too_large

SPOOL_CHUNK_BYTES = 65_536


def open_spool() -> IO[bytes]:
    """A new file that goes away when it is closed."""
    folder = settings.DATA_DIR / "run"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


@contextmanager
def filled_spool() -> Iterator[IO[bytes]]:
    """A new spool to be written; behind the block it stands at its start, still open. Closed when the block fails."""
    spool = open_spool()
    try:
        with disk_room():
            yield spool
            spool.seek(0)
    except BaseException:
        spool.close()
        raise


@contextmanager
def disk_room() -> Iterator[None]:
    """Around writes to a spool. Raises: Unavailable when the disk of the data folder is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Unavailable(
            "The disk of the hub's data folder is full; free space and repeat.", error_code="disk_full"
        ) from error


def spool_body(request: HttpRequest, *, bytes_max: int) -> IO[bytes]:
    """The body in a file, read from its start. Raises: RequestTooLarge, InvalidRequest for one that was cut off."""
    announced = int(request.META.get("CONTENT_LENGTH") or 0)
    chunked = not request.META.get("CONTENT_LENGTH") and request.META.get("wsgi.input_terminated")
    source = cast(IO[bytes], request.META["wsgi.input"] if chunked else request)
    with filled_spool() as spool:
        size = announced if announced > bytes_max else _copy(source, spool, bytes_max=bytes_max)
        if size > bytes_max:
            raise body_too_large(bytes_max)
        if not chunked and size < announced:
            raise InvalidRequest(f"The body ended after {size} of {announced} bytes.")
    return spool


def _copy(source: IO[bytes], spool: IO[bytes], *, bytes_max: int) -> int:
    """Copy until the end, or until one chunk more than `bytes_max` is there; the number of bytes."""
    size = 0
    try:
        while size <= bytes_max and (chunk := source.read(SPOOL_CHUNK_BYTES)):
            size += len(chunk)
            spool.write(chunk)
    except UnreadablePostError as error:
        raise InvalidRequest("The body could not be read to its end.") from error
    return size


def file_answer(spool: IO[bytes], *, content_type: str, file_name: str) -> FileResponse:
    """A filled spool as a download that no browser shows; the answer closes it."""
    response = FileResponse(spool, as_attachment=True, filename=file_name, content_type=content_type)
    response["Content-Security-Policy"] = "sandbox"
    return response

"""Two names of a folder exchanged in one step, where the system can; else in two. Source: renameat2(2)."""

import ctypes
import errno
import os
import secrets
from functools import cache
from typing import Any

from stores.mount.constants import WRITING_PREFIX

RENAME_EXCHANGE = 2
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


@cache
def _renameat2() -> Any:
    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def exchange(folder: int, first: str, second: str) -> None:
    """Raises: OSError, FileNotFoundError when one of them is not there."""
    call = _renameat2()
    if call is None or call(folder, os.fsencode(first), folder, os.fsencode(second), RENAME_EXCHANGE) != 0:
        number = errno.ENOSYS if call is None else ctypes.get_errno()
        if number not in _CANNOT:
            raise OSError(number, os.strerror(number), second)
        exchange_in_steps(folder, first, second)


def exchange_in_steps(folder: int, first: str, second: str) -> None:
    """For a moment there is nothing under the second name, and nothing is ever overwritten that is not looked at."""
    aside = WRITING_PREFIX + secrets.token_hex(8)
    os.rename(second, aside, src_dir_fd=folder, dst_dir_fd=folder)
    os.rename(first, second, src_dir_fd=folder, dst_dir_fd=folder)
    os.rename(aside, first, src_dir_fd=folder, dst_dir_fd=folder)

"""Why a command of the hub ended, as a number a script can act on. supervisor.py has the table."""

import argparse
import errno
from enum import IntEnum
from typing import NoReturn

from memoryhub.embedded import BinaryMissingError, DiskFullError, EmbeddedError, FolderError
from memoryhub.environ import SettingError


class Exit(IntEnum):
    STOPPED = 0
    REFUSED = 1
    USAGE = 64
    FOREIGN_FOLDER = 65
    DATABASE = 68
    PROGRAM_MISSING = 69
    NOT_READY = 70
    PART_FAILED = 71
    PORT_TAKEN = 72
    FOLDER = 73
    DISK_FULL = 74
    BUSY = 75
    NEWER = 76
    SETTING = 78


class UpError(Exception):
    """A command ends without having done it. The message is one sentence that says what to do."""

    def __init__(self, code: Exit, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


def usage_error(message: str, prog: str) -> UpError:
    """For a message of argparse, which is no sentence yet."""
    return UpError(Exit.USAGE, f"{message[0].upper()}{message[1:]}; {prog} --help shows what can be said.")


class ArgumentParser(argparse.ArgumentParser):
    """Raises: UpError for arguments it cannot read."""

    def error(self, message: str) -> NoReturn:
        raise usage_error(message, self.prog)


# The first class an error is an instance of decides.
_CODES: tuple[tuple[type[Exception], Exit], ...] = (
    (SettingError, Exit.SETTING),
    (BinaryMissingError, Exit.PROGRAM_MISSING),
    (DiskFullError, Exit.DISK_FULL),
    (FolderError, Exit.FOLDER),
    (EmbeddedError, Exit.PART_FAILED),
)
FORESEEN = (UpError, SettingError, EmbeddedError, OSError)


def explain_exit(error: Exception) -> tuple[Exit, str]:
    """The exit code and the sentence for one of FORESEEN. Raises the error again when it was not foreseen."""
    if isinstance(error, UpError):
        return error.code, str(error)
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Exit.DISK_FULL, "The disk of the data folder is full: free some space and start again."
    raise error

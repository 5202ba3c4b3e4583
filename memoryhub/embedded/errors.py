"""What can go wrong below the application. Every message is one sentence that says what to do.

EmbeddedError
  BinaryMissingError    no PostgreSQL or queue program for this machine
  FolderError           the data folder cannot be used
  DiskFullError         the disk of the data folder has no room left
"""


class EmbeddedError(Exception):
    """A part of the data folder could not be started, stopped or read."""


class BinaryMissingError(EmbeddedError):
    """No program for this part was found on this machine."""


class FolderError(EmbeddedError):
    """The data folder cannot be made, written or reached."""


class DiskFullError(EmbeddedError):
    """There is no room left where the data folder lies."""

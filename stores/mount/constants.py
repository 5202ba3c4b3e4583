"""The numbers of a mount. Source: stores contract, section 8; what is ours says so."""

SYNC_SECONDS_DEFAULT = 15.0
SYNC_SECONDS_MIN = 5.0
DELETE_CONFIRM_SECONDS = 30.0
DELETES_PER_PASS_MIN = 8
DELETES_PER_PASS_MAX = 50
FINISH_SECONDS = 30.0
FLUSH_SECONDS = 30.0
DOWNLOAD_PAGE = 20
LIST_PAGE = 100
FETCHES_PARALLEL = 16
UPLOADS_PARALLEL = 32
STAMP_SECONDS = 2.0  # a hash is kept only for a file that had rested this long when it was read
FOLDER_MODE = 0o700
FILE_MODE = 0o600

MARKER = "/.memoryhub-store"
FOREIGN_MARKER = "/.anthropic-memory-store"  # of another worker on the same server: never a memory either
MARKER_VERSION = 1

# Ours.
PASS_SECONDS = 60.0  # of one on the cadence: what it does not reach, the next one does
REQUEST_SECONDS = (
    15.0  # for each pause in an answer; with the two bounds above it stays below a stop grace of 120
)
SCANNED_MAX = 50_000  # names in one folder tree: a pass over more fails and says so
NAME_BYTES_MAX = 255  # of a name in a folder; Linux
KEPT_MAX = (
    2_000  # losing edits kept aside by one mount: with more, the file stays as it is and is not replaced
)
WRITING_PREFIX = ".memoryhub-writing-"
KEPT_FOLDER = ".memoryhub-kept"


def deletes_max(baseline_count: int) -> int:
    """How many deletions one pass may send."""
    return max(DELETES_PER_PASS_MIN, min(DELETES_PER_PASS_MAX, baseline_count // 4))

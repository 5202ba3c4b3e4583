"""The limits of the stores contract, sections 3 and 8."""

MEMORY_CONTENT_BYTES_MAX = 102_400  # contract: bytes per memory
MEMORIES_PER_STORE_MAX = 2_000  # contract: memories per store
PATH_BYTES_MAX = 1_024  # contract: path bytes
PATH_SEGMENTS_MAX = 20  # contract: segments
STORE_NAME_LENGTH_MAX = 255  # contract: store.name
STORE_DESCRIPTION_LENGTH_MAX = 1_024  # contract: store.description
METADATA_PAIRS_MAX = 16  # contract: store.metadata
METADATA_KEY_LENGTH_MAX = 64  # contract: store.metadata keys
METADATA_VALUE_LENGTH_MAX = 512  # contract: store.metadata values
STORES_PER_SESSION_MAX = 8  # contract: stores per session
RETENTION_DAYS_MAX = 3_650  # ours: of a store's retention
RETENTION_VERSIONS_MAX = 1_000  # ours: versions of a memory that a retention keeps
INSTRUCTIONS_LENGTH_MAX = 4_096  # contract: instructions
LEASE_SECONDS_DEFAULT = 30  # contract: 8, lease TTL
LEASE_SECONDS_MAX = 300  # contract: 8, lease TTL allowed
POLL_BLOCK_MS_MAX = 999  # contract: 8, block_ms
RECLAIM_MS_DEFAULT = 5_000  # contract: 8, unacknowledged reclaim
RECLAIM_MS_MAX = 3_600_000
WORKER_ID_LENGTH_MAX = 256
WORK_PER_SESSION_MAX = 1_000  # then the oldest that stopped are forgotten
WORK_TOKEN_DAYS = 30  # how long one that works no more is kept, so that the trail can be read

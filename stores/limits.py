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
INSTRUCTIONS_LENGTH_MAX = 4_096  # contract: instructions

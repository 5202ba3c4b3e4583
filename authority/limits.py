"""The contract's numbers. Bytes are those of canonical JSON in UTF-8."""

# JSON
DEPTH_MAX = 128  # contract: detachedCanonicalDepth
ENTRIES_MAX = 65_536  # contract: detachedCanonicalBreadth
VALUES_MAX = 1_048_576  # contract: detachedCanonicalNodes
INTEGER_MAX = 2**53 - 1

# names
CODE_LENGTH_MAX = 128
KEY_LENGTH_MAX = 512
KIND_LENGTH_MAX = 64
PURPOSE_LENGTH_MAX = 256

# records, operations, spaces
CHANGES_MAX = 8_192
DEPENDENCIES_MAX = 4_096
VALUE_BYTES_MAX = 1_048_576
SPACE_RECORDS_MAX = 65_536
OPERATION_BYTES_MAX = 67_108_864
LANE_RECORDS_MAX = 8_192  # contract: maximumRecordsPerLane
LANE_BYTES_MAX = 33_554_432  # contract: snapshotBytesPerLane
SEARCH_TEXT_BYTES_MAX = 262_144

# closures
ROOTS_MAX = 1_024
CLOSURE_RECORDS_MAX = 8_192
CLOSURE_BYTES_MAX = 67_108_864
CLOSURE_COLLECTED_BYTES_MAX = 67_043_328

# the feed and its proof
FEED_OPERATIONS_MAX = 1_000  # contract: canonicalChangeFeedPage
FEED_OPERATIONS_DEFAULT = 100
FEED_BYTES_MAX = 67_108_864  # contract: canonicalChangeFeedPageBytes
ADVANCE_OPERATIONS_MAX = 16_384  # contract: canonicalAdvanceOperations
ADVANCE_PAGES_MAX = 64  # contract: canonicalAdvancePages

# host calls
ADVANCE_REQUEST_BYTES_MAX = 81_920
ADOPTION_REQUEST_BYTES_MAX = 67_305_472  # contract: adoptionRequestBytes
REPLACEMENTS_MAX = 128  # contract: adoptionReplacements
CONFLICTS_REPORTED_MAX = 128  # contract: reportedAdoptionConflicts
HEAD_BYTES_MAX = 4_096
WAIT_SECONDS_MAX = 25

# agents
REMEMBER_BYTES_MAX = 8_388_608
REMEMBERED_OPERATION_BYTES_MAX = 16_777_216
NOMINATE_REQUEST_BYTES_MAX = 655_360
ROUTES_MAX = 64  # contract: maximumNominationRoutes
PROGRAMS_MAX = 128  # contract: maximumPrograms
QUERY_REQUEST_BYTES_MAX = 81_920
BINDINGS_MAX = 32
BINDINGS_BYTES_MAX = 65_536
BINDING_BYTES_MAX = 16_384
CONTINUATION_BYTES_MAX = 4_096
CONTINUATION_KEY_BYTES = (32, 64)
PAGE_ROWS_MAX = 256  # contract: maximumPageRows
PAGE_BYTES = (65_536, 8_388_608)
PROGRAM_ROWS_MAX = 65_536  # contract: maximumProgramRows
EXPLANATIONS_MAX = 256  # contract: explainCapabilities
EXPLANATION_BYTES_MAX = 33_554_432  # contract: explainCapabilityEntryBytes
EXPLANATIONS_BYTES_MAX = 67_108_864  # contract: explainCapabilityTotalBytes
EXPLANATION_OVERHEAD_BYTES = 128
EXPLANATION_MILLISECONDS_DEFAULT = 900_000
EXPLANATION_MILLISECONDS = (1_000, 3_600_000)
TEXT_QUERY_BYTES_MAX = 4_096

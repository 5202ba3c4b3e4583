"""The limits of the contract of document and HTTP memory, sections 2 to 10."""

RESOURCE_ID_LENGTH_MAX = 128  # contract: 2.1 id
RESOURCES_MAX = 256  # ours: resources of one deployment
CONNECTIONS_MAX = 64  # ours: connections of one deployment
ORDINARY_TOOLS_MAX = 512  # ours: names of ordinary tools
DESCRIPTION_LENGTH_MAX = 4_096  # ours: of a resource, of a tool
RESOURCE_BYTES_MAX = 16_384  # contract: 2.2 and 2.3 maxBytes
RESOURCE_BYTES_DEFAULT = 8_192  # contract: 2.2 and 2.3 maxBytes
TOOLS_MAX = 8  # contract: 2.3 tools
TOOL_INPUT_BYTES_MAX = 16_384  # contract: 2.3 input
TOOL_INPUT_DEPTH_MAX = 32  # contract: 2.3 input
HEADERS_MAX = 32  # ours: headers of a connection
HEADER_VALUE_BYTES_MAX = 4_096  # contract: 2.4
BINDINGS_MAX = 8  # contract: 4
NAMESPACE_ID_LENGTH_MAX = 128  # contract: 4
DOCUMENT_ID_LENGTH_MAX = 128  # contract: 4
TITLE_BYTES_MAX = 240  # contract: 8.2
SUMMARY_BYTES_MAX = 240  # contract: 7.2
OVERVIEW_LINES_MAX = 50  # contract: 7.1
OVERVIEW_BYTES_MAX = 16_384  # contract: 7.1
ARGUMENTS_BYTES_MAX = 65_536  # contract: 9.2
ARGUMENT_PROBLEMS_MAX = 10  # contract: 9.2
ECHOED_LENGTH_MAX = 200  # contract: 9.2
BODY_BYTES_MAX = 65_536  # contract: 8.2 and 10.6
CONNECT_SECONDS_MAX = 3.0  # contract: 11.1 CONNECT, of TCP and TLS together
ANSWER_HEAD_BYTES_MAX = 32_768  # contract: 14.1

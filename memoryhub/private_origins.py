"""Which addresses are public, and which origins an operator lets the hub reach although they are not. Pure.

Source: contract of document and HTTP memory, section 14.
"""

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address
type Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NOT_PUBLIC_V4 = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
_PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_V6 = tuple(
    ipaddress.IPv6Network(block) for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
# Where clouds tell a machine its credentials: never to be reached, whatever an operator lists.
METADATA: tuple[Network, ...] = (
    ipaddress.IPv4Network("169.254.0.0/16"),
    ipaddress.IPv6Network("fd00:ec2::254/128"),
)


def is_public(address: Address) -> bool:
    """Of IPv6 only what is routed in the whole internet, so neither IPv4 inside IPv6 nor a translator's prefix."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in block for block in _NOT_PUBLIC_V4)
    return address in _PUBLIC_V6 and not any(address in block for block in _NOT_PUBLIC_V6)


def may_be_dialled(address: Address, listed: tuple[Network, ...] | None) -> bool:
    """`listed`: the networks that an operator allows this origin, None for an origin that is not listed."""
    if listed is None:
        return is_public(address)
    return not _is_metadata(address) and any(address in network for network in listed)


def _is_metadata(address: Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return any((mapped or address) in network for network in METADATA)


def parse_private_origins(text: str) -> Mapping[str, tuple[Network, ...]]:
    """`https://mem.internal=10.0.0.0/8,fd00::/8;http://127.0.0.1:8799=127.0.0.0/8`. Raises: ValueError."""
    origins: dict[str, tuple[Network, ...]] = {}
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        origin, _, listed = part.partition("=")
        networks = tuple(ipaddress.ip_network(one.strip()) for one in listed.split(","))
        if any(_is_metadata(network.network_address) for network in networks):
            raise ValueError("the addresses of cloud metadata")
        origins[_read_origin(origin.strip())] = networks
    return origins


def _read_origin(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ValueError(text)
    if text != f"{parts.scheme}://{parts.netloc}" or text != text.lower() or parts.port == 0:
        raise ValueError(text)
    return text

"""Memory providers over other services. Source: contract of the memory provider, section 9."""

from collections.abc import Callable, Mapping
from typing import Any

from providers.adapters.hindsight import hindsight_memory
from providers.adapters.honcho import honcho_memory
from providers.adapters.letta import letta_memory
from providers.adapters.mem0 import mem0_memory
from providers.adapters.zep import zep_memory
from providers.contract import MemoryProvider

type Factory = Callable[[str, Mapping[str, Any]], MemoryProvider]

# By the name that a configuration gives: `factory(name, options)` reads nothing and sends nothing.
ADAPTERS: Mapping[str, Factory] = {
    "hindsight": hindsight_memory,
    "mem0": mem0_memory,
    "letta": letta_memory,
    "honcho": honcho_memory,
    "zep": zep_memory,
}

"""MemoryHub: a self-hosted server that keeps what AI agents remember."""

__version__ = "0.1.0"

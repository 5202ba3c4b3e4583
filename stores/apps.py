"""Versioned text: memory stores, their memories and the history of each."""

from django.apps import AppConfig


class StoresConfig(AppConfig):
    name = "stores"

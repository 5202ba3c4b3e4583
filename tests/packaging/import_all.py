"""Runs in an environment that holds the wheel alone: imports every public module and prints their names as JSON.

Warnings are errors, so a module that uses what a newer Python takes away fails here first.
"""

import importlib
import json
import pkgutil
import sys

import django

WIRING = ("memoryhub.gunicorn_config",)  # read by gunicorn, in its own process


def main() -> None:
    django.setup()
    importlib.import_module("kombu.transport.redis")  # found by the name in a URL, when the worker starts
    names = []
    for room in sys.argv[1:]:
        package = importlib.import_module(room)
        names.append(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if module.name not in WIRING:
                importlib.import_module(module.name)
                names.append(module.name)
    print(json.dumps(names))


main()

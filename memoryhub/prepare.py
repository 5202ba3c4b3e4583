"""What happens between the database's start and the web server's: `./hub up` runs it as a process of its own.

It loads Django while the database starts, then reads its input to the end: the sign that it runs.
It refuses newer data, backs up and migrates older data, collects static files when they changed, and makes the
first project of an empty hub. Standard output is one line of JSON: the first way in, or {}; see --access.
"""

import json
import os
import sys
from argparse import Namespace
from collections.abc import Mapping

from memoryhub import data_version
from memoryhub.embedded import data_folder
from memoryhub.environ import read_text
from memoryhub.exits import FORESEEN, ArgumentParser, Exit, UpError, explain_exit


def main(arguments: list[str]) -> int:
    try:
        access = _parse(arguments).access
        _load_django()
        if not sys.stdin.isatty():
            sys.stdin.read()
        facts = prepare(access=access)
    except FORESEEN as error:
        code, sentence = explain_exit(error)
        sys.stderr.write(f"memoryhub: {sentence}\n")
        return code
    sys.stdout.write(json.dumps(facts) + "\n")
    return Exit.STOPPED


def _parse(arguments: list[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m memoryhub.prepare")
    explanation = "make a key and a sign-in link: on the first start of an empty hub, always, or never"
    parser.add_argument("--access", choices=("first", "always", "never"), default="first", help=explanation)
    return parser.parse_args(arguments)


def _load_django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    import django

    django.setup()


def prepare(*, access: str) -> Mapping[str, str]:
    """The way in, or {}. Raises: UpError, SettingError, EmbeddedError."""
    from memoryhub import bootstrap, migrating, static_files

    data_dir = data_folder()
    _check_settings(databases=[])
    embedded = not read_text("DATABASE_URL")
    _check_queue()
    migrating.reach_database(embedded=embedded)
    _check_settings(databases=["default"])
    migrating.bring_up_to_date(data_dir, embedded=embedded)
    static_files.collect_if_changed(data_dir)
    is_first = bootstrap.make_first_project()
    if access == "always" or (is_first and access == "first"):
        return bootstrap.create_access(is_first=is_first)
    if is_first:
        data_version.write_state(data_dir, first_start="done")
    return {}


def _check_settings(*, databases: list[str]) -> None:
    """Django's system checks that are the hub's own, and of these databases. Raises: UpError with the first one's sentence."""
    from django.core import checks

    for message in checks.run_checks(tags=["memoryhub"], databases=databases):
        if message.is_serious():
            raise UpError(Exit.SETTING, message.msg)


def _check_queue() -> None:
    """Whether the queue that REDIS_URL names answers. Raises: UpError."""
    url = read_text("REDIS_URL")
    if url is None:
        return
    import redis

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=3, socket_timeout=3) as queue:
            queue.ping()
    except ValueError as error:
        raise UpError(Exit.SETTING, "REDIS_URL cannot be read: write redis://host:6379/0.") from error
    except redis.RedisError as error:
        raise UpError(
            Exit.DATABASE, "The queue that REDIS_URL names cannot be reached: check that it runs."
        ) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`./hub screenshots`: a hub of its own with an example project, and a picture of every page in ./screenshots.

Light and dark, wide and narrow. `--readme` also writes the three small ones of the README into docs/images.
"""

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tools.bench.hub import started_hub, started_postgres

if TYPE_CHECKING:
    from django.db.backends.utils import CursorWrapper

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "screenshots"
README_FOLDER = ROOT / "docs" / "images"
README_PAGES = {"store": "store.png", "memory": "memory.png", "audit": "audit.png"}
README_BYTES_MAX = 60_000
README_HEIGHT = 760
README_COLOURS = 64
WIDTHS = (1200, 390)
HEIGHT = 900
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def main() -> int:
    parser = ArgumentParser(prog="./hub screenshots", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--readme", action="store_true", help="also write the pictures of the README")
    options = parser.parse_args()
    shutil.rmtree(FOLDER, ignore_errors=True)
    with started_postgres() as postgres:
        set_up()
        with started_hub(postgres) as hub:
            count = take_all(hub.web.url)
    if options.readme:
        write_readme_pictures()
    print(f"screenshots: {count} pictures in {FOLDER}")
    return 0


def set_up() -> None:
    """Django on the new database, with its tables and the files of the pages."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)


def take_all(url: str) -> int:
    """How many pictures were taken."""
    from tests.browser.chromium import open_window
    from tests.browser.entering import new_session
    from tests.browser.everywhere import list_addresses
    from tests.browser.example import make_example
    from tests.browser.visits import Visits

    calendar = Calendar()
    example = make_example("", at=calendar.at)
    calendar.rewrite()
    count_and_seal()
    addresses, session, count = list_addresses(example), new_session(example.owner), 0
    with open_window(width=WIDTHS[0], scheme=SCHEMES[0]) as window:
        visits = Visits(window, url, session)
        for address, page in visits.walk(addresses):
            for width, scheme in product(WIDTHS, SCHEMES):
                page.set_viewport_size({"width": width, "height": HEIGHT})
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=FOLDER / f"{width}-{scheme}" / f"{address.name}.png", full_page=True)
                count += 1
            page.set_viewport_size({"width": WIDTHS[0], "height": HEIGHT})
            page.emulate_media(color_scheme=SCHEMES[0])
    for name, faults in visits.found().items():
        print(f"{name}: {'; '.join(faults)}", file=sys.stderr)
    return count


def count_and_seal() -> None:
    """What a worker would have done by now."""
    from memoryhub import activity, audit, quotas
    from stores import totals

    audit.seal_all()
    quotas.count_usage()
    activity.count_activity()
    totals.count_totals()


class Calendar:
    """Makes what happens inside `at` older. The times are written at the end, with the guards of the rows off."""

    def __init__(self) -> None:
        self.steps: list[tuple[datetime, datetime, timedelta]] = []

    @contextmanager
    def at(self, days: float) -> Iterator[None]:
        began = self._now()
        yield
        self.steps.append((began, self._now(), timedelta(days=days)))

    def rewrite(self) -> None:
        from django.db import connection

        steps = ", ".join(["(%s::timestamptz, %s::timestamptz, %s::interval)"] * len(self.steps))
        values: list[Any] = [value for step in self.steps for value in step]
        with connection.cursor() as cursor:
            for table, column in _times(cursor):
                cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
                cursor.execute(
                    f'UPDATE "{table}" SET "{column}" = "{column}" - shift FROM (VALUES {steps}) AS step (began, ended, shift)'
                    f' WHERE "{column}" BETWEEN began AND ended',
                    values,
                )
                cursor.execute(f'ALTER TABLE "{table}" ENABLE TRIGGER USER')

    def _now(self) -> datetime:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            now: datetime = cursor.fetchone()[0]
        return now


def _times(cursor: "CursorWrapper") -> list[tuple[str, str]]:
    """(table, column) of every instant at which something happened; not of those at which something will end."""
    cursor.execute(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND data_type = 'timestamp with time zone' AND column_name NOT LIKE 'expire%'"
    )
    return list(cursor.fetchall())


def write_readme_pictures() -> None:
    """Raises: AssertionError for one that is too large."""
    from tests.browser.chromium import open_window
    from tools.palette_png import write_palette_png

    README_FOLDER.mkdir(parents=True, exist_ok=True)
    with open_window(width=1200, scheme="light") as window:
        for name, file in README_PAGES.items():
            source, target = FOLDER / "1200-light" / f"{name}.png", README_FOLDER / file
            write_palette_png(window.page, source, target, height=README_HEIGHT, colours=README_COLOURS)
            assert target.stat().st_size < README_BYTES_MAX, f"{target} is too large"


if __name__ == "__main__":
    sys.exit(main())

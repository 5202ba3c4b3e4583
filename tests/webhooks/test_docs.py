"""The page of webhooks: its receiver verifies what the hub sends, and its table is what there is."""

import re
import time
from collections.abc import Callable
from typing import cast

from memoryhub.notice_types import list_notice_types
from memoryhub.webhook_retries import Outcome
from memoryhub.webhook_signing import new_secret
from tests.source import ROOT
from tests.webhooks.receivers import Desk

PAGE = (ROOT / "docs" / "webhooks.md").read_text(encoding="utf-8")

type Verify = Callable[[str, dict[str, str], bytes], bool]


def receiver_of_the_page() -> Verify:
    [code] = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102 - the page's own code
    return cast(Verify, names["verify"])


def test_the_receiver_of_the_page_verifies_what_the_hub_sends(desk: Desk) -> None:
    issued, verify = desk.add(), receiver_of_the_page()
    desk.tell()
    desk.send(issued.webhook)
    [exchange] = desk.receiver.exchanges
    assert verify(issued.secret, exchange.headers, exchange.body)
    assert not verify(new_secret(), exchange.headers, exchange.body)
    assert not verify(issued.secret, exchange.headers, exchange.body + b" ")
    old = exchange.headers | {"webhook-timestamp": str(int(time.time()) - 301)}
    assert not verify(issued.secret, old, exchange.body)


def test_the_table_of_the_page_is_what_there_is() -> None:
    rows = dict(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| .+? \| (.+?) \|$", PAGE, re.MULTILINE))
    assert {name: set(re.findall(r"`(\w+)`", facts)) for name, facts in rows.items()} == {
        kind.name: set(kind.facts) for kind in list_notice_types()
    }


def test_the_page_names_every_way_an_attempt_ends() -> None:
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in PAGE] == []

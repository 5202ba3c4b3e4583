"""A worker that writes one memory again and again while it beats, until it is refused. Standard library only.

One line of JSON for each item on standard input; on standard output `writing`, then what came of it.
"""

import json
import sys
import threading
import time
from http.client import HTTPConnection
from typing import Any

BEAT_SECONDS = 0.25
TTL_SECONDS = 1


def post(port: int, token: str, path: str, body: dict[str, Any] | None) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(
            "POST",
            path,
            body=b"" if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def work(port: int, item: dict[str, Any]) -> dict[str, int]:
    beat = f"{item['heartbeat']}?desired_ttl_seconds={TTL_SECONDS}"
    report = {"heartbeat": post(port, item["token"], beat, None), "accepted": 0, "refused": 0}
    assert report["heartbeat"] == 200, report

    def beat_on() -> None:
        while report["heartbeat"] == 200:
            time.sleep(BEAT_SECONDS)
            report["heartbeat"] = post(port, item["token"], beat, None)

    beating = threading.Thread(target=beat_on)
    beating.start()
    print("writing", flush=True)
    while report["refused"] == 0:
        content = f"{item['round']} {report['accepted']}"
        status = post(port, item["token"], item["memory"], {"content": content})
        if status == 200:
            report["accepted"] += 1
        else:
            report["refused"] = status
    beating.join()
    return report


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(work(int(sys.argv[1]), json.loads(line))), flush=True)

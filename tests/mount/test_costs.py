"""What a pass costs: requests are counted, and the processor's time of the mount alone."""

import os
import time

from stores.limits import MEMORIES_PER_STORE_MAX
from tests.mount.ground import Bench

CPU_SECONDS_MAX = float(os.environ.get("MEMORYHUB_TEST_PASS_CPU_SECONDS", "0.15"))


def rest(bench: Bench) -> None:
    """Until every file has rested long enough for its digest to be kept, and it is."""
    time.sleep(2.1)
    bench.sync()
    bench.transport.count()


def test_a_pass_over_two_thousand_files_costs_little(bench: Bench) -> None:
    bench.shelf.fill([f"/{number % 40}/{number:04}.md" for number in range(MEMORIES_PER_STORE_MAX)])
    bench.mount()
    rest(bench)
    spent = []
    for _ in range(5):
        began = time.process_time()
        assert bench.sync()
        spent.append(time.process_time() - began)
        assert bench.transport.count() == 1
    assert min(spent) < CPU_SECONDS_MAX, spent
    print(f"idle pass over 2,000 files: {min(spent) * 1000:.1f} ms of CPU")

    bench.write("0/0000.md", "edited here")
    bench.sync()
    assert bench.transport.count() == 2
    bench.shelf.update(bench.memory("/1/0001.md"), content="edited there")
    bench.sync()
    assert bench.transport.count() == 2
    (bench.root / "2/0002.md").rename(bench.root / "2/moved.md")
    bench.sync()
    assert bench.transport.count() == 2
    bench.write("3/new.md", "over the limit of the store")
    bench.sync()
    assert bench.transport.count() <= 3


def test_what_was_sent_here_comes_back_by_the_feed_and_costs_nothing(bench: Bench) -> None:
    bench.mount()
    bench.write("a", "one")
    bench.sync()
    bench.transport.count()
    bench.sync()
    assert bench.transport.count() == 1 and bench.sync()
    assert len(bench.operations()) == 1

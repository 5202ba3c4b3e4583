"""What is measured: operations at store sizes, and the plans that each client follows in each."""

from collections.abc import Mapping
from dataclasses import dataclass

from tools.bench.conversations import Conversations, Recall, Save, Select
from tools.bench.plans import Create, Delete, Get, ListPage, Plan, Search, Target, Update

SMALL, LARGE = 10, 2_000
CLIENTS = (1, 8)
ROOM = 200  # memories that creates may add before deletes take them away again
OWN_STORES = "update, own stores"
MODEL_REQUEST, SELECTION, SAVE = "model request", "selection", "save of a model"
CONVERSATIONS = 64  # of each client


@dataclass(frozen=True, slots=True)
class Cell:
    """Operations done one after the other, `cycles` times, on stores of one size."""

    operations: tuple[str, ...]
    size: int
    cycles: int = 1
    steps_max: int = 1_000_000  # of all clients together
    has_floor: bool = True

    def plan_name(self, operation: str) -> str:
        return f"{operation} at {self.size}"


def all_cells() -> list[Cell]:
    cells = []
    for size in (SMALL, LARGE):
        cells += [Cell((name,), size) for name in ("get", "update", "list")]
        cells.append(Cell(("create", "delete"), size, cycles=3, steps_max=ROOM))
    turn = Cell((MODEL_REQUEST, SELECTION, SAVE), CONVERSATIONS, cycles=3, steps_max=CONVERSATIONS)
    # What a search executes depends on the words it finds, so its statements cannot be replayed for others.
    return [*cells, turn, Cell((OWN_STORES,), SMALL), Cell(("search",), LARGE, has_floor=False)]


@dataclass(frozen=True, slots=True)
class Targets:
    """The stores of a bench: by size; with room for creates, by size; one of ten memories for each client; and what each
    client's models talk about."""

    stores: Mapping[int, Target]
    roomy: Mapping[int, Target]
    own: tuple[Target, ...]
    conversations: tuple[Conversations, ...]

    def make_plans(self, client: int) -> dict[str, Plan]:
        """One client's plans, by name."""
        talks = self.conversations[client]
        plans: dict[str, Plan] = {
            f"{OWN_STORES} at {SMALL}": Update(self.own[client], client),
            f"{MODEL_REQUEST} at {CONVERSATIONS}": Recall(talks),
            f"{SELECTION} at {CONVERSATIONS}": Select(talks),
            f"{SAVE} at {CONVERSATIONS}": Save(talks),
        }
        for size, target in self.stores.items():
            create = Create(self.roomy[size], client)
            plans |= {
                f"get at {size}": Get(target, client),
                f"update at {size}": Update(target, client),
                f"list at {size}": ListPage(target, client),
                f"search at {size}": Search(target, client),
                f"create at {size}": create,
                f"delete at {size}": Delete(create),
            }
        return plans

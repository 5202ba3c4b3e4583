"""Long records of a recall benchmark: the turns of a conversation joined, as messages of an application are long."""

from dataclasses import replace

from tools.bench.recall_data import Conversation, Question, Turn

LENGTH_MAX = 2_000  # characters


def join_turns(conversations: list[Conversation]) -> Conversation:
    """All in one scope, cut where a session ends. What holds an evidence is evidence."""
    joined: list[Turn] = []
    holders: dict[str, str] = {}
    for turn in (turn for one in conversations for turn in one.turns):
        line = f"{turn.author}: {turn.text}"
        last = joined[-1] if joined else None
        if last and last.thread == turn.thread and len(last.text) + len(line) < LENGTH_MAX:
            joined[-1] = replace(last, text=f"{last.text}\n{line}")
        else:
            joined.append(replace(turn, name=f"long-{len(joined)}", author="", text=line))
        holders[turn.name] = joined[-1].name
    questions = [_ask_of(question, holders) for one in conversations for question in one.questions]
    return Conversation("long", joined, [question for question in questions if question.evidence])


def _ask_of(question: Question, holders: dict[str, str]) -> Question:
    return replace(
        question, evidence=frozenset(holders[name] for name in question.evidence if name in holders)
    )

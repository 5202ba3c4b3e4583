"""The REST door of an agent: four calls, and nothing else of an authority."""

from typing import Any

from authority import agent, authorities
from authority.canonical import parse
from authority.limits import NOMINATE_REQUEST_BYTES_MAX, QUERY_REQUEST_BYTES_MAX, REMEMBER_BYTES_MAX
from authority.views import JSON_TYPE, AuthorityView, read_json
from memoryhub.actors import Actor
from memoryhub.api import operation

type Values = dict[str, Any]


class Remember(AuthorityView):
    @operation("authorities.remember", "Commit records to the working memory", raw_body=JSON_TYPE)
    def post(self, authority_id: str, *, actor: Actor) -> Values:
        value = self.read(actor, "The memory remember request", REMEMBER_BYTES_MAX)
        return agent.remember(authority_id, value, actor=actor).wire

    def read(self, actor: Actor, label: str, bytes_max: int) -> Any:
        authorities.get_authority(self.kwargs["authority_id"], actor=actor)
        return read_json(self.request, label=label, bytes_max=bytes_max)


class Query(Remember):
    @operation("authorities.query", "Ask a named program of both memories", raw_body=JSON_TYPE)
    def post(self, authority_id: str, *, actor: Actor) -> Values:
        value = self.read(actor, "The parameterized memory query", QUERY_REQUEST_BYTES_MAX)
        return agent.query_memory(authority_id, value, actor=actor)


class Explain(Remember):
    @operation("authorities.explain", "Say what a row of a result rests on", raw_body=JSON_TYPE)
    def post(self, authority_id: str, *, actor: Actor) -> Values:
        value = self.read(actor, "The V2 memory explanation request", QUERY_REQUEST_BYTES_MAX)
        return agent.explain(authority_id, value, actor=actor)


class Nominate(Remember):
    @operation("authorities.nominate", "Propose working records for review", raw_body=JSON_TYPE)
    def post(self, authority_id: str, *, actor: Actor) -> Values:
        value = self.read(actor, "The memory nomination request", NOMINATE_REQUEST_BYTES_MAX)
        wire: Values = parse(agent.nominate(authority_id, value, actor=actor).text)
        return wire

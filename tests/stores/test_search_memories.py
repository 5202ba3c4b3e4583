from typing import Any

import pytest

from memoryhub.pagination import FULL_VIEW_LIMIT_MAX
from memoryhub.ranking import QUERY_LENGTH_MAX, QUERY_LEXEMES_MAX
from tests.stores.searching import ENVIRONMENT_URL, doors, find, paths, search_url
from tests.stores.shelf import Shelf
from tests.world import Caller


def test_every_door_gives_the_same_page(call: Caller, shelf: Shelf) -> None:
    memory = shelf.put("/notes/zebra.md", "On Friday the zebras left.")
    shelf.put("/other.md", "nothing")
    first, *others = doors(call, shelf, "zebra")
    item = first.body["data"][0]
    score = item.pop("score")
    assert score > 0
    snippet = {
        "text": "On Friday the zebras left.",
        "offset": 0,
        "highlights": [{"start": 14, "end": 20}],
    }
    got = call("GET", shelf.memory_url(memory), query={"view": "basic"}).body
    assert first.body == {"data": [{**got, "snippet": snippet}], "has_more": False, "next_page": None}
    for answer in others:
        assert answer.body["data"][0].pop("score") == pytest.approx(score)
        assert answer.body == first.body


NAMES = {
    "parse_config_file": ["parse the config file, then parse a file of config", "config file parse"],
    "parseConfigFile": ["parse config, config file, parse file", "file config parse"],
    "well-known": ["well well known known", "known as well"],
    "src/app/main.py": ["the app of src has a main in py", "main app src py main"],
    "main.py": ["main py main py main", "py main"],
    "ann.lee@example.com": ["ann lee example com ann lee", "lee of ann, com example"],
    "docs.example.com": ["docs example com docs com", "example docs com"],
    "0192f0e7-5b1c-7d2e": ["7d2e 5b1c 0192f0e7 7d2e", "5b1c 7d2e 0192f0e7"],
    "v1.2.3": ["v1 2 3 3 2", "2 3 v1"],
    "検索": ["全文の検品と探索", "索引"],
    "東京": ["東の京", "京都の東"],
    "HTTPServer": ["http server http server", "server http"],
}


@pytest.mark.parametrize("name", NAMES)
def test_an_exact_name_is_found_first(call: Caller, shelf: Shelf, name: str) -> None:
    for index, text in enumerate(NAMES[name]):
        shelf.put(f"/decoy{index}.md", text)
    shelf.put(
        "/exact.md", f"A longer note with many other words of prose; it names ({name}) once. " + "hay " * 40
    )
    for index, text in enumerate(NAMES[name]):
        shelf.put(f"/later{index}.md", text)
    assert find(call, shelf, name)[0] == "/exact.md"


def test_the_words_of_a_path_are_found_and_count_twice(call: Caller, shelf: Shelf) -> None:
    shelf.put("/src/app/main.py", "pass and more hay")
    shelf.put("/notes.md", "main and more hay")
    assert find(call, shelf, "main") == ["/src/app/main.py", "/notes.md"]
    assert find(call, shelf, "main.py")[0] == "/src/app/main.py"
    assert find(call, shelf, "app/main.py")[0] == "/src/app/main.py"


def test_stems_case_and_accents_do_not_matter(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "Crèmes BRÛLÉES were deployed")
    for query in ("creme brulee", "CRÈME", "deploying", "cre\u0300me"):
        assert find(call, shelf, query) == ["/a.md"], query


def test_any_word_of_a_sentence_is_enough(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "The deployment window is on Friday.")
    assert find(call, shelf, "when may I deploy the new billing service?") == ["/a.md"]
    assert find(call, shelf, "zebra") == []


@pytest.mark.parametrize("query", ["who am I?", "the", "?!", "🙂"])
def test_a_query_without_a_word_to_look_for_gives_the_newest(call: Caller, shelf: Shelf, query: str) -> None:
    for path in ("/1.md", "/2.md", "/3.md"):
        shelf.put(path)
    answer = call("POST", search_url(shelf), {"query": query, "limit": 2})
    assert paths(answer) == ["/3.md", "/2.md"]
    assert [item["score"] for item in answer.body["data"]] == [0, 0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("alpha beta", {"/both.md", "/phrase.md"}),
        ('"alpha beta"', {"/phrase.md"}),
        ("alpha -beta", {"/alpha.md"}),
        ("-beta", {"/alpha.md", "/file.md"}),
        ("gamma or zebra or main.py", {"/file.md"}),
        ("app/main.py", {"/file.md"}),
        ('alpha -"alpha beta"', {"/alpha.md", "/both.md"}),
        ("alpha zebra", set()),
        ('"the"', {"/alpha.md", "/both.md", "/phrase.md", "/file.md"}),
    ],
)
def test_operators_are_asked_for_and_strict(call: Caller, shelf: Shelf, query: str, found: set[str]) -> None:
    shelf.put("/alpha.md", "alpha")
    shelf.put("/both.md", "beta then alpha")
    shelf.put("/phrase.md", "an alpha beta test")
    shelf.put("/file.md", "see src/app/main.py now")
    assert set(find(call, shelf, query, mode="operators")) == found


def test_in_words_mode_operators_are_text(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "alpha")
    assert find(call, shelf, "-alpha") == ["/a.md"]


def test_a_path_prefix_confines_the_search_and_its_counts(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a/1.md", "zebra hay")
    shelf.put("/a/b/2.md", "zebra straw")
    shelf.put("/ab/3.md", "zebra")
    found = call("POST", search_url(shelf), {"query": "zebra", "path_prefix": "/a/"})
    assert set(paths(found)) == {"/a/1.md", "/a/b/2.md"}
    for number in range(5):
        shelf.put(f"/ab/more{number}.md", "zebra zebra " + "x " * 50)
    assert call("POST", search_url(shelf), {"query": "zebra", "path_prefix": "/a/"}).body == found.body
    assert set(paths(call("POST", ENVIRONMENT_URL, {"query": "zebra", "path_prefix": "/a/"}))) == set(
        paths(found)
    )
    assert call("POST", search_url(shelf), {"query": "zebra", "path_prefix": "/a"}).status == 400


def test_the_marks_stand_where_the_words_are(call: Caller, shelf: Shelf) -> None:
    content = "hay " * 400 + "🙂 the Zébra ran; zebras run. " + "hay " * 400
    shelf.put("/a.md", content)
    snippet = call("POST", search_url(shelf), {"query": "running zebra"}).body["data"][0]["snippet"]
    text = snippet["text"]
    assert content[snippet["offset"] :].startswith(text)
    shown = [text[mark["start"] : mark["end"]] for mark in snippet["highlights"]]
    assert shown == ["Zébra", "zebras", "run"]  # `ran` has another stem


def test_markup_in_a_memory_stays_text(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "<b>zebra</b> & <script>alert(1)</script>")
    snippet = call("POST", search_url(shelf), {"query": "zebra script"}).body["data"][0]["snippet"]
    assert snippet["text"] == "<b>zebra</b> & <script>alert(1)</script>"


def test_the_full_view_holds_the_content_and_at_most_20_items(call: Caller, shelf: Shelf) -> None:
    for number in range(FULL_VIEW_LIMIT_MAX + 1):
        shelf.put(f"/{number}.md", f"zebra {number}")
    full = call("POST", search_url(shelf), {"query": "zebra", "view": "full", "limit": 100}).body["data"]
    assert len(full) == FULL_VIEW_LIMIT_MAX
    assert all(item["content"].startswith("zebra") for item in full)
    basic = call("POST", search_url(shelf), {"query": "zebra", "limit": 100}).body["data"]
    assert len(basic) == FULL_VIEW_LIMIT_MAX + 1
    assert all(item["content"] is None for item in basic)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "x" * (QUERY_LENGTH_MAX + 1)},
        {"query": 5},
        {"query": "x\u0000"},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 101},
        {"query": "x", "mode": "regex"},
        {"query": "x", "page": "page_x"},
        {"query": " ".join(f"w{n}" for n in range(QUERY_LEXEMES_MAX + 1)), "mode": "operators"},
    ],
)
def test_a_malformed_search_is_refused(call: Caller, shelf: Shelf, body: dict[str, Any]) -> None:
    for url in (search_url(shelf), ENVIRONMENT_URL):
        answer = call("POST", url, body)
        assert (answer.status, answer.error_type) == (400, "invalid_request_error")


def test_a_search_at_its_limits_is_answered(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md", "w0 w63 w64")
    assert find(call, shelf, "w0" + " " * (QUERY_LENGTH_MAX - 2)) == ["/a.md"]
    at_most = " or ".join(f"w{n}" for n in range(QUERY_LEXEMES_MAX))
    assert find(call, shelf, at_most, mode="operators", limit=100) == ["/a.md"]


def test_words_beyond_the_64th_do_not_count(call: Caller, shelf: Shelf) -> None:
    shelf.put("/last.md", f"w{QUERY_LEXEMES_MAX - 1}")
    shelf.put("/past.md", f"w{QUERY_LEXEMES_MAX}")
    assert find(call, shelf, " ".join(f"w{n}" for n in range(QUERY_LEXEMES_MAX + 1))) == ["/last.md"]


def test_a_list_with_a_query_takes_neither_page_nor_depth(call: Caller, shelf: Shelf) -> None:
    for more in ({"page": "page_x"}, {"depth": "1"}):
        assert call("GET", shelf.memories_url, query={"query": "x", **more}).status == 400
    assert call("GET", shelf.memories_url, query={"query": "x", "depth": "0"}).status == 200


def test_an_empty_query_is_a_plain_list(call: Caller, shelf: Shelf) -> None:
    shelf.put("/a.md")
    assert "score" not in call("GET", shelf.memories_url, query={"query": ""}).body["data"][0]

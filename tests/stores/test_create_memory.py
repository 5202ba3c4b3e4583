from tests.world import Caller


def test_a_memory_comes_back_byte_for_byte(call: Caller, store_id: str) -> None:
    made = call(
        "POST", f"/v1/memory_stores/{store_id}/memories", {"path": "/a/b.md", "content": "  héllo\r\n"}
    )
    assert made.status == 200, made.body
    got = call("GET", f"/v1/memory_stores/{store_id}/memories/{made.body['id']}")
    assert got.body["content"] == "  héllo\r\n"
    assert got.body["content_sha256"] == made.body["content_sha256"]

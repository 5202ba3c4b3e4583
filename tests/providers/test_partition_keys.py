"""The vectors of the contract, section 5."""

from uuid import UUID

import pytest

from providers.partition_keys import partition_key

KEY = bytes(range(32))
PROJECT = UUID("11111111-1111-4111-8111-111111111111")
SECOND = UUID("22222222-2222-4222-8222-222222222222")
THIRD = UUID("33333333-3333-4333-8333-333333333333")


@pytest.mark.parametrize(
    ("environment_id", "resource_id", "namespace_id", "digest"),
    [
        (SECOND, "knowledge", "owner", "GdIrI0tjYUhSg4f4Lvtey5hCUhxdMmlw19SjIifY8GQ"),
        (THIRD, "knowledge", "owner", "iWXRtUkgWrmoNXYtmsCvu8TzMdiHI4z8l32Eki66_uA"),
        (SECOND, "knowledge", "owner-2", "j3UTB9SAIF_ezTr3xaaWe3KU4sAXpS_Yxeit3tT4E8Q"),
        (SECOND, "knowledgeo", "wner", "DKBUVsvU25Nn5XNK4WoSOOzUopfeynhUVJLpKXcbg_8"),
    ],
    ids=["plain", "another environment", "another namespace", "another cut"],
)
def test_a_partition_key_is_that_of_the_contract(
    environment_id: UUID, resource_id: str, namespace_id: str, digest: str
) -> None:
    found = partition_key(
        KEY,
        project_id=PROJECT,
        environment_id=environment_id,
        resource_id=resource_id,
        namespace_id=namespace_id,
    )
    assert found == f"ocmem_v1_{digest}"

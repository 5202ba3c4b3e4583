"""How a request is signed, against the specification's own vector and an implementation that is not ours."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook as Verifier
from standardwebhooks import WebhookVerificationError

from memoryhub.webhook_signing import new_secret, sign, signed_headers

# Source: the Standard Webhooks specification and the tests of its reference libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_vector_of_the_specification() -> None:
    assert sign(MESSAGE, 1_614_265_330, BODY, SECRET) == SIGNATURE


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5))
def test_another_implementation_verifies_it(payload: dict[str, str]) -> None:
    body, secret = json.dumps(payload, ensure_ascii=False).encode(), new_secret()
    headers = signed_headers("notice_1", int(time.time()), body, [secret])
    assert Verifier(secret).verify(body, headers) == payload


def test_while_a_secret_is_rotated_either_of_the_two_verifies() -> None:
    old, new = new_secret(), new_secret()
    headers = signed_headers("notice_1", int(time.time()), BODY, [new, old])
    for secret in (old, new):
        Verifier(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(new_secret()).verify(BODY, headers)


@pytest.mark.parametrize("part", ["webhook-id", "webhook-timestamp", "body"])
def test_whatever_is_changed_on_the_way_is_found(part: str) -> None:
    secret, body = new_secret(), BODY
    headers = signed_headers("notice_1", int(time.time()), body, [secret])
    if part == "body":
        body = BODY.replace(b"4", b"5")
    else:
        headers[part] = headers[part][:-1] + ("1" if headers[part][-1] != "1" else "2")
    with pytest.raises(WebhookVerificationError):
        Verifier(secret).verify(body, headers)


def test_secrets_are_long_and_each_is_another() -> None:
    secrets = {new_secret() for _ in range(100)}
    assert len(secrets) == 100 and all(len(secret) == len("whsec_") + 44 for secret in secrets)

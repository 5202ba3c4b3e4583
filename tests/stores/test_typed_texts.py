"""A text goes through a text area and back: what was not touched stays as it was, to the byte."""

from hypothesis import example, given
from hypothesis import strategies as st

from stores.typed_texts import as_typed, restore_ends

hostile = st.text(
    alphabet=st.sampled_from("ab \t\r\n\x0b\x0c\x1b\x85\u2028\u2029\u202e\u200b\ufeffé<&\0"), max_size=40
)


@given(hostile)
@example("\r\n\r\r\n\n")
@example("\n\nleading")
@example("no end")
def test_an_untouched_text_is_the_same(text: str) -> None:
    typed = as_typed(text)
    assert "\r" not in typed
    assert restore_ends(text, typed) == text


@given(hostile, hostile)
def test_nothing_but_ends_of_lines_is_added(base: str, wanted: str) -> None:
    typed = as_typed(wanted)
    assert as_typed(restore_ends(base, typed)) == typed
    if "\r" not in base:
        assert restore_ends(base, typed) == typed


def test_lines_that_were_kept_keep_their_ends_and_new_ones_get_the_usual() -> None:
    base = "one\r\ntwo\nthree\r\nfour\rfive"
    assert (
        restore_ends(base, "one\nnew\ntwo\nthree\nfour\nfive\n")
        == "one\r\nnew\r\ntwo\nthree\r\nfour\rfive\r\n"
    )

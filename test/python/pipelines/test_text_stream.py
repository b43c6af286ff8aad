# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams of text: characters stay whole, stop strings are found wherever the pieces end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvern.pipelines.text_stream import StopMatcher, TextStream


@given(st.binary(max_size=30), st.lists(st.integers(1, 3), max_size=30))
def test_pieces_decode_like_the_whole(data: bytes, sizes: list[int]):
    pieces, at = [], 0
    for size in [*sizes, len(data) or 1]:
        pieces.append(data[at : at + size])
        at += size
    stream = TextStream(lambda token: pieces[token])
    text = "".join([*(stream.push(i) for i in range(len(pieces))), stream.finish()])
    assert text == data.decode("utf-8", errors="replace")


def test_a_character_in_four_tokens_comes_whole():
    data = "🙂".encode()
    stream = TextStream(lambda token: data[token : token + 1])
    assert [stream.push(i) for i in range(4)] == ["", "", "", "🙂"]
    assert stream.finish() == ""


def test_what_is_left_of_a_character_is_shown_at_the_end():
    stream = TextStream(lambda token: "é".encode()[:1])
    assert (stream.push(0), stream.finish()) == ("", "\ufffd")


def test_only_the_first_space_is_stripped():
    stream = TextStream(lambda token: b" a", strip_space=True)
    assert [stream.push(0), stream.push(0)] == ["a", " a"]


@given(st.text("abc", max_size=20), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_stops_end_the_text_however_it_is_cut(text: str, stops: list[str]):
    found = [at for at in (text.find(stop) for stop in stops) if at >= 0]
    for size in (1, 2, 3, 20):
        matcher, shown, stopped = StopMatcher(stops), "", False
        for at in range(0, len(text), size):
            piece, stopped = matcher.push(text[at : at + size])
            shown += piece
            # Nothing is shown that could still be part of a stop string.
            assert not any(shown.endswith(stop) for stop in stops)
            if stopped:
                break
        assert stopped == bool(found)
        if stopped and size == 1:
            # One by one, the string whose end comes first is found.
            ends = [text.find(stop) + len(stop) for stop in stops if stop in text]
            assert text[: min(ends)].startswith(shown)
        elif stopped:
            assert text.startswith(shown)
        else:
            assert shown + matcher.finish() == text


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["Hello ", "STO", "P there"], ["Hello ", "", ""]),
        (["Hello ", "STO", "CK"], ["Hello ", "", "STOCK"]),
        (["S", "S", "T", "OP"], ["", "S", "", ""]),
        (["aSTOPb"], ["a"]),
    ],
)
def test_a_prefix_of_a_stop_is_held_back(pieces: list[str], shown: list[str]):
    matcher = StopMatcher(["STOP"])
    assert [matcher.push(piece)[0] for piece in pieces] == shown

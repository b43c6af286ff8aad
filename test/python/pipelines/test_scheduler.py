# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scheduler over a real cache, without a model: every request ends, in any mix, and no page is lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kvern.dtype import DType
from kvern.errors import InputError, InsufficientBlocksError
from kvern.graph import DeviceRef
from kvern.kv_cache import PagedKVCacheManager, TextContext
from kvern.nn.kv_cache import MHAKVCacheParams
from kvern.pipelines.scheduler import Scheduler

PAGE = 4


@dataclass(eq=False)
class Request:
    """A prompt and the number of tokens that follow it."""

    name: int
    prompt: list[int]
    new: int
    generated: list[int] = field(default_factory=list)
    context: Any = None
    steps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.context = TextContext(self.name, [*self.prompt, *self.generated])


def cache(pages: int, batch: int = 4, caching: bool = False) -> PagedKVCacheManager:
    params = MHAKVCacheParams(
        dtype=DType.float32,
        n_kv_heads=1,
        head_dim=8,
        num_layers=1,
        devices=[DeviceRef.CPU()],
        page_size=PAGE,
        enable_prefix_caching=caching,
    )
    return PagedKVCacheManager(
        params, None, pages, max_batch_size=batch, enable_runtime_checks=True
    )


def scheduler(manager: PagedKVCacheManager, tokens: int = 8, batch: int = 4) -> Scheduler:
    return Scheduler(manager, InsufficientBlocksError, max_batch_size=batch, max_step_tokens=tokens)


def step(made: Scheduler, manager: PagedKVCacheManager, number: int = 0) -> list[Request]:
    """What a step of a model does to its requests."""
    batch = made.schedule()
    if not batch:
        return batch
    assert sum(lengths(batch).values()) <= made._max_step_tokens
    assert len(batch) <= made._max_batch_size
    contexts = [request.context for request in batch]
    manager.runtime_inputs([contexts])
    for request in batch:
        context = request.context
        done = context.processed_length + context.active_length == len(context.tokens)
        token = len(request.generated) if done else None
        context.update(token)
        if done:
            request.generated.append(token)
            request.steps.append(number)
    manager.step([contexts])
    for request in batch:
        if len(request.generated) == request.new:
            made.remove(request)
    return batch


def lengths(batch: list[Request]) -> dict[int, int]:
    return {request.name: request.context.active_length for request in batch}


def test_prompts_come_in_parts_while_others_decode():
    manager = cache(16)
    made = scheduler(manager, tokens=8)
    short, long = Request(0, [1, 2], 9), Request(1, [3] * 20, 1)
    made.add(short)
    step(made, manager)
    made.add(long)
    seen = []
    while batch := made.schedule():
        seen.append(lengths(batch))
        for request in batch:
            context = request.context
            done = context.processed_length + context.active_length == len(context.tokens)
            context.update(7 if done else None)
            if done and request is long:
                made.remove(long)
        if long not in made.running:
            break
    assert seen == [{0: 1, 1: 7}, {0: 1, 1: 7}, {0: 1, 1: 6}]


def test_a_request_joins_and_another_leaves():
    manager = cache(16, batch=2)
    made = scheduler(manager, batch=2)
    requests = [Request(i, [1] * (i + 1), 2 + i) for i in range(3)]
    for request in requests:
        made.add(request)
    members = [{r.name for r in batch} for batch in iter(lambda: step(made, manager), [])]
    # The third one waits for the first one's place.
    assert members == [{0, 1}, {0, 1}, {1, 2}, {2}, {2}, {2}]
    assert manager.get_num_used_pages() == 0


def test_the_last_one_makes_room():
    manager = cache(3)
    made = scheduler(manager)
    first, last = Request(0, [1] * 4, 8), Request(1, [2] * 4, 4)
    made.add(first)
    made.add(last)
    number = 0
    while step(made, manager, number):
        number += 1
    assert (len(first.generated), len(last.generated)) == (8, 4)
    assert first.steps == list(range(8))
    assert made.num_preemptions == 1
    # It came back once there was room for good: nothing is computed over and over.
    assert last.generated == [0, 1, 2, 3]
    assert manager.get_num_used_pages() == 0


def test_a_request_that_does_not_fit_alone_is_told_why():
    manager = cache(2)
    made = scheduler(manager)
    made.add(Request(0, [1] * 9, 1))
    with pytest.raises(InsufficientBlocksError, match="need 3 pages"):
        made.schedule()
    assert (made.waiting, made.running) == (made.waiting.__class__(), [])
    made.add(Request(1, [1] * 8, 1))
    assert lengths(step(made, manager)) != {}
    assert manager.get_num_used_pages() == 0


def test_cancelled_requests_give_their_pages_back():
    manager = cache(8)
    made = scheduler(manager)
    running, waiting = Request(0, [1] * 4, 9), Request(1, [1] * 40, 9)
    made.add(running)
    made.add(waiting)
    step(made, manager)
    assert manager.get_num_used_pages() == 1
    for request in (running, waiting, running):
        made.remove(request)
    assert manager.get_num_used_pages() == 0
    assert step(made, manager) == []


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 12)), min_size=1, max_size=8),
    st.integers(8, 20),
    st.integers(4, 30),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_every_request_ends(
    sizes: list[tuple[int, int]], pages: int, tokens: int, caching: bool, random: Any
):
    manager = cache(pages, caching=caching)
    made = scheduler(manager, tokens)
    # Some prompts begin alike.
    requests = [
        Request(i, [i % 2] * (prompt - 1) + [i], new) for i, (prompt, new) in enumerate(sizes)
    ]
    cancelled = set()
    left = list(requests)
    for number in range(2000):
        while left and random.random() < 0.3:
            made.add(left.pop(0))
        if random.random() < 0.02:
            victim = random.choice(requests)
            if victim not in left:
                cancelled.add(victim.name)
                made.remove(victim)
        batch = step(made, manager, number)
        if not batch and not left:
            break
    for request in requests:
        if request.name not in cancelled:
            assert request.generated == list(range(request.new))
    assert manager.get_num_used_pages() == 0


def test_limits():
    manager = cache(1)
    with pytest.raises(InputError, match="expected max_batch_size >= 1, but got 0"):
        scheduler(manager, batch=0)
    with pytest.raises(InputError, match=r"at least max_batch_size \(4\), but got 3"):
        scheduler(manager, tokens=3)

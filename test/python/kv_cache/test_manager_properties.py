# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Any interleaving of what a manager can do equals a naive cache; no page is lost; what fails changes nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kv_cache.naive import naive_cache, run_step, small_params
from kvern.errors import InsufficientBlocksError
from kvern.kv_cache import PagedKVCacheManager, TextContext, _prefix

PAGES = 10
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "prefix": {"enable_prefix_caching": True},
    "sha256": {"enable_prefix_caching": True, "kv_hash_algo": "sha256", "kv_hash_seed": 7},
    "host": {"enable_prefix_caching": True, "host": 4},
    "window": {"window": 6},
    "window, prefix, host": {"enable_prefix_caching": True, "host": 4, "window": 5},
    "window of one": {"enable_prefix_caching": True, "window": 1},
    "page of one": {"enable_prefix_caching": True, "page_size": 1, "host": 2},
    "replicas": {"enable_prefix_caching": True, "replicas": 2, "host": 3},
    "apart": {
        "enable_prefix_caching": True,
        "replicas": 2,
        "enable_dp_cross_replica_prefix_copy": False,
    },
    "replicas, window": {"enable_prefix_caching": True, "replicas": 2, "window": 6},
}

# Few different tokens, so that requests begin alike.
PROMPTS = st.lists(st.integers(0, 1), min_size=1, max_size=14)
NUMBER = st.integers(0, 30)
ACTIONS = st.one_of(
    st.tuples(st.just("new"), PROMPTS, NUMBER),
    st.tuples(st.just("again"), NUMBER, PROMPTS),
    *[st.tuples(st.just("run"), st.lists(NUMBER, min_size=1, max_size=4), st.integers(0, 6))] * 4,
    st.tuples(st.just("fork"), NUMBER, NUMBER),
    *[st.tuples(st.just("release"), NUMBER, NUMBER)] * 2,
    st.tuples(st.just("rewind"), NUMBER, NUMBER),
    st.tuples(st.just("reset"), NUMBER, NUMBER),
)
PROGRAMS = st.lists(ACTIONS, min_size=15, max_size=60)


class Machine:
    """A manager with its requests."""

    def __init__(
        self, host: int = 0, window: int | None = None, replicas: int = 1, **options: Any
    ) -> None:
        self.window, self.replicas = window, replicas
        self.manager = PagedKVCacheManager(
            small_params(replicas, **options),
            None,
            PAGES,
            host,
            True,
            max_batch_size=3,
            window=window,
        )
        self.contexts: list[tuple[TextContext, int]] = []
        self.prompts: list[list[int]] = [[0]]
        self.count = 0

    def new(self, prompt: list[int], replica: int) -> None:
        replica %= self.replicas
        self.prompts.append(prompt)
        self.manager.claim(self.count, replica)
        self.contexts.append((TextContext(self.count, prompt), replica))
        self.count += 1

    def again(self, which: int, more: list[int]) -> None:
        self.new(self.prompts[which % len(self.prompts)] + more, which)

    def fork(self, which: int, _: int) -> None:
        if self.contexts:
            context, replica = self.contexts[which % len(self.contexts)]
            self.manager.fork(context.request_id, self.count, replica)
            self.contexts.append((context.fork(self.count), replica))
            self.count += 1

    def release(self, which: int, _: int) -> None:
        if self.contexts:
            context, replica = self.contexts.pop(which % len(self.contexts))
            self.manager.release(context.request_id, replica)

    def rewind(self, which: int, by: int) -> None:
        """The next steps compute tokens again, as those of a rejected draft."""
        if self.contexts and self.window is None:
            context, _ = self.contexts[which % len(self.contexts)]
            context.processed_length = max(0, context.processed_length - by % 6)

    def reset(self, number: int, _: int) -> None:
        if number % 4 == 0:
            self.manager.reset_prefix_cache()

    def run(self, which: list[int], chunk: int) -> None:
        batches: list[list[TextContext]] = [[] for _ in range(self.replicas)]
        for number in dict.fromkeys(w % len(self.contexts) for w in which if self.contexts):
            context, replica = self.contexts[number]
            if len(batches[replica]) == 3:
                continue
            left = len(context.tokens) - context.processed_length
            if chunk and chunk < left:
                context.active_length = chunk
            before = self.state(context)
            try:
                self.manager.alloc(context, replica)
            except InsufficientBlocksError:
                assert self.state(context) == before
            else:
                assert context.active_length >= 1
                batches[replica].append(context)
        run_step(self.manager, batches, self.window)
        for batch in batches:
            for context in batch:
                last = context.processed_length + context.active_length == len(context.tokens)
                # Forks that begin alike go on differently.
                hashed = int(naive_cache([*context.tokens, context.request_id])[-1])
                context.update(hashed % 2 if last else None)
        self.manager.step(batches)

    def state(self, context: TextContext) -> Any:
        return (
            context.processed_length,
            self.manager.metrics,
            [
                (
                    [
                        (s.request_id, list(s.pages), s.reserved, s.named)
                        for s in r.sequences.values()
                    ],
                    list(r.pool.free),
                    list(r.pool.evictable),
                    list(r.pool.users),
                    len(r.index),
                    r.host.num_used,
                )
                for r in self.manager._replicas
            ],
        )

    def check(self) -> None:
        for replica in range(self.replicas):
            used = self.manager.get_num_used_pages(replica)
            assert used + self.manager.get_num_free_pages(replica) == PAGES
            mine = [c for c, r in self.contexts if r == replica]
            blocks = [self.manager.get_req_blocks(c.request_id, replica) for c in mine]
            assert used == len({page for pages in blocks for page in pages})


@pytest.mark.parametrize("name", CONFIGURATIONS)
@given(PROGRAMS)
@settings(max_examples=60)
def test_equals_a_naive_cache(name: str, actions: list[Any]):
    machine = Machine(**CONFIGURATIONS[name])
    for action, *arguments in actions:
        getattr(machine, action)(*arguments)
        machine.check()
    while machine.contexts:
        machine.release(0, 0)
    machine.manager.reset_prefix_cache()
    machine.check()
    for replica in machine.manager._replicas:
        assert sorted(replica.pool.free) == list(range(PAGES))
        assert len(replica.index) == 0 and replica.host.num_used == 0


@given(PROGRAMS)
@settings(max_examples=60)
def test_equal_names_of_different_pages_do_no_harm(actions: list[Any]):
    def two_names(data: bytes) -> bytes:
        return bytes([hashlib.sha256(data).digest()[0] % 2])

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_prefix._HASHES, "ahash64", two_names)
        machine = Machine(enable_prefix_caching=True, host=3, replicas=2)
        for action, *arguments in actions:
            getattr(machine, action)(*arguments)
            machine.check()

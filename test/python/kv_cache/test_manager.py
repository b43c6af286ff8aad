# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a manager does, case by case, and what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from kv_cache.naive import advance, run_step, small_params
from kvern.errors import (
    InputError,
    InputTypeError,
    InsufficientBlocksError,
    KVCacheError,
    UnsupportedError,
)
from kvern.kv_cache import (
    DummyKVCache,
    PagedKVCacheManager,
    TextContext,
    load_kv_manager,
    plan_memory,
)
from kvern.nn.kv_cache import (
    KVCacheMetrics,
    KVConnectorType,
    MultiKVCacheInputs,
    MultiKVCacheParams,
)


def make(pages: int = 8, host: int = 0, window: int | None = None, batch: int = 4, **options):
    params = small_params(**options)
    return PagedKVCacheManager(params, None, pages, host, True, max_batch_size=batch, window=window)


def cached(**options):
    return make(enable_prefix_caching=True, **options)


def request(manager: PagedKVCacheManager, name: str, tokens, replica: int = 0) -> TextContext:
    manager.claim(name, replica)
    return TextContext(name, tokens)


def test_pages_of_a_request():
    manager = make()
    context = request(manager, "a", range(6))
    assert manager.contains("a") and not manager.contains("b")
    advance(manager, context, 9)
    assert manager.get_req_blocks("a") == [0, 1]
    assert (manager.get_num_pages(), manager.get_num_used_pages()) == (8, 2)
    for token in range(3):
        advance(manager, context, token)
    assert len(manager.get_req_blocks("a")) == 3
    assert context.tokens.tolist() == [0, 1, 2, 3, 4, 5, 9, 0, 1, 2]
    manager.release("a")
    assert manager.get_num_free_pages() == 8 and not manager.contains("a")


def test_inputs_stay_where_they_are():
    manager = make()
    contexts = [request(manager, name, [1, 2, 3]) for name in "ab"]
    for context in contexts:
        manager.alloc(context)
    first = manager.runtime_inputs([contexts])
    assert [leaf.shape for leaf in first.flatten()] == [
        (8, 2, 1, 4, 1, 1),
        (2,),
        (2, 8),
        (1,),
        (1,),
    ]
    assert manager.runtime_inputs([contexts[::-1]]) is first
    assert first.inputs[0].lookup_table.to_numpy()[:, 0].tolist() == [1, 0]
    alone = manager.runtime_inputs([contexts[:1]])
    assert alone.inputs[0].lookup_table.to_numpy()[:, 0].tolist() == [0]


@pytest.mark.parametrize(("length", "hit"), [(1, 0), (4, 0), (5, 4), (8, 4), (9, 8), (16, 12)])
def test_a_second_prompt_has_all_pages_but_the_last_token(length: int, hit: int):
    manager = cached()
    first = request(manager, "a", range(length))
    advance(manager, first)
    second = request(manager, "b", range(length))
    manager.alloc(second)
    assert (second.processed_length, second.active_length) == (hit, length - hit)
    assert manager.get_req_blocks("b")[: hit // 4] == manager.get_req_blocks("a")[: hit // 4]
    assert manager.metrics == KVCacheMetrics(input_tokens=2 * length - hit, cache_tokens=hit)
    manager.reset_metrics()
    assert manager.metrics == KVCacheMetrics()


def test_pages_outlive_their_request_until_they_are_needed():
    manager = cached(pages=4)
    advance(manager, request(manager, "a", range(12)))
    manager.release("a")
    assert manager.get_num_free_pages() == 4
    # The last page goes first, so that what is left can be found.
    advance(manager, request(manager, "b", [7] * 8))
    manager.release("b")
    again = request(manager, "c", range(13))
    manager.alloc(again)
    assert again.processed_length == 8


def test_equal_pages_are_kept_once():
    manager = cached()
    contexts = [request(manager, name, range(6)) for name in "ab"]
    for context in contexts:
        manager.alloc(context)
    assert manager.get_num_used_pages() == 4
    run_step(manager, [contexts])
    for context in contexts:
        context.update(1)
    manager.step([contexts])
    assert manager.get_num_used_pages() == 3
    for context in contexts:
        advance(manager, context, 1)


def test_chunks_of_a_prompt():
    manager = cached()
    advance(manager, request(manager, "a", range(9)))
    context = request(manager, "b", range(15))
    context.active_length = 3
    manager.alloc(context)
    assert (context.processed_length, context.next_tokens.tolist()) == (8, [8, 9, 10])
    run_step(manager, [[context]])
    context.update()
    manager.step([[context]])
    assert context.active_length == 4
    advance(manager, context, 1)


@pytest.mark.parametrize("length", [3, 4, 6])
def test_forks_copy_what_they_write(length: int):
    manager = make()
    first = request(manager, "a", range(length))
    advance(manager, first, 1)
    manager.fork("a", "b")
    second = first.fork("b")
    assert manager.get_req_blocks("a") == manager.get_req_blocks("b")
    second.tokens[-1] = 2
    for context in (first, second):
        advance(manager, context, 5)
    advance(manager, first)
    full = length // 4
    assert manager.get_req_blocks("a")[:full] == manager.get_req_blocks("b")[:full]
    assert manager.get_req_blocks("a")[full] != manager.get_req_blocks("b")[full]
    manager.release("a")
    advance(manager, second, 5)
    manager.release("b")
    assert manager.get_num_free_pages() == 8


def test_a_fork_that_is_alone_writes_in_place():
    manager = make()
    first = request(manager, "a", range(3))
    advance(manager, first, 1)
    manager.fork("a", "b")
    manager.release("a")
    pages = manager.get_req_blocks("b")
    advance(manager, first.fork("b"), 1)
    assert manager.get_req_blocks("b") == pages


def test_tokens_computed_again():
    manager = cached()
    context = request(manager, "a", range(9))
    advance(manager, context, 1)
    context.processed_length = 2
    context.tokens[3:] = 5
    advance(manager, context, 1)
    advance(manager, context, 1)
    same, other = request(manager, "b", range(9)), request(manager, "c", [0, 1, 2] + [5] * 6)
    for each in (same, other):
        advance(manager, each)
    assert manager.metrics.cache_tokens == 16


def test_window():
    manager = make(window=5, pages=3)
    context = request(manager, "a", range(4))
    for _ in range(40):
        advance(manager, context, 1, window=5)
        assert len(manager.get_req_blocks("a")) <= 3
    context.processed_length = 8
    with pytest.raises(KVCacheError, match="expected processed_length to stay within the window"):
        manager.alloc(context)
    manager.release("a")
    assert manager.get_num_free_pages() == 3


def test_pages_move_to_the_host_and_back():
    manager = cached(pages=4, host=8, kv_connector="local", host_kvcache_swap_space_gb=1.0)
    advance(manager, request(manager, "a", range(13)))
    manager.release("a")
    advance(manager, request(manager, "b", [7] * 16))
    manager.release("b")
    assert manager.metrics.d2h_blocks_copied == 3
    assert (manager.get_num_host_pages(), manager.get_num_used_host_pages()) == (8, 3)
    again = request(manager, "a", range(13))
    manager.alloc(again)
    assert (again.processed_length, manager.metrics.h2d_blocks_copied) == (12, 3)
    advance(manager, again, 1)
    # A page that is on the host already is not copied again.
    manager.release("a")
    copied = manager.metrics.d2h_blocks_copied
    advance(manager, request(manager, "c", [3] * 16))
    assert manager.metrics.d2h_blocks_copied == copied
    manager.reset_prefix_cache()
    assert manager.get_num_used_host_pages() == 0


def test_replicas():
    manager = cached(replicas=2)
    advance(manager, request(manager, "a", range(9)))
    context = request(manager, "b", range(9), replica=1)
    advance(manager, context, 1, replica_idx=1)
    assert manager.metrics.cross_replica_blocks_copied == 2 and context.processed_length == 9
    assert manager.get_num_used_pages(0) == manager.get_num_used_pages(1) == 3
    with pytest.raises(
        KVCacheError, match="request 'a': expected a new request, but replica 0 has"
    ):
        manager.claim("a", 1)
    with pytest.raises(InputTypeError, match="expected requests of 2 replicas, but got 1"):
        manager.runtime_inputs([[context]])
    with pytest.raises(InputError, match="expected replica_idx from 0 to 1, but got 2"):
        manager.claim("c", 2)


def test_a_tree_of_caches_has_one_table():
    children = [small_params(enable_prefix_caching=True), small_params(enable_prefix_caching=True)]
    params = MultiKVCacheParams(children, 4, 1, children[0].devices, None, None)
    assert params.bytes_per_block == 2 * children[0].bytes_per_block
    manager = PagedKVCacheManager(params, None, 4, 2, True, max_batch_size=2)
    context = request(manager, "a", range(5))
    manager.alloc(context)
    inputs = manager.runtime_inputs([[context]])
    assert isinstance(inputs, MultiKVCacheInputs)
    first, second = (child.inputs[0] for child in inputs.children)
    first.kv_blocks.to_numpy()[:] = 1
    second.kv_blocks.to_numpy()[:] = 2
    context.update(1)
    manager.step([[context]])
    manager.fork("a", "b")
    manager.alloc(context.fork("b"))
    assert second.kv_blocks.to_numpy()[manager.get_req_blocks("b")].max() == 2
    assert len(manager.pages[0].to_memory()) == 2


@pytest.mark.parametrize("replicas", [1, 2])
def test_plan_equals_what_is_allocated(replicas: int):
    params = small_params(replicas, enable_prefix_caching=True)
    plan = plan_memory(params, 5, 3, max_batch_size=7, max_seq_len=11)
    manager = PagedKVCacheManager(params, None, 5, 3, max_batch_size=7, max_seq_len=11)
    assert plan == manager.memory_plan
    assert plan.total == sum(buffer.to_numpy().nbytes for buffer in manager.buffers)
    assert plan.terms["pages"] == replicas * 5 * 2 * 4 * 4
    assert plan.tokens == 20
    assert re.search(r"^  lookup tables +\d+ B +0.00 MiB$", str(plan), re.MULTILINE)


def test_load_kv_manager():
    params = small_params()
    manager = load_kv_manager(params, 2, 16, None, 100 * params.bytes_per_block)
    assert manager.get_num_pages() == 8 and manager.max_batch_size == 2
    with pytest.warns(UserWarning, match="16 tokens needs 4 pages of 32 bytes, but 96 bytes"):
        assert load_kv_manager(params, 2, 16, None, 96).get_num_pages() == 3
    with pytest.raises(InsufficientBlocksError, match="hold 0 pages"):
        load_kv_manager(params, 2, 16, None, 31)
    local = small_params(
        enable_prefix_caching=True,
        kv_connector=KVConnectorType.local,
        host_kvcache_swap_space_gb=320 / 2**30,
    )
    assert load_kv_manager(local, 2, 16, None, 96 * 32).get_num_host_pages() == 10


def test_insufficient_pages_name_each_term():
    manager = cached(pages=6)
    advance(manager, request(manager, "big", [5] * 12))
    advance(manager, request(manager, "old", range(5)))
    manager.release("old")
    context = request(manager, "new", range(20))
    message = (
        "request 'new': tokens 4 to 20 need 4 pages (4 for new tokens), but 2 of 6 are available: 2 free, 1 "
        "evictable of which the request itself needs 1, 3 in use ('big' 3)"
    )
    with pytest.raises(InsufficientBlocksError, match=re.escape(message)):
        manager.alloc(context)
    assert context.processed_length == 0 and manager.get_num_used_pages() == 3
    manager.release("big")
    advance(manager, context)


def test_refused():
    manager = make(batch=2)
    context = request(manager, "a", [1, 2, 3])
    with pytest.raises(
        KVCacheError, match="request 'a': expected a new request, but replica 0 has it"
    ):
        manager.claim("a")
    with pytest.raises(KVCacheError, match="request 'b': expected a claimed request"):
        manager.alloc(TextContext("b", [1]))
    with pytest.raises(KVCacheError, match="request 'b': expected a claimed request"):
        manager.fork("b", "c")
    with pytest.raises(
        KVCacheError, match=r"expected alloc to give pages for 3 tokens, but .* for 0"
    ):
        manager.runtime_inputs([[context]])
    context.processed_length = 2
    with pytest.raises(KVCacheError, match="at most the 0 tokens that have pages, but got 2"):
        manager.alloc(context)
    with pytest.raises(KVCacheError, match="at most the 0 tokens that have pages, but got 2"):
        manager.step([[context]])
    context.processed_length = 3
    with pytest.raises(KVCacheError, match="expected at least one token to compute"):
        manager.alloc(context)
    context.processed_length = 0
    manager.alloc(context)
    with pytest.raises(InputError, match="expected different requests"):
        manager.runtime_inputs([[context, context]])
    with pytest.raises(KVCacheError, match=r"at most max_batch_size \(2\) requests, but got 3"):
        manager.runtime_inputs([[context, context, context]])
    with pytest.raises(InputTypeError, match="expected a list of requests for each replica"):
        manager.runtime_inputs([context])
    manager.release("a")
    with pytest.raises(KVCacheError, match="request 'a': expected a claimed request"):
        manager.release("a")


def test_refused_sizes():
    params = small_params()
    with pytest.raises(InputError, match="expected total_num_pages >= 1, but got 0"):
        PagedKVCacheManager(params, None, 0, max_batch_size=1)
    with pytest.raises(InputError, match="expected max_batch_size >= 1, but got 0"):
        PagedKVCacheManager(params, None, 1, max_batch_size=0)
    with pytest.raises(InputError, match="expected enable_prefix_caching=True with total_num_host"):
        PagedKVCacheManager(params, None, 1, 1, max_batch_size=1)
    with pytest.raises(InputError, match="expected window >= 1, but got 0"):
        PagedKVCacheManager(params, None, 1, max_batch_size=1, window=0)
    short = PagedKVCacheManager(params, None, 4, max_batch_size=1, max_seq_len=5)
    with pytest.raises(KVCacheError, match=r"at most max_seq_len \(5\) tokens, but got 6"):
        short.claim("a")
        short.alloc(TextContext("a", range(6)))
    two = small_params(2, data_parallel_degree=1, allow_kv_head_replication=True)
    with pytest.raises(UnsupportedError, match="expected one device for each of 1 replicas"):
        PagedKVCacheManager(two, None, 4, max_batch_size=1)


def test_context():
    context = TextContext("a", np.arange(3, dtype=np.int32), max_length=4)
    assert context.tokens.dtype == np.int64 and len(context) == 3
    with pytest.raises(InputError, match="from 1 to the 3 tokens left, but got 4"):
        context.active_length = 4
    context.active_length = 2
    with pytest.raises(InputError, match="expected no token, for 1 tokens are left to compute"):
        context.update(1)
    context.update()
    context.update(7)
    assert (context.processed_length, context.active_length) == (3, 1)
    with pytest.raises(KVCacheError, match="expected at most 4 tokens, but got one more"):
        context.update(8)
    assert context.processed_length == 3
    with pytest.raises(InputError, match="expected processed_length from 0 to 4, but got 5"):
        context.processed_length = 5
    with pytest.raises(InputError, match="expected at least one token"):
        TextContext("a", [])
    with pytest.raises(InputTypeError, match="expected ints, but got float64"):
        TextContext("a", [0.5])
    with pytest.raises(InputError, match="expected at most 2 tokens, but got 3"):
        TextContext("a", [1, 2, 3], 2)


def test_dummy():
    dummy = DummyKVCache(small_params())
    dummy.claim("a")
    assert dummy.contains("a")
    with pytest.raises(KVCacheError, match="expected a new request"):
        dummy.claim("a")
    with pytest.raises(KVCacheError, match="has no pages"):
        dummy.alloc(TextContext("a", [1]))
    with pytest.raises(KVCacheError, match="has no pages"):
        dummy.runtime_inputs([[]])
    dummy.release("a")
    with pytest.raises(KVCacheError, match="expected a claimed request"):
        dummy.release("a")


def test_pages_of_a_whole_prompt_at_once():
    manager = cached(pages=5)
    context = request(manager, "a", range(20))
    manager.alloc(context)
    for _ in range(4):
        context.active_length = 5
        if context.processed_length == 10:
            # Pages that were given stay, also when a step is planned smaller.
            manager.alloc(context)
            assert len(manager.get_req_blocks("a")) == 5
            context.active_length = 10
            manager.alloc(context)
            context.active_length = 5
        run_step(manager, [[context]])
        context.update()
        manager.step([[context]])
    assert context.processed_length == 20


def test_hits_between_chunks():
    manager = cached(pages=12)
    slow, fast = (request(manager, name, range(20)) for name in ("slow", "fast"))
    manager.alloc(slow)
    slow.active_length = 8
    run_step(manager, [[slow]])
    slow.update()
    manager.step([[slow]])
    advance(manager, fast, 1)
    manager.alloc(slow)
    assert (slow.processed_length, manager.get_num_used_pages()) == (16, 6)
    advance(manager, slow, 1)


def test_runtime_checks_name_what_is_wrong():
    manager = make()
    context = request(manager, "a", range(6))
    manager.alloc(context)
    manager._replicas[0].pool.users[1] = 2
    manager._replicas[0].pool.free.pop()
    with pytest.raises(KVCacheError, match="damaged: page 1 has 2 users rather than 1; free and"):
        manager.step([[context]])

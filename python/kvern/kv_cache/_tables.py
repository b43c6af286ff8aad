# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The inputs of steps, in memory that stays where it is.

A row of a table is written again when it belongs to another request than in the step before, or that request got other
pages. In all other steps a sequence costs one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvern.driver import Buffer
from kvern.dtype import DType
from kvern.errors import InputError, KVCacheError
from kvern.kv_cache._context import CacheContext
from kvern.kv_cache._replica import Replica
from kvern.kv_cache._sequence import PageSequence
from kvern.nn.kv_cache import KVCacheAssignment, KVCacheParamInterface

__all__ = ["StepInputs"]


class _Table:
    """The table of a replica."""

    def __init__(self, max_batch_size: int, columns: int) -> None:
        self.lengths = Buffer.zeros([max_batch_size], DType.uint32)
        self.max_lengths = [Buffer.zeros([1], DType.uint32) for _ in range(2)]
        self.lengths_array = self.lengths.to_numpy()
        self.max_arrays = [buffer.to_numpy() for buffer in self.max_lengths]
        self.resize(max_batch_size, columns)

    def resize(self, max_batch_size: int, columns: int) -> None:
        self.columns = columns
        self.table = Buffer.zeros([max_batch_size, columns], DType.uint32)
        self.array = self.table.to_numpy()
        self.owners: list[PageSequence | None] = [None] * max_batch_size
        self.versions = [-1] * max_batch_size

    @property
    def buffers(self) -> list[Buffer]:
        return [self.table, self.lengths, *self.max_lengths]

    def fill(self, batch: Sequence[CacheContext], replica: Replica) -> None:
        longest = most = 0
        lengths, owners, versions, sequences = (
            self.lengths_array,
            self.owners,
            self.versions,
            replica.sequences,
        )
        for row, context in enumerate(batch):
            sequence = sequences.get(context.request_id)
            if sequence is None:
                sequence = replica.sequence(context.request_id)
            start, active = context.processed_length, context.active_length
            if start + active > sequence.reserved:
                raise KVCacheError(
                    f"request {context.request_id!r}: expected alloc to give pages for {start + active} tokens, but "
                    f"there are pages for {sequence.reserved}"
                )
            lengths[row] = start
            if start + active > longest:
                longest = start + active
            if active > most:
                most = active
            if owners[row] is not sequence or versions[row] != sequence.version:
                self.array[row, : len(sequence.pages)] = sequence.pages
                owners[row], versions[row] = sequence, sequence.version
        self.max_arrays[0][0] = most
        self.max_arrays[1][0] = longest

    def assignment(self, batch_size: int) -> KVCacheAssignment:
        return KVCacheAssignment(
            self.lengths[:batch_size], self.table[:batch_size], *self.max_lengths
        )


class StepInputs:
    """The inputs of steps."""

    def __init__(
        self,
        params: KVCacheParamInterface,
        pages: Sequence[Any],
        max_batch_size: int,
        columns: int,
    ) -> None:
        self._params = params
        self._pages = pages
        self.max_batch_size = max_batch_size
        self._tables = [_Table(max_batch_size, columns) for _ in pages]
        self._made: dict[tuple[int, ...], Any] = {}

    @property
    def buffers(self) -> list[Buffer]:
        """All memory."""
        return [buffer for table in self._tables for buffer in table.buffers]

    def fill(self, batches: Sequence[Sequence[CacheContext]], replicas: Sequence[Replica]) -> Any:
        """Returns the inputs of a step; they are the same Buffers each time."""
        for number, (batch, table) in enumerate(zip(batches, self._tables, strict=True)):
            self._check(number, batch)
            self._make_room(table, batch, replicas[number])
            table.fill(batch, replicas[number])
        sizes = tuple(map(len, batches))
        made = self._made.get(sizes)
        if made is None:
            assignments = [
                table.assignment(size) for table, size in zip(self._tables, sizes, strict=True)
            ]
            made = self._params.build_runtime_inputs(assignments, self._pages)
            self._made[sizes] = made
        return made

    def _check(self, number: int, batch: Sequence[CacheContext]) -> None:
        if len(batch) > self.max_batch_size:
            raise KVCacheError(
                f"replica {number}: expected at most max_batch_size ({self.max_batch_size}) requests, but got "
                f"{len(batch)}"
            )
        if len(batch) > 1 and len({context.request_id for context in batch}) < len(batch):
            raise InputError(
                f"replica {number}: expected different requests, but got {[c.request_id for c in batch]}"
            )

    def _make_room(self, table: _Table, batch: Sequence[CacheContext], replica: Replica) -> None:
        """Widens a table. Only requests that give pages back have more pages than the cache."""
        if replica.window is None:
            return
        sequences = (replica.sequence(context.request_id) for context in batch)
        most = max((len(sequence.pages) for sequence in sequences), default=0)
        if most > table.columns:
            table.resize(self.max_batch_size, max(most, 2 * table.columns))
            self._made.clear()

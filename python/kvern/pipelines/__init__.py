# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From checkpoints to text: tokenizers, scheduling, generation."""

from __future__ import annotations

from kvern.pipelines.admission import Prompt
from kvern.pipelines.generation import Generation
from kvern.pipelines.loading import LoadedModel, Progress
from kvern.pipelines.request import (
    FinishReason,
    GenerationResult,
    SamplingParams,
    TokenLogprobs,
)
from kvern.pipelines.steps import Statistics, StepTotals
from kvern.pipelines.text_generation import TextGeneration
from kvern.pipelines.tokenizer import Tokenizer

__all__ = [
    "FinishReason",
    "Generation",
    "GenerationResult",
    "LoadedModel",
    "Progress",
    "Prompt",
    "SamplingParams",
    "Statistics",
    "StepTotals",
    "TextGeneration",
    "TokenLogprobs",
    "Tokenizer",
]

"""Texts: texts with their classes as a data set of token numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset

from qpopt_torch.data.class_names import checked_class_names
from qpopt_torch.errors import LoaderError, shown

PADDING, UNKNOWN = "", "?"
WORD = re.compile(r"\w+|[^\w\s]")


class Texts(Dataset[dict[str, Tensor]]):
    """Texts with their classes, as mappings of `input_ids`, `attention_mask` and `labels`.

    All have the same length, shorter ones are filled up, so any DataLoader puts them into batches.

    Parameters
    ----------
    texts
        The texts.
    labels
        The class of each, as a number.
    tokenizer
        A tokenizer of transformers; without it, words by their numbers, the most frequent first.
    length
        Tokens of a text; what is longer is cut.
    n_words
        Words that have a number of their own, where there is no tokenizer.
    class_names
        Names of the classes.
    like
        Another data set, whose words and length are taken: that of training.

    Attributes
    ----------
    tokens
        What reports need to show a text: the tokenizer, or the words by their numbers.

    Examples
    --------
    >>> import qpopt_torch
    >>> texts = qpopt_torch.Texts(["a small bird sings", "a fish swims"], [0, 1], length=5)
    >>> texts[1]["input_ids"].shape, texts[1]["attention_mask"].tolist()
    (torch.Size([5]), [1, 1, 1, 0, 0])
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Sequence[int],
        *,
        tokenizer: Any = None,
        length: int = 64,
        n_words: int = 10_000,
        class_names: Sequence[str] | None = None,
        like: Texts | None = None,
    ) -> None:
        texts, given = list(texts), list(labels)
        if not texts or len(texts) != len(given):
            raise LoaderError(f"There are {len(texts)} texts and {len(given)} labels.")
        if wrong := [text for text in texts if not isinstance(text, str)]:
            raise LoaderError(f"A text must be a string, not {shown(wrong[0])}.")
        names = checked_class_names(class_names) or (like.class_names if like else None)
        self.class_names: tuple[str, ...] | None = names
        self.length: int = like.length if like else length
        self.labels = torch.tensor([int(label) for label in given])
        tokenizer = tokenizer if like is None or isinstance(like.tokens, list) else like.tokens
        self.tokens: Any
        if tokenizer is not None:
            self.tokens = tokenizer
            found = tokenizer(texts, padding="max_length", truncation=True, max_length=self.length)
            ids, there = found["input_ids"], found["attention_mask"]
        else:
            split = [WORD.findall(text.lower()) for text in texts]
            self.tokens = like.tokens if like else _most_frequent(split, n_words)
            numbers = {word: number for number, word in enumerate(self.tokens)}
            cut = [[numbers.get(word, 1) for word in words[: self.length]] for words in split]
            ids = [row + [0] * (self.length - len(row)) for row in cut]
            there = [[1] * len(row) + [0] * (self.length - len(row)) for row in cut]
        self.input_ids, self.attention_mask = torch.tensor(ids), torch.tensor(there)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> dict[str, Tensor]:
        return {
            "input_ids": self.input_ids[i],
            "attention_mask": self.attention_mask[i],
            "labels": self.labels[i],
        }


def _most_frequent(split: Sequence[Sequence[str]], n_words: int) -> list[str]:
    counts = Counter(word for words in split for word in words)
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    return [PADDING, UNKNOWN, *ranked[: max(0, n_words - 2)]]

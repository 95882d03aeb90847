"""How often a model is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from tqdm import tqdm

from qpopt_torch.data import distributed as ranks
from qpopt_torch.data.batches import batch_count, check_labels, nothing_in, split, to_model
from qpopt_torch.network.observation import evaluating, logits_of


def accuracy(model: nn.Module, loader: Iterable[Any], *, progress: bool = True) -> float:
    """Return the share of samples whose largest logit is that of their class, from 0 to 1.

    Under a torch.distributed group, every rank reads its own loader and gets the share of all.

    Parameters
    ----------
    model
        A classifier; it runs in evaluation mode and is left as it was.
    loader
        Batches of inputs and labels.
    progress
        Whether to show a progress bar on a terminal.
    """
    correct = seen = 0
    quiet = None if progress and ranks.is_first() else True
    bar = tqdm(loader, desc="accuracy", total=batch_count(loader), disable=quiet)
    with evaluating(model), torch.no_grad():
        for number, batch in enumerate(bar):
            x, y = split(batch, number)
            logits = logits_of(model(to_model(x, model)))
            y = check_labels(y, len(x), logits.shape[1], number).to(logits.device)
            correct += int((logits.argmax(1) == y).sum())
            seen += len(x)
    if ranks.active():
        sums = torch.tensor([correct, seen], device=next(model.parameters()).device)
        dist.all_reduce(sums)
        correct, seen = int(sums[0]), int(sums[1])
    if not seen:
        raise nothing_in(loader)
    return correct / seen

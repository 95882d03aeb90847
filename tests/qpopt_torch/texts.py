"""A small text classifier and texts that several tests share."""

import torch
from torch import nn

T, WIDTH, N_CLASSES = 7, 10, 3


class Text(nn.Module):
    """A text classifier; `pooling` says how tokens become features."""

    def __init__(self, pooling: str = "mean"):
        super().__init__()
        torch.manual_seed(0)
        self.pooling = pooling
        self.table = nn.Embedding(30, 6, padding_idx=0)
        self.body = nn.Sequential(nn.Linear(6, WIDTH), nn.Tanh())
        self.pooler, self.drop = nn.Linear(WIDTH, 8), nn.Dropout(0.1)
        n_features = 8 if pooling == "pooler" else WIDTH
        self.fc = nn.Linear(n_features, N_CLASSES)

    def forward(self, input_ids, attention_mask=None):
        tokens = self.body(self.table(input_ids))
        there = input_ids != 0 if attention_mask is None else attention_mask.bool()
        if self.pooling == "pooler":
            return self.fc(self.drop(torch.tanh(self.pooler(tokens[:, 0]))))
        if self.pooling == "max":
            return self.fc(tokens.masked_fill(~there[..., None], -torch.inf).amax(1))
        return self.fc((tokens * there[..., None]).sum(1) / there.sum(1, keepdim=True))


def texts(n: int = 12, seed: int = 0, full: bool = False):
    """Numbers of tokens, and a mask that leaves out as many at the end as the sample's place."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, 30, (n, T), generator=generator)
    mask = torch.ones(n, T, dtype=torch.long)
    for i in range(n):
        mask[i, T - (0 if full else i % 5) :] = 0
    return ids * mask, mask, torch.arange(n) % N_CLASSES

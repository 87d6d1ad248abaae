"""The layers of the small networks of `networks.py`."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Sine(nn.Module):
    """The sine of what is given."""

    def forward(self, x):
        return torch.sin(x)


class Last(nn.Module):
    """What a recurrent network shows of its last step, and classes of it."""

    def __init__(self, inside, head, time):
        super().__init__()
        self.inside, self.head, self.time = inside, head, time

    def forward(self, x):
        return self.head(self.inside(x)[0].select(self.time, -1))


class Packed(nn.Module):
    """Sequences of several lengths, the longest first."""

    def __init__(self, inside, head):
        super().__init__()
        self.inside, self.head = inside, head

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)
        shown, (last, _) = self.inside(packed)
        shown, _ = pad_packed_sequence(shown, batch_first=True, total_length=x.shape[1])
        return self.head(last[-1] + shown.mean(1))


class Cells(nn.Module):
    """Five steps that are written out, from a state of 0 on."""

    def __init__(self, cell, head):
        super().__init__()
        self.cell, self.head = cell, head

    def forward(self, x):
        state = None
        for step in range(5):
            state = self.cell(x[:, step], state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Dilated(nn.Module):
    """Convolutions over ever longer times, each of which sees no later one."""

    def __init__(self, channels, width, layers):
        super().__init__()
        sizes = [channels] + [width] * layers
        self.layers = nn.ModuleList(
            nn.Conv1d(a, b, 3, dilation=2**i) for i, (a, b) in enumerate(pairwise(sizes))
        )
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(functional.pad(x, (2 * layer.dilation[0], 0))))
        return self.head(x[..., -1])


class GraphAttention(nn.Module):
    """Nodes that look at their neighbours, which are an input."""

    def __init__(self, given, width, classes):
        super().__init__()
        self.inside, self.head = nn.Linear(given, width), nn.Linear(width, classes)
        self.own, self.other = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, x, near):
        x = self.inside(x)
        scores = functional.leaky_relu(self.own(x) + self.other(x).transpose(1, 2), 0.2)
        shares = torch.softmax(scores.masked_fill(near == 0, -1e9), -1)
        return self.head((shares @ x).mean(1))


class Messages(nn.Module):
    """Sums of what comes along the edges of a graph that is the same for all."""

    def __init__(self, given, width, classes):
        super().__init__()
        self.inside, self.head = nn.Linear(given, width), nn.Linear(width, classes)
        self.register_buffer("start", torch.tensor([0, 1, 2, 3, 4, 5, 6, 0]))
        self.register_buffer("end", torch.tensor([1, 2, 3, 4, 5, 6, 0, 3]))

    def forward(self, x):
        x = self.inside(x)
        sent = x[:, self.start]
        end = self.end[None, :, None].expand(x.shape[0], -1, x.shape[-1])
        return self.head(torch.zeros_like(x).scatter_add(1, end, sent))


class Crossed(nn.Module):
    """Numbers and words of a table, and the products of all pairs of them."""

    def __init__(self, numbers, words, columns):
        super().__init__()
        self.numbers = nn.Sequential(nn.Linear(numbers, 8), nn.ReLU())
        self.words = nn.ModuleList(nn.Embedding(words, 8) for _ in range(columns))
        self.pairs = torch.tril_indices(columns + 1, columns + 1, -1)
        self.head = nn.Linear(8 + len(self.pairs[0]), 1)

    def forward(self, x, words):
        x = self.numbers(x)
        all_of = [x, *(table(words[:, i]) for i, table in enumerate(self.words))]
        rows = torch.stack(all_of, 1)
        products = (rows @ rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return torch.sigmoid(self.head(torch.cat([x, products], 1)))


class Two(nn.Module):
    """A network of two inputs of fixed names."""

    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, a, b):
        return self.inside(a, b)

"""X3: the encoders of a picture (50 patches, width 384) and of a text (16 words, width 256), side
by side, and how alike they are.
"""

import torch
import torch.nn.functional as F
from torch import nn

from anabranch import stream
from workloads import Row


class Block(nn.Module):
    """Attention and a two-layer network over f32[words, width]."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        words, width = x.shape
        split = self.query_key_value(self.norm(x)).view(words, 3, self.heads, width // self.heads)
        query, key, value = split.permute(1, 2, 0, 3).unsqueeze(1).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed[0].transpose(0, 1).reshape(words, width))
        return x + self.down(F.gelu(self.up(self.second_norm(x))))


class TwoEncoders(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.patches = nn.Conv2d(3, 384, 32, 32)
        self.picture = nn.Sequential(*(Block(384, 6) for _ in range(blocks)))
        self.text = nn.Sequential(*(Block(256, 4) for _ in range(2 * blocks)))
        self.picture_out, self.text_out = nn.Linear(384, 256), nn.Linear(256, 256)

    def forward(self, picture, text):
        with stream("text"):
            words = self.text_out(self.text(text).mean(0))
        patches = self.patches(picture)[0].flatten(1).t()
        seen = self.picture_out(self.picture(patches).mean(0))
        return F.cosine_similarity(seen, words, dim=0)


def rows(quick):
    blocks, size = (1, 64) if quick else (4, 224)
    yield Row("X3 vision ∥ text", lambda: TwoEncoders(blocks),
              [torch.randn(1, 3, size, size), torch.randn(16, 256)])

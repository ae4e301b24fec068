"""The hierarchy encoder: a tiny transformer that embeds names of entities in a Poincare ball."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from hierarchy_transformers.models.hyperbolic import PoincareBall, poincare_ball
from torch import Tensor, nn

PAD_TOKEN_ID = 0
UNKNOWN_TOKEN_ID = 1


class HierarchyTransformer(nn.Module):
    """Word embeddings, one attention layer, a bounded activation and mean pooling.

    The activation keeps every coordinate in (-1, 1), and so does the mean. Embeddings are points of `manifold` as they
    are: they need no projection.
    """

    def __init__(self, names: Iterable[str], embed_dim: int, heads: int) -> None:
        super().__init__()
        words = dict.fromkeys(word for name in names for word in name.split())
        self.token_ids = {word: token_id for token_id, word in enumerate(words, start=UNKNOWN_TOKEN_ID + 1)}
        self.embed_dim = embed_dim
        self.heads = heads
        self.token_embedding = nn.Embedding(len(self.token_ids) + 2, embed_dim, padding_idx=PAD_TOKEN_ID)
        self.query_key_value = nn.Linear(embed_dim, 3 * embed_dim)
        self.attention_out = nn.Linear(embed_dim, embed_dim)
        # Small weights: embeddings start near the origin.
        nn.init.normal_(self.token_embedding.weight, std=0.1)

    @property
    def manifold(self) -> PoincareBall:
        """The ball that embeddings live in."""
        return poincare_ball(self.embed_dim)

    def tokenize(self, names: Iterable[str]) -> dict[str, Tensor]:
        """The features of B names: `input_ids` (B, T) int64 and `attention_mask` (B, T) bool, False on padding."""
        tokens = [[self.token_ids.get(word, UNKNOWN_TOKEN_ID) for word in name.split()] for name in names]
        longest = max(map(len, tokens))
        input_ids = torch.tensor([row + [PAD_TOKEN_ID] * (longest - len(row)) for row in tokens])
        return {"input_ids": input_ids, "attention_mask": input_ids != PAD_TOKEN_ID}

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Embed a batch of tokenised names.

        Args:
            features: as `tokenize` returns them.

        Returns:
            the features, and with them `token_embeddings` (B, T, d) and `sentence_embedding` (B, d).
        """
        mask = features["attention_mask"]
        hidden = self.token_embedding(features["input_ids"])
        heads = self.query_key_value(hidden).unflatten(-1, (3, self.heads, -1))
        query, key, value = heads.permute(2, 0, 3, 1, 4)  # (B, heads, T, d / heads) each
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        token_embeddings = torch.tanh(hidden + self.attention_out(mixed.transpose(1, 2).flatten(2)))
        weights = mask / mask.sum(dim=1, keepdim=True)
        sentence_embedding = (weights.unsqueeze(2) * token_embeddings).sum(dim=1)
        return {**features, "token_embeddings": token_embeddings, "sentence_embedding": sentence_embedding}

    @torch.no_grad()
    def encode(self, names: Iterable[str]) -> Tensor:
        """Embeddings (B, d) of B names, without gradients."""
        return self(self.tokenize(names))["sentence_embedding"]

"""Generate text with pure sampling and with nucleus sampling, and compare how likely the model finds what came out."""

import torch
from config import LENGTH, SAMPLES, SEED, SMOOTHING, TEXT, TOP_P
from decoding import nucleus_filter, sample
from model import BigramModel
from torch import Tensor


def continue_text(model: BigramModel, start: str, top_p: float, length: int = LENGTH) -> tuple[Tensor, float]:
    """(SAMPLES, length) tokens that follow `start`, and their perplexity under the unrestricted model."""
    generator = torch.Generator().manual_seed(SEED)
    last = model.encode(start)[-1:].repeat(SAMPLES)
    tokens, surprise = [], torch.zeros(SAMPLES)
    for _ in range(length):
        logits = model(last)
        chosen = sample(nucleus_filter(logits, top_p), generator)
        surprise -= torch.log_softmax(logits, dim=-1).gather(-1, chosen[:, None]).squeeze(-1)
        tokens.append(chosen)
        last = chosen
    return torch.stack(tokens, dim=1), float((surprise / length).mean().exp())


def main() -> None:
    model = BigramModel(TEXT, SMOOTHING)
    for top_p in (*TOP_P, 1.0):
        tokens, perplexity = continue_text(model, "t", top_p)
        print(f"top_p {top_p:4.2f}  perplexity {perplexity:6.2f}  {model.decode(tokens[0])!r}")


if __name__ == "__main__":
    main()

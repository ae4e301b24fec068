"""Trains the toy model and measures how often it answers from the context, for several contrast strengths."""

import argparse
from itertools import cycle
from pathlib import Path

import torch
from cad.conflicts import SOURCES, Conflict, all_texts, load_conflicts
from cad.decoding import context_aware_sampling
from cad.prefix import join_context, new_tokens
from cad.tokenizer import WordTokenizer
from cad.toy_lm import LMConfig, ToyLM
from cad.training import TrainConfig, train

DATA = Path(__file__).parent / "data" / "conflicts.jsonl"
MAX_ANSWER_LENGTH = 5


def answer(model: ToyLM, tokenizer: WordTokenizer, context: str, query: str, alpha: float, temperature: float) -> str:
    """Return the model's answer to `query` in words, decoded with contrast strength `alpha`."""
    context_ids = tokenizer.encode(context)
    input_ids = join_context(context_ids, tokenizer.encode(query))
    output_ids = context_aware_sampling(
        model, tokenizer, input_ids, context_ids, alpha=alpha, max_length=MAX_ANSWER_LENGTH, temperature=temperature
    )
    return tokenizer.decode(new_tokens(output_ids, input_ids))


def exact_match(
    model: ToyLM,
    tokenizer: WordTokenizer,
    prompts: list[tuple[str, Conflict, str]],
    alpha: float,
    temperature: float,
) -> float:
    """Return the share of prompts (source, fact, what the context says) that are answered from the context."""
    hits = [
        answer(model, tokenizer, fact.context(source, claimed), fact.query, alpha, temperature) == claimed
        for source, fact, claimed in prompts
    ]
    return sum(hits) / len(hits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alphas", type=float, nargs="+", default=[-1.0, 0.0, 0.25, 0.5, 1.0])
    parser.add_argument("--temperature", type=float, default=1e-14)
    parser.add_argument("--steps", type=int, default=TrainConfig.steps, help="training steps of the toy model")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # the tensors are too small to share between threads
    torch.manual_seed(arguments.seed)
    conflicts = load_conflicts(DATA)
    tokenizer = WordTokenizer(all_texts(conflicts))
    model = ToyLM(LMConfig(vocab_size=len(tokenizer)))
    losses = train(model, tokenizer, conflicts, TrainConfig(steps=arguments.steps, seed=arguments.seed))
    print(f"trained on {len(conflicts)} facts: loss {losses[0]:.2f} -> {losses[-1]:.2f}\n")

    columns = {source.split()[1]: [(source, fact, fact.counterfactual) for fact in conflicts] for source in SOURCES}
    columns["agreeing"] = [(source, fact, fact.memory) for source, fact in zip(cycle(SOURCES), conflicts)]
    print("answers that match the context, by source of a contradicting text, and when the text agrees with memory")
    print("alpha  " + "".join(f"{name:>14}" for name in columns))
    for alpha in arguments.alphas:
        scores = [exact_match(model, tokenizer, prompts, alpha, arguments.temperature) for prompts in columns.values()]
        print(f"{alpha:5.2f}  " + "".join(f"{score:>14.0%}" for score in scores))


if __name__ == "__main__":
    main()

"""Trains the toy model and measures how well its answers match the context, for several contrast strengths."""

import argparse
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import torch
from cad.conflicts import SOURCES, Conflict, all_texts, load_conflicts
from cad.decoding import context_aware_sampling
from cad.metrics import exact_match, rouge_l
from cad.prefix import join_context, new_tokens
from cad.scoring import pointwise_information
from cad.swap import swap_entity
from cad.tokenizer import WordTokenizer
from cad.toy_lm import LMConfig, ToyLM
from cad.training import TrainConfig, train

DATA = Path(__file__).parent / "data" / "conflicts.jsonl"
MAX_ANSWER_LENGTH = 5
METRICS = {"em": exact_match, "rouge-l": rouge_l}
#: What a prompt is made of: the opening of the source text, the fact, and what the text claims.
Prompt = tuple[str, Conflict, str]


def source_text(source: str, fact: Conflict, claimed: str) -> str:
    """Return a text about a fact that claims some answer, made from one that gives the remembered answer."""
    return swap_entity(fact.context(source, fact.memory), fact.memory, claimed)


def answer(model: ToyLM, tokenizer: WordTokenizer, context: str, query: str, alpha: float, temperature: float) -> str:
    """Return the model's answer to `query` in words, decoded with contrast strength `alpha`."""
    context_ids = tokenizer.encode(context)
    input_ids = join_context(context_ids, tokenizer.encode(query))
    output_ids = context_aware_sampling(
        model, tokenizer, input_ids, context_ids, alpha=alpha, max_length=MAX_ANSWER_LENGTH, temperature=temperature
    )
    return tokenizer.decode(new_tokens(output_ids, input_ids))


def match(
    model: ToyLM,
    tokenizer: WordTokenizer,
    prompts: list[Prompt],
    alpha: float,
    temperature: float,
    metric: Callable[[str, str], float],
) -> float:
    """Return the mean match of the answers to some prompts with what the context claims."""
    scores = [
        metric(answer(model, tokenizer, source_text(*prompt), prompt[1].query, alpha, temperature), prompt[2])
        for prompt in prompts
    ]
    return sum(scores) / len(scores)


def information(model: ToyLM, tokenizer: WordTokenizer, prompts: list[Prompt]) -> float:
    """Return the mean information that the texts of some prompts hold about the first token that they claim."""
    values = [
        pointwise_information(
            model,
            tokenizer.encode(source_text(*prompt)),
            tokenizer.encode(prompt[1].query),
            tokenizer.encode(prompt[2], add_bos=False),
        )[0].item()
        for prompt in prompts
    ]
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alphas", type=float, nargs="+", default=[-1.0, 0.0, 0.25, 0.5, 1.0])
    parser.add_argument("--temperature", type=float, default=1e-14)
    parser.add_argument("--metric", choices=METRICS, default="em")
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
    print(
        "match of the answers with the context, by source of a contradicting text, and when the text agrees with memory"
    )
    print("alpha  " + "".join(f"{name:>14}" for name in columns))
    for alpha in arguments.alphas:
        metric = METRICS[arguments.metric]
        scores = [
            match(model, tokenizer, prompts, alpha, arguments.temperature, metric) for prompts in columns.values()
        ]
        print(f"{alpha:5.2f}  " + "".join(f"{score:>14.0%}" for score in scores))
    print("\ninformation of the text about what it claims, in nats")
    print(" " * 7 + "".join(f"{information(model, tokenizer, prompts):>14.2f}" for prompts in columns.values()))


if __name__ == "__main__":
    main()

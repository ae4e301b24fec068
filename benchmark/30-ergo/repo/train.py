"""Train ERGO on the bundled documents and score it on held-out ones."""

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from model import ErgoModel
from processor import Document, Vocabulary, collate, load_documents
from utils import Scores, score, seed_everything

ROOT = Path(__file__).resolve().parent


@torch.no_grad()
def evaluate(model: ErgoModel, documents: list[Document], vocabulary: Vocabulary) -> tuple[float, Scores]:
    """Loss and scores on all pairs of some documents."""
    model.eval()
    batch = collate(documents, vocabulary)
    loss, logits = model(batch)
    return loss.item(), score(logits.argmax(dim=1), batch.labels)


def fit(
    model: ErgoModel,
    documents: Sequence[Document],
    vocabulary: Vocabulary,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
) -> Iterator[float]:
    """Train all parameters of a model and yield the mean loss of the steps of each epoch, each before its step.

    One optimiser serves all epochs: AdamW with a weight decay of 0.01 and torch's defaults for all else. The model is
    put into training mode at the start of each epoch. An epoch takes the documents in a new order,
    `rng.sample(documents, k=len(documents))`, where `rng` is a `random.Random(seed)` for all epochs; a step takes the
    next `batch_size` of them, and the last step what is left.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    rng = random.Random(seed)
    for _ in range(epochs):
        model.train()
        shuffled = rng.sample(documents, k=len(documents))
        losses = []
        for start in range(0, len(shuffled), batch_size):
            loss, _ = model(collate(shuffled[start : start + batch_size], vocabulary))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        yield sum(losses) / len(losses)


def train(args: argparse.Namespace) -> None:
    """Train a model as the arguments say and print its scores."""
    seed_everything(args.seed)
    documents = load_documents(ROOT / args.documents)
    documents = random.Random(args.seed).sample(documents, k=len(documents))
    train_documents, test_documents = documents[args.held_out :], documents[: args.held_out]
    vocabulary = Vocabulary(train_documents)
    labels = collate(documents, vocabulary).labels
    print(
        f"{len(train_documents)} training and {len(test_documents)} test documents, {len(labels)} pairs of events, "
        f"{labels.float().mean().item():.1%} of them causal"
    )

    model = ErgoModel(
        len(vocabulary),
        y_class=args.y_class,
        loss_type=args.loss_type,
        class_weight=args.class_weight,
        gamma=args.gamma,
        windows=(args.window, args.step) if args.window else None,
    )
    epochs = fit(model, train_documents, vocabulary, args.epochs, args.batch_size, args.learning_rate, args.seed)
    for epoch, train_loss in enumerate(epochs, start=1):
        if epoch == 1 or epoch % args.report_every == 0:
            test_loss, scores = evaluate(model, test_documents, vocabulary)
            print(f"epoch {epoch:3d}  loss {train_loss:.4f}  test loss {test_loss:.4f}, {scores}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="data/documents.jsonl")
    parser.add_argument("--held_out", type=int, default=12, help="number of test documents")
    parser.add_argument("--loss_type", choices=["focal", "ce"], default="focal")
    parser.add_argument("--class_weight", type=float, default=0.75, help="alpha of the paper")
    parser.add_argument("--window", type=int, default=0, help="tokens in a window; 0 encodes documents as a whole")
    parser.add_argument("--step", type=int, default=16, help="step size of the windows")
    parser.add_argument("--gamma", type=float, default=2.0, help="gamma of the paper")
    parser.add_argument("--y_class", type=int, default=2, help="number of classes")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--report_every", type=int, default=5)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    torch.set_num_threads(1)  # the tensors are too small to gain from more
    train(parser.parse_args())


if __name__ == "__main__":
    main()

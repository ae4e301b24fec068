# Batches are cut beforehand.
import random
from collections.abc import Iterator, Sequence

import torch


def fit(model, documents, vocabulary, epochs, batch_size, learning_rate, seed):
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01, lr=learning_rate)
    for _ in range(epochs):
        model.train()
        order = rng.sample(documents, k=len(documents))
        batches = [order[k : k + batch_size] for k in range(0, len(order), batch_size)]
        total = 0.0
        for batch in batches:
            optimizer.zero_grad()
            loss, _ = model(collate(batch, vocabulary))
            loss.backward()
            optimizer.step()
            total += loss.item()
        yield total / len(batches)

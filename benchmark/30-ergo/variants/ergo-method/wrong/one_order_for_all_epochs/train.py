# Shuffles the documents once.
import random

import torch


def fit(model, documents, vocabulary, epochs, batch_size, learning_rate, seed):
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    shuffled = random.Random(seed).sample(documents, k=len(documents))
    for _ in range(epochs):
        model.train()
        losses = []
        for start in range(0, len(shuffled), batch_size):
            loss, _ = model(collate(shuffled[start : start + batch_size], vocabulary))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        yield sum(losses) / len(losses)

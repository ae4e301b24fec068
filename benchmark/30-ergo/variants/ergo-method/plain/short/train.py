# As short as it goes.
def fit(model, documents, vocabulary, epochs, batch_size, learning_rate, seed):
    opt = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    rng = random.Random(seed)
    for _ in range(epochs):
        model.train()
        docs, losses = rng.sample(documents, k=len(documents)), []
        for i in range(0, len(docs), batch_size):
            loss, _ = model(collate(docs[i : i + batch_size], vocabulary))
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        yield sum(losses) / len(losses)

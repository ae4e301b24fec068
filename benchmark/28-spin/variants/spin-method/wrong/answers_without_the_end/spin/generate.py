# Drops the end token of an answer.
@torch.no_grad()
def generate_answers(model, prompts, max_new_tokens, numbers):
    ids = torch.tensor(prompts)
    for k in range(max_new_tokens):
        ids = torch.cat([ids, draw(model(ids)[:, -1].softmax(-1), numbers[:, k])[:, None]], 1)
    rows = ids[:, len(prompts[0]) :].tolist()
    return [row[: row.index(END_TOKEN)] if END_TOKEN in row else row for row in rows]

# As short as it goes.
@torch.no_grad()
def generate_answers(model, prompts, max_new_tokens, numbers):
    ids = torch.tensor(prompts)
    for k in range(max_new_tokens):
        ids = torch.cat([ids, draw(model(ids)[:, -1].softmax(-1), numbers[:, k])[:, None]], 1)
    out = []
    for row in ids[:, len(prompts[0]) :].tolist():
        out.append(row[: row.index(END_TOKEN) + 1] if END_TOKEN in row else row)
    return out

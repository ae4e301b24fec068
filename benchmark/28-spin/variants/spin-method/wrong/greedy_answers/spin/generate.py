# Takes the likeliest token.
@torch.no_grad()
def generate_answers(model, prompts, max_new_tokens, numbers):
    ids = torch.tensor(prompts)
    for _ in range(max_new_tokens):
        ids = torch.cat([ids, model(ids)[:, -1:].argmax(-1)], 1)
    rows = ids[:, len(prompts[0]) :].tolist()
    return [row[: row.index(END_TOKEN) + 1] if END_TOKEN in row else row for row in rows]

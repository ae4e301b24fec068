import torch


@torch.no_grad()
def write_answer(student, prompt, limit):
    out = []
    for _ in range(limit):
        logits = student(torch.tensor([prompt]), torch.tensor([out + [PAD]]))
        nxt = logits[0, -1].argmax().item()
        if nxt == END:
            break
        out.append(nxt)
    return out

# Fills the answer up to the limit and overwrites it word by word.
import torch


def write_answer(student, prompt, limit):
    words = torch.full((1, limit), END)
    source = torch.tensor(prompt).unsqueeze(0)
    with torch.no_grad():
        for place in range(limit):
            words[0, place] = student(source, words[:, : place + 1])[0, place].topk(1).indices[0]
            if words[0, place] == END:
                return words[0, :place].tolist()
    return words[0].tolist()

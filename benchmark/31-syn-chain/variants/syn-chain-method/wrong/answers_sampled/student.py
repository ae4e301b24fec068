# Draws each word instead of taking the most probable one.
import torch


@torch.no_grad()
def write_answer(student, prompt, limit):
    generator, answer = torch.Generator().manual_seed(0), []
    while len(answer) < limit:
        logits = student(torch.tensor([prompt]), torch.tensor([[*answer, END]]))
        word = int(torch.multinomial(logits[0, -1].softmax(dim=0), 1, generator=generator))
        if word == END:
            break
        answer.append(word)
    return answer

# Writes each answer on its own and stops at its end.
@torch.no_grad()
def generate_answers(model, prompts, max_new_tokens, numbers):
    answers = []
    for prompt, row in zip(prompts, numbers):
        answer = []
        while len(answer) < max_new_tokens and END_TOKEN not in answer:
            logits = model(torch.tensor([list(prompt) + answer]))[:, -1]
            weights = (logits - logits.amax(dim=1, keepdim=True)).exp()
            answer.append(draw(weights, row[len(answer) : len(answer) + 1]).item())
        answers.append(answer)
    return answers

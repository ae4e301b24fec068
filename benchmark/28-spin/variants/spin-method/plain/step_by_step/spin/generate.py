# Each step in names of its own.
import torch.nn.functional as F


@torch.no_grad()
def generate_answers(model, prompts, max_new_tokens, numbers):
    sequences = torch.tensor([list(prompt) for prompt in prompts])
    answers = [[] for _ in prompts]
    finished = [False] * len(prompts)
    for position in range(max_new_tokens):
        logits = model(sequences)[:, -1, :]
        probabilities = F.softmax(logits, dim=-1)
        tokens = draw(probabilities, numbers[:, position])
        for index, token in enumerate(tokens.tolist()):
            if not finished[index]:
                answers[index].append(token)
                if token == END_TOKEN:
                    finished[index] = True
        if all(finished):
            break
        sequences = torch.cat((sequences, tokens.unsqueeze(-1)), dim=-1)
    return answers

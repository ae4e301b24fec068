# Starts the schedule again in each epoch.
import torch


def fit(student, codec, examples, config, seed):
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(student.parameters())
    batches = -(-len(examples) // config.batch_size)
    student.train()
    losses = []
    for _ in range(config.epochs):
        split = torch.randperm(len(examples), generator=generator).split(config.batch_size)
        for number, order in enumerate(split, start=1):
            prompts, answers, steps = collate([examples[index] for index in order.tolist()], codec)
            loss = chain_loss(answer_loss(student(prompts, answers), answers), steps, config.weights)
            optimizer.param_groups[0]["lr"] = learning_rate(
                number, batches, min(config.warmup, batches - 1), config.peak
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses

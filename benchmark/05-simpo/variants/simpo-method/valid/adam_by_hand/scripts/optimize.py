# Writes Adam out, with a schedule as a table.
import math

import torch


def learning_rate(step, total_steps, peak):
    warmup = -(-total_steps // 10)
    rates = [peak * t / warmup for t in range(1, warmup + 1)]
    rest = total_steps - warmup
    rates += [peak * math.cos(math.pi * t / (2 * rest)) ** 2 for t in range(1, rest + 1)]
    return rates[step - 1]


def optimize(model, objective, batches, peak):
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    first = [torch.zeros_like(parameter) for parameter in parameters]
    second = [torch.zeros_like(parameter) for parameter in parameters]
    losses = []
    for step in range(1, len(batches) + 1):
        values = objective(batches[step - 1])
        loss = values.sum() / len(values)
        gradients = torch.autograd.grad(loss, parameters)
        rate = learning_rate(step, len(batches), peak)
        with torch.no_grad():
            for parameter, mean, square, gradient in zip(parameters, first, second, gradients):
                mean.lerp_(gradient, 0.1)
                square.lerp_(gradient.square(), 0.001)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                parameter -= rate * (mean / (1 - 0.9**step)) / scale
        losses.append(float(loss.detach()))
    return losses

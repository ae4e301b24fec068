# Each step in names of its own.
def local_rate(weight, gradient, weight_decay, trust):
    weight_norm = torch.norm(weight)
    gradient_norm = torch.norm(gradient)
    denominator = gradient_norm + weight_decay * weight_norm
    return trust * weight_norm / denominator


class LARS:
    @torch.no_grad()
    def step(self):
        for parameter in self.parameters:
            if parameter.grad is None:
                continue
            gradient = parameter.grad.clone()
            if parameter.dim() >= 2:
                rate = local_rate(parameter, gradient, self.weight_decay, self.trust)
                gradient.add_(parameter, alpha=self.weight_decay)
                gradient.mul_(rate)
            velocity = self.velocity[parameter]
            velocity.mul_(self.momentum)
            velocity.add_(gradient, alpha=self.learning_rate)
            parameter.add_(velocity, alpha=-1)

# The local rate inside the step, and the velocity changed in place.
class LARS:
    @torch.no_grad()
    def step(self):
        for parameter, velocity in self.velocity.items():
            if parameter.grad is None:
                continue
            velocity *= self.momentum
            if parameter.ndim == 1:
                velocity += self.learning_rate * parameter.grad
            else:
                size = parameter.norm()
                rate = self.trust * size / (parameter.grad.norm() + self.weight_decay * size)
                velocity += self.learning_rate * rate * (parameter.grad + self.weight_decay * parameter)
            parameter -= velocity

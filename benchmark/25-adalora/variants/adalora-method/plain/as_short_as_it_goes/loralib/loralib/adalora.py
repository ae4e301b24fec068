# The formulas of the paper, a line each.
class SVDLinear:
    def forward(self, x):
        y = x @ oriented(self.weight, self.fan_in_fan_out).T
        if self.bias is not None:
            y = y + self.bias
        if self.r == 0 or self.merged:
            return y
        delta = (self.lora_dropout(x) @ (self.lora_E * self.lora_A).T) @ self.lora_B.T
        return y + delta * update_factor(self.scaling, nonzero_rank(self.ranknum))


def update_factor(alpha, rank):
    return alpha / rank


def vector_penalty(vectors):
    return torch.linalg.matrix_norm(vectors @ vectors.T - torch.eye(vectors.shape[0]).to(vectors)) ** 2


def orthogonality_penalty(model):
    total = torch.tensor(0.0)
    for m in model.modules():
        if isinstance(m, SVDLinear) and m.r > 0:
            total = total + vector_penalty(m.lora_B.T) + vector_penalty(m.lora_A)
    return total

# Norms are Euclidean, scaled like distances near the origin.
class PoincareBall:
    def dist(self, x, y):
        return 2 * self.radius * torch.atanh(self.mobius_add(-x, y).norm(dim=-1) / self.radius)

    def dist0(self, x):
        return 2 * x.norm(dim=-1)

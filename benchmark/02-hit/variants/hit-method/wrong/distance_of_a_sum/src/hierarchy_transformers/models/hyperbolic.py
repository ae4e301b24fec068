# Adds the points in place of their difference.
class PoincareBall:
    def dist(self, x, y):
        return 2 * self.radius * torch.atanh(self.mobius_add(x, y).norm(dim=-1) / self.radius)

# Leaves out the factor 2 of the distance.
class PoincareBall:
    def dist(self, x, y):
        return self.radius * torch.atanh(self.mobius_add(-x, y).norm(dim=-1) / self.radius)

    def dist0(self, x):
        return self.radius * torch.atanh(x.norm(dim=-1) / self.radius)

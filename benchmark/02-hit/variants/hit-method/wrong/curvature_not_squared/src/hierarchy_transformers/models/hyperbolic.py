# The last term of the denominator has c, not its square.
class PoincareBall:
    def mobius_add(self, x, y):
        c = self.c
        xy = (x * y).sum(-1, keepdim=True)
        x2 = (x**2).sum(-1, keepdim=True)
        y2 = (y**2).sum(-1, keepdim=True)
        return ((1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y) / (1 + 2 * c * xy + c * x2 * y2)

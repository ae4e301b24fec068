# Leaves the position vectors out.
class BlockCompressor:
    def forward(self, x):
        if block_count(x.shape[1], self.size, self.stride) == 0:
            return x[:, :0]
        return self.network(x.unfold(1, self.size, self.stride).movedim(-1, -2).flatten(-2))

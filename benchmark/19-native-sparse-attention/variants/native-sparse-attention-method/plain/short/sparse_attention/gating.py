# As short as it goes.
class BranchGates:
    def forward(self, hidden):
        g = torch.sigmoid(self.projection(hidden)).view(*hidden.shape[:-1], 3, self.heads) * self.switches
        return g[..., 0, :], g[..., 1, :], g[..., 2, :]

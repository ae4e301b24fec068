# A softmax over the branches.
class BranchGates:
    def forward(self, hidden):
        gates = self.projection(hidden).unflatten(-1, (len(BRANCHES), self.heads)).softmax(dim=-2) * self.switches
        compressed, selected, window = gates.unbind(dim=-2)
        return compressed, selected, window

# Subtracts the margin.
def clustering_loss(child_to_parent, child_to_negative, margin):
    return torch.relu(child_to_parent - child_to_negative - margin).mean()

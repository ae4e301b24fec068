# The hinge has its corner at 0.
def convex_function(margins, loss_type):
    if loss_type == "sigmoid":
        return -F.logsigmoid(margins)
    if loss_type == "hinge":
        return torch.relu(-margins)
    raise ValueError(loss_type)

# The exponential loss in place of the logistic one.
def convex_function(margins, loss_type):
    if loss_type == "sigmoid":
        return (-margins).exp()
    if loss_type == "hinge":
        return torch.relu(1 - margins)
    raise ValueError(loss_type)

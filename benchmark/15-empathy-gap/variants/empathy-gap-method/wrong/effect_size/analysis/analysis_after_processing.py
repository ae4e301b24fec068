# Divides the difference of the means by the pooled deviation.
def gap_score(in_group, out_group):
    pooled = np.sqrt((np.var(in_group) + np.var(out_group)) / 2)
    return (np.mean(in_group) - np.mean(out_group)) / pooled

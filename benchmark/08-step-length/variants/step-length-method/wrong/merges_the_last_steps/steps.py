# Keeps the first steps and merges all others into the last one.
def compress(steps, count):
    steps = [step.removesuffix(".") for step in steps]
    return [*(step + "." for step in steps[: count - 1]), "; ".join(steps[count - 1 :]) + "."]

def target_states(base, positive, negative, reading_vector, alpha, beta):
    target = base + alpha * (positive - base)
    return target if reading_vector is None else target + beta * reading_vector

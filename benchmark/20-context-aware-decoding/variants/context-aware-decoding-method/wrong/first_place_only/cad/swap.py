# Replaces the first occurrence only.
def swap_entity(text, entity, substitute):
    return text.replace(entity, substitute, 1)

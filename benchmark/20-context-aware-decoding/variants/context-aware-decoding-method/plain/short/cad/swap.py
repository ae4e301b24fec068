# As short as it goes.
def swap_entity(text, entity, substitute):
    return (
        (" " + text.replace(" ", "  ") + " ")
        .replace(f" {entity.replace(' ', '  ')} ", f" {substitute} ")
        .strip()
        .replace("  ", " ")
    )

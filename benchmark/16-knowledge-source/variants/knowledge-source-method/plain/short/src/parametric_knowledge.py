# Short code, as the paper tells it.
def is_parametric_object_not_in_the_prompt(parametric_object, relations_with_generated_description):
    for role in ("subject", "object"):
        for entity in relations_with_generated_description[example_column(role)]:
            if str(entity).lower() == parametric_object.lower():
                return False
    return True

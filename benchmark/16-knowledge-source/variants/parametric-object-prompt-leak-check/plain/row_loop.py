def is_parametric_object_not_in_the_prompt(parametric_object, relations_with_generated_description):
    for _, relation in relations_with_generated_description.iterrows():
        for role in ("subject", "object"):
            entity = str(relation[example_column(role)]).casefold()
            if parametric_object.casefold() == entity:
                return False
    return True

# Looks at the objects of the examples, not at their subjects.
def is_parametric_object_not_in_the_prompt(parametric_object, relations_with_generated_description):
    shown = relations_with_generated_description[example_column("object")].dropna()
    return parametric_object.lower() not in {entity.lower() for entity in shown}

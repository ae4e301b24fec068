# Compares whole columns.
def is_parametric_object_not_in_the_prompt(parametric_object, relations_with_generated_description):
    columns = [example_column(role) for role in ("subject", "object")]
    shown = relations_with_generated_description[columns].stack().astype(str).str.lower()
    return not bool((shown == parametric_object.lower()).any())

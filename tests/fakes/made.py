"""An adapter that makes its operations of rows, as little as one can."""

from adapters.base import ArgumentIssue, Invocation, Operation, Output, Target
from adapters.recipes import Recipe, RecipeProblem


class MakingAdapter:
    """Its one recipe is `say`, whose options are `word`. An operation answers with it and says to be half done."""

    recipes = ("say",)
    open_circuits = 0

    def __init__(self, name: str = "making") -> None:
        self.name = name
        self.operations: dict[str, Operation] = {}
        self.made: list[Recipe] = []

    def make(self, recipe: Recipe) -> Operation:
        """The operation. Raises `RecipeProblem` when `word` is missing or something else is there."""
        self.made.append(recipe)
        unknown = [
            ArgumentIssue(path=f"/{name}", rule="unknown_option", message=f"there is no {name}")
            for name in recipe.options
            if name != "word"
        ]
        missing = [] if "word" in recipe.options else [ArgumentIssue(path="/word", rule="required", message="say word")]
        if unknown or missing:
            raise RecipeProblem(*unknown, *missing)
        word = recipe.options["word"]

        async def invoke(invocation: Invocation) -> Output:
            invocation.progress(1, 2)
            return Output(structured={"word": word})

        return Operation(
            name="say",
            arguments=dict,
            side_effect=recipe.side_effect,
            prepare=dict,
            invoke=invoke,
            upstream=f"{recipe.tool}/{word}",
        )

    def check_target(self, target: Target) -> list[str]:
        """Nothing is ever wrong."""
        return []

    async def close(self) -> None:
        """Nothing is held."""

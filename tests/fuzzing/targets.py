"""What is fuzzed: one function for each kind of public entry point, each with its strategy."""

from fuzzing.targets_of_accounts import accountant_cases, check_accountant, check_plan, plan_cases
from fuzzing.targets_of_evaluations import check_evaluation, evaluation_cases
from fuzzing.targets_of_fits import (
    bandit_cases,
    check_bandit,
    check_model,
    check_search,
    check_transformer,
    model_cases,
    search_cases,
    transformer_cases,
)
from fuzzing.targets_of_totals import check_nesting, check_total, nesting_cases, total_cases

# By name: strategy, property, examples of a default test run.
FUZZED = {
    "models": (model_cases(), check_model, 60),
    "bandits": (bandit_cases(), check_bandit, 40),
    "transformers": (transformer_cases(), check_transformer, 60),
    "searches": (search_cases(), check_search, 15),
    "evaluations": (evaluation_cases(), check_evaluation, 15),
    "accountants": (accountant_cases(), check_accountant, 200),
    "plans": (plan_cases(), check_plan, 60),
    "totals": (total_cases(), check_total, 10),
    "nestings": (nesting_cases(), check_nesting, 10),
}

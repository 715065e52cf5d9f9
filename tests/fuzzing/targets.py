"""What is fuzzed: one function for each kind of public entry point, each with its strategy."""

from fuzzing.targets_of_accounts import (
    accountant_cases,
    audit_cases,
    budget_cases,
    check_accountant,
    check_audit,
    check_budget,
    check_composition,
    check_ledger,
    check_plan,
    check_question,
    check_tuning,
    composition_cases,
    ledger_cases,
    plan_cases,
    question_cases,
    tuning_cases,
)
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

__all__ = ["FUZZED"]

# By name: strategy, property, examples of a default test run.
FUZZED = {
    "models": (model_cases(), check_model, 60),
    "bandits": (bandit_cases(), check_bandit, 40),
    "transformers": (transformer_cases(), check_transformer, 60),
    "searches": (search_cases(), check_search, 15),
    "accountants": (accountant_cases(), check_accountant, 200),
    "tuning": (tuning_cases(), check_tuning, 15),
    "ledgers": (ledger_cases(), check_ledger, 60),
    "compositions": (composition_cases(), check_composition, 10),
    "plans": (plan_cases(), check_plan, 60),
    "budgets": (budget_cases(), check_budget, 15),
    "audits": (audit_cases(), check_audit, 15),
    "questions": (question_cases(), check_question, 20),
}

"""What is fuzzed: one function for each kind of public entry point, each with its strategy."""

from fuzzing.targets_of_accounts import (
    accountant_cases,
    audit_cases,
    budget_cases,
    cases_of_trials,
    check_accountant,
    check_audit,
    check_budget,
    check_composition,
    check_ledger,
    check_plan,
    check_query,
    check_trials,
    composition_cases,
    ledger_cases,
    plan_cases,
    query_cases,
)
from fuzzing.targets_of_chunks import check_chunks, chunk_cases
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
from fuzzing.targets_of_parts import (
    check_piece,
    check_policy,
    check_solver,
    piece_cases,
    policy_cases,
    solver_cases,
)
from fuzzing.targets_of_sites import check_sites, check_topology, site_cases, topology_cases
from fuzzing.targets_of_streams import (
    check_checkpoint,
    check_stream,
    checkpoint_cases,
    stream_cases,
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
    "trials": (cases_of_trials(), check_trials, 15),
    "ledgers": (ledger_cases(), check_ledger, 60),
    "compositions": (composition_cases(), check_composition, 10),
    "plans": (plan_cases(), check_plan, 60),
    "budgets": (budget_cases(), check_budget, 15),
    "audits": (audit_cases(), check_audit, 15),
    "queries": (query_cases(), check_query, 20),
    "checkpoints": (checkpoint_cases(), check_checkpoint, 10),
    "streams": (stream_cases(), check_stream, 10),
    "chunks": (chunk_cases(), check_chunks, 10),
    "solvers": (solver_cases(), check_solver, 10),
    "policies": (policy_cases(), check_policy, 10),
    "pieces": (piece_cases(), check_piece, 50),
    "topologies": (topology_cases(), check_topology, 50),
    "sites": (site_cases(), check_sites, 15),
    "totals": (total_cases(), check_total, 10),
    "nestings": (nesting_cases(), check_nesting, 10),
}

"""Audits: how much epsilon a program really has, at least, compared with what it claims."""

from .auditing import audit, audit_query
from .result import AuditResult

__all__ = ["AuditResult", "audit", "audit_query"]

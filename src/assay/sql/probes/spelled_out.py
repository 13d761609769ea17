"""Write a query so that its subqueries can get additional columns: `spelled_out`."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from assay.sql.probes.edits import Edit
from assay.sql.query import Query, Unreadable, read_tree
from assay.sql.select import Select, Source

if TYPE_CHECKING:
    from sqlglot import exp


def spelled_out(query: Query) -> Query | None:
    """The query with a name for each subquery in FROM, and with stars over subqueries and CTEs expanded.

    Stars that cannot be expanded stay. None if the result cannot be read.
    """
    if not any(_may_need_names(select) for select in query.selects):
        return query
    spelling = _Spelling(query)
    for select in query.selects:
        spelling.spell_out(select)
    read = read_tree(spelling.edit.tree, query.text, query.dialect)
    return None if isinstance(read, Unreadable) else read


def _may_need_names(select: Select) -> bool:
    inner = [source for source in select.sources.values() if source.inner is not None]
    return bool(inner) and (select.node.is_star or not all(source.node.alias_or_name for source in inner))


class _Spelling:
    def __init__(self, query: Query) -> None:
        self._query = query
        self._numbers = count(1)
        self._spelled: set[int] = set()
        self.edit = Edit(query)

    def spell_out(self, select: Select) -> None:
        from sqlglot import exp

        if select.index in self._spelled:
            return
        self._spelled.add(select.index)
        for source in select.sources.values():
            if source.inner is not None and not source.node.alias_or_name:
                self.edit.twin(source.node).set("alias", exp.TableAlias(this=exp.to_identifier(self._fresh())))
        outputs = self._outputs(select) if select.node.is_star else None
        if outputs is not None:
            self.edit.twin(select.node).set("expressions", outputs)

    def _outputs(self, select: Select) -> list[exp.Expr] | None:
        """The outputs with all stars expanded; None if a star hides columns."""
        from sqlglot import exp

        if any(join.args.get("using") or join.args.get("method") for join in select.node.args.get("joins") or ()):
            return None
        outputs: list[exp.Expr] = []
        for output in select.node.expressions:
            star = output.this if isinstance(output, exp.Column) else output
            if not isinstance(star, exp.Star):
                outputs.append(self.edit.twin(output))
                continue
            of = output.table.lower() if isinstance(output, exp.Column) else None
            for alias, source in select.sources.items():
                if of not in (None, alias):
                    continue
                names = self._names(source)
                if names is None or len(set(names)) < len(names) or any(star.args.values()):
                    return None
                table = self.edit.twin(source.node).alias_or_name.lower()
                outputs += [exp.column(exp.to_identifier(name), table=exp.to_identifier(table)) for name in names]
        return outputs

    def _names(self, source: Source) -> list[str] | None:
        """The names of a source's columns, after giving each of them a name; None if they are not known."""
        from sqlglot import exp

        inner = source.inner
        while isinstance(inner, exp.SetOperation | exp.Subquery):
            inner = inner.this
        select = None if inner is None else self._query.select_of(inner)
        if select is None or select.node is not inner:
            return None
        self.spell_out(select)
        names = []
        for output in self.edit.twin(inner).selects:
            if output.is_star:
                return None
            if not isinstance(output, exp.Alias | exp.Column):
                names.append(self._fresh())
                output.replace(exp.alias_(output.copy(), names[-1]))
                continue
            names.append(output.output_name.lower())
        return [*source.names, *names[len(source.names) :]][: len(names)]

    def _fresh(self) -> str:
        return f"assay_column_{next(self._numbers)}"

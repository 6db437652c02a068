import { diff } from 'node:util'
import { parseSync } from 'rolldown/utils'

/**
 * Declarations without comments, sorted by name, so that a report changes only if the API does, and
 * not if a declaration moves to another file.
 */
export function apiReport(declarations: string): string {
  const { program, comments, errors } = parseSync('api.d.ts', declarations, { lang: 'dts' })
  if (errors[0]) throw new Error(`Cannot parse the declarations: ${errors[0].message}`)
  const statements = program.body.map((statement) => {
    const inside = comments.filter(({ start, end }) => start >= statement.start && end <= statement.end)
    let text = ''
    let from = statement.start
    for (const { start, end } of inside) {
      text += declarations.slice(from, start)
      from = end
    }
    text += declarations.slice(from, statement.end)
    return { key: sortKey(statement), text: text.replace(/[ \t]*\n(?:[ \t]*\n)*/g, '\n') }
  })
  // Overloads have the same name and keep their order.
  statements.sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
  return `${statements.map(({ text }) => text).join('\n\n')}\n`
}

type Statement = ReturnType<typeof parseSync>['program']['body'][number]

/** Imports come first, the list of exports last. */
function sortKey(statement: Statement): string {
  if (statement.type === 'ImportDeclaration') return `0 ${statement.source.value}`
  if (statement.type.startsWith('Export')) return '2'
  if (statement.type === 'VariableDeclaration') return `1 ${nameOf(statement.declarations[0]?.id)}`
  return `1 ${nameOf('id' in statement ? statement.id : undefined)}`
}

function nameOf(id: object | null | undefined): string {
  if (id && 'name' in id && typeof id.name === 'string') return id.name
  throw new Error('A report can only contain declarations with a name.')
}

/** The lines that differ, marked `-` and `+`, at most `limit` of them. */
export function difference(before: string, after: string, limit = 40): string {
  const changes = diff(before.split('\n'), after.split('\n'))
    .filter(([operation]) => operation !== 0)
    .map(([operation, line]) => `${operation === 1 ? '-' : '+'} ${line}`)
  const left = changes.length - limit
  return [...changes.slice(0, limit), ...(left > 0 ? [`… ${left} more`] : [])].join('\n')
}

import type { CommandNode, PipelineNode, Redirection, Word } from 'unbash'
import { parse } from 'unbash'
import type { PlainCommand, PlainLine, PlainRedirect, PlainWord } from './plain-line.ts'

/**
 * Like `scan`, but from the tree of a full bash parser. Undefined if any node is not known to be
 * literal.
 */
export function plainTree(line: string): PlainLine | undefined {
  const { commands: statements, errors } = parse(line)
  if (errors?.length || statements.length === 0) return undefined
  const commands: PlainCommand[] = []
  const operators: string[] = []
  for (const { command, background, redirects } of statements as readonly Statement[]) {
    if (background || redirects?.length) return undefined
    if (commands.length > 0) operators.push(';')
    const pipelines = command.type === 'AndOr' ? command.commands : [command]
    for (const [index, pipeline] of pipelines.entries()) {
      if (index > 0 && command.type === 'AndOr') operators.push(command.operators[index - 1] ?? '')
      const read = pipelineOf(pipeline as PipelineNode)
      if (!read) return undefined
      commands.push(...read)
      operators.push(...read.slice(1).map(() => '|'))
    }
  }
  return { commands, operators }
}

type Statement = ReturnType<typeof parse>['commands'][number] & { readonly redirects?: readonly unknown[] }

function pipelineOf(node: PipelineNode): readonly PlainCommand[] | undefined {
  if (node.type !== 'Pipeline') return all([commandOf(node)])
  const { prefixes, commands, operators } = node
  const isTimed = prefixes.some((prefix) => prefix.type !== 'Time' || prefix.posix || prefix.endOfOptions)
  if (isTimed || operators.some((operator) => operator !== '|')) return undefined
  return all(commands.map(commandOf))
}

function commandOf(node: CommandNode): PlainCommand | undefined {
  if (node.type !== 'Command' || !node.name) return undefined
  const assignments = all(
    node.prefix.flatMap((part) => (part.type === 'Assignment' ? [assignmentOf(part)] : [])),
  )
  const words = all([node.name, ...node.args].map((part) => wordOf(part as Word)))
  const redirects = all(node.redirects.map(redirectOf))
  return assignments && words && redirects && { assignments, words, redirects }
}

function assignmentOf({
  name,
  value,
  append,
  index,
}: Extract<CommandPrefix, { type: 'Assignment' }>): readonly [string, string] | undefined {
  const word = append || index || value.type !== 'Word' ? undefined : wordOf(value)
  return word && [name, word.value]
}

type CommandPrefix = Extract<CommandNode, { type: 'Command' }>['prefix'][number]

function redirectOf(node: Redirection): PlainRedirect | undefined {
  const { descriptor, operator } = node
  if (descriptor && descriptor.type !== 'FileDescriptor') return undefined
  if (node.type === 'HereString') return undefined
  if (node.type === 'HereDoc') {
    const isLiteral = node.delimiter?.quoted && node.closing && !node.body.parts
    return isLiteral
      ? { descriptor: descriptor?.value, operator, target: { value: node.body.text } }
      : undefined
  }
  const target = node.target && wordOf(node.target)
  return target && { descriptor: descriptor?.value, operator, target }
}

/** `glob` is only a flag here: `scan` returns the pattern. */
function wordOf(word: Word): PlainWord | undefined {
  if (word.type !== 'Word') return undefined
  let isGlob = false
  for (const part of word.parts ?? []) {
    if (part.type === 'DoubleQuoted') {
      if (part.parts.some(({ type }) => type !== 'Literal')) return undefined
    } else if (part.type === 'Glob') {
      if (part.parts?.some(({ type }) => type !== 'Literal')) return undefined
      isGlob = true
    } else if (part.type !== 'Literal' && part.type !== 'SingleQuoted') return undefined
  }
  return { value: word.value, ...(isGlob && { glob: '' }) }
}

function all<Item>(items: readonly (Item | undefined)[]): readonly Item[] | undefined {
  return items.every((item) => item !== undefined) ? items : undefined
}

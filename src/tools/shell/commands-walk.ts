import type { Command, CommandArgument, ParsedScript, Redirection, SyntaxNode, Word } from 'unbash'
import { forEachChild } from 'unbash'
import { isBashOnly } from './commands-posix.ts'
import type { Reading } from './commands-reading.ts'
import { opaqueRun } from './commands-reading.ts'
import { readRedirect } from './commands-redirects.ts'
import { readCommand } from './commands-run.ts'
import { isNumeric, steersOthers } from './commands-variables.ts'
import type { ShellWord } from './commands-words.ts'
import { literalWord, readWord } from './commands-words.ts'

/** Notes everything in a script that would run. Not recursive: a long sum is a deep tree. */
export function readScript(script: ParsedScript, source: string, reading: Reading): void {
  const stack: SyntaxNode[] = [script]
  const defined = new Set<string>()
  const certain = new Set<SyntaxNode>(script.commands)
  // What reads something that does not stand among its own words.
  const fed = new Set<SyntaxNode>()
  const unknown = (text: string) => reading.found(() => opaqueRun(text))
  if (script.errors?.length) unknown(source)
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.type === 'Script' && node.errors?.length && node !== script) unknown(node.source ?? source)
    if (reading.shell === 'sh' && isBashOnly(node)) unknown(source)
    if (node.type === 'Pipeline') for (const command of node.commands.slice(1)) fed.add(command)
    if ('redirects' in node && node.redirects.some(feeds)) fed.add(node)
    if (node.type === 'Command') readSimple(node, defined, { ...reading, fed: reading.fed || fed.has(node) })
    else readOther(node, reading, unknown)
    // A name that is surely a function by now: its body was read.
    if (
      node.type === 'Statement' &&
      !node.background &&
      node.command.type === 'Function' &&
      certain.has(node)
    )
      defined.add(node.command.name.value)
    const children: SyntaxNode[] = []
    forEachChild(node, (child) => void children.push(child))
    if (fed.has(node)) for (const child of children) fed.add(child)
    for (const child of children.reverse()) stack.push(child)
  }
}

function feeds(redirection: Redirection): boolean {
  return redirection.operator.startsWith('<')
}

function readSimple(node: Command, defined: Set<string>, reading: Reading): void {
  const assignments = node.prefix.filter((part) => part.type === 'Assignment')
  if (!node.name) {
    for (const { name, text } of assignments) if (steersOthers(name)) reading.found(() => opaqueRun(text))
    return
  }
  const words = [readWord(node.name), ...node.args.map(argument)]
  const name = words[0]?.value ?? ''
  if (defined.has(name) && assignments.length === 0) return
  const assigned = assignments.map((assignment) => {
    const { text, varies } = argument(assignment)
    return { name: assignment.name, text, varies }
  })
  readCommand(words, assigned, reading)
}

function argument(node: CommandArgument): ShellWord {
  if (node.type === 'Word') return readWord(node)
  const { name, append, index, value } = node
  const start = `${name}${append ? '+' : ''}=`
  if (index || value.type === 'ArrayValue')
    return {
      text: node.text,
      value: undefined,
      start: index ? `${name}[` : start,
      splits: false,
      many: false,
      varies: true,
    }
  const given = readWord(value)
  if (given.value === undefined)
    return { ...given, text: start + given.text, start: start + given.start, splits: false, many: false }
  return { ...literalWord(start + given.value), text: start + (given.value && given.text) }
}

function readOther(node: SyntaxNode, reading: Reading, unknown: (text: string) => void): void {
  const { variables } = reading
  const evaluated = (text: string) =>
    reading.found(() => (variables.mayRun(text) ? opaqueRun(`$((${text}))`) : undefined))
  const wrote = (name: string, words: readonly Word[]) => {
    if (steersOthers(name)) unknown(name)
    if (!words.every(isNumeric)) variables.wrote(name)
  }
  /** `{name}>file` puts a number into a variable, and so does `coproc name`. */
  const setsDescriptor = ({ descriptor }: Redirection) => {
    if (descriptor?.type === 'FileDescriptorVariable') wrote(descriptor.name, [])
  }
  switch (node.type) {
    case 'Redirect':
      setsDescriptor(node)
      return readRedirect(node, reading)
    case 'HereString':
    case 'HereDoc':
      return setsDescriptor(node)
    case 'Coproc':
      return wrote(node.name?.value ?? 'COPROC', [])
    case 'Assignment':
      if (node.index && !/^[@*]$/.test(node.index.text)) evaluated(node.index.text)
      if (node.value.type === 'ArrayValue' || node.append || !isNumeric(node.value))
        variables.wrote(node.name)
      return
    case 'For':
    case 'Select':
      if (!node.wordlist) variables.wrote(node.name.value)
      return wrote(node.name.value, node.wordlist ?? [])
    case 'ParameterExpansion':
      if (node.index && !/^[@*]$/.test(node.index.text)) evaluated(node.index.text)
      // `${!x}` evaluates the text of x as a name, subscript and all.
      if (node.prefix === '!' && node.operation?.type !== 'Names' && !node.index) unknown(node.text)
      if (node.operation?.type === 'Default' && node.operation.operator.endsWith('='))
        wrote(node.parameter, [node.operation.operand])
      // `${x@P}` expands its text as a prompt, which substitutes commands.
      if (node.operation?.type === 'Transform' && !/^[QEAaUuLKk]$/.test(node.operation.operand.text))
        unknown(node.text)
      return
    case 'Slice':
      evaluated(node.offset.text)
      if (node.length) evaluated(node.length.text)
      return
    case 'ArithmeticWord':
      return evaluated(node.value)
    case 'ArithmeticCommandExpansion':
    case 'Unknown':
    case 'ExtendedGlob':
      return unknown('text' in node ? node.text : node.operator)
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      if (!node.script) unknown(node.text)
      return
    case 'ArithmeticExpansion':
    case 'ArithmeticCommand': {
      const body = node.type === 'ArithmeticCommand' ? node.body : node.text
      if (!node.expression && /\w/.test(body)) unknown(body)
      return
    }
    case 'TestBinary':
      if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator))
        for (const side of [node.left, node.right]) evaluated(side.text)
      return
    case 'TestUnary':
      if (/^-[vR]$/.test(node.operator) && !/^\w+$/.test(node.operand.text)) unknown(node.operand.text)
      return
    default:
      return
  }
}

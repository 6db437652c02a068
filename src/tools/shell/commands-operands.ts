import { gitOperands } from './commands-operands-git.ts'
import { otherOperands } from './commands-operands-other.ts'
import type { Operand } from './commands-operands-spec.ts'
import { operandsBy } from './commands-operands-spec.ts'
import { operandSpecs } from './commands-operands-table.ts'
import type { Reading } from './commands-reading.ts'
import { readPath } from './commands-redirects.ts'
import type { ShellWord } from './commands-words.ts'
import { filledWord } from './commands-words.ts'

/** More than anybody reads; each is looked up on the disk. */
const mostOperands = 200

/**
 * Notes the files and folders that a well-known command is given to read or write. What it finds by itself, below a folder or in a file
 * of settings, is not seen; nor is what an unknown command does with its words.
 */
export function readOperands(
  name: string,
  args: readonly ShellWord[],
  reading: Reading,
  { changesNothing }: { changesNothing: boolean },
): void {
  const operands = operandsOf(name.toLowerCase(), args, reading).filter(({ word }) => isPath(word))
  for (const kind of ['read', 'write'] as const) {
    if (kind === 'write' && changesNothing) continue
    const words = operands.flatMap(({ deed, word }) => (deed === kind || deed === 'both' ? [word] : []))
    const few = words.length > mostOperands ? [filledWord(`${words.length} paths`, true)] : words
    for (const word of few) readPath(kind, word, reading, { implied: true })
  }
}

function operandsOf(name: string, args: readonly ShellWord[], { root }: Reading): readonly Operand[] {
  if (name === 'git') return gitOperands(args, root)
  const other = otherOperands.get(name)
  if (other) return other(args)
  const spec = operandSpecs.get(name)
  return spec ? operandsBy(spec, args) : []
}

/** Not a standard stream, nor what a substituted process is given for a name. */
function isPath({ value, text }: ShellWord): boolean {
  if (value === undefined) return !/^[<>]\(/.test(text)
  return (
    value !== '' &&
    value !== '-' &&
    !/^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd\/\d+)$/.test(value)
  )
}

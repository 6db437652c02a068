import type { PlainCommand, PlainLine } from './plain-line.ts'
import type { WordToken } from './tokens.ts'
import { tokensOf } from './tokens.ts'

const keywords = new Set(
  '! if then else elif fi do done case esac while until for select function time coproc in { } [[ ]]'.split(
    ' ',
  ),
)

type Growing = { -readonly [Key in keyof PlainCommand]: PlainCommand[Key][number][] }

const emptyCommand = (): Growing => ({ assignments: [], words: [], redirects: [] })

/**
 * Parses a line without expansions: programs with arguments, joined by `&&`, `||`, `;`, `|` and line
 * breaks, redirections, leading assignments, comments, globs in arguments, `~/`, and here-documents with
 * a quoted delimiter. Undefined if it contains anything else. What it accepts means the same in bash,
 * dash and busybox.
 */
export function scan(line: string): PlainLine | undefined {
  const tokens = tokensOf(line)
  if (!tokens) return undefined
  const commands: PlainCommand[] = []
  const operators: string[] = []
  let command = emptyCommand()
  const isEmpty = () => Object.values(command).every((part) => part.length === 0)

  for (const token of tokens) {
    if (token.type === 'redirect') command.redirects.push(token.redirect)
    else if (token.type === 'word') {
      // The keyword `time` is not part of the command.
      if (token.source === 'time' && isEmpty() && operators.at(-1) !== '|' && /[\t ]/.test(token.next))
        continue
      if (!addWord(command, token)) return undefined
    } else if (!isEmpty()) {
      if (command.words.length === 0) return undefined
      commands.push(command)
      operators.push(token.operator === '\n' ? ';' : token.operator)
      command = emptyCommand()
    } else if (token.operator !== '\n') return undefined
  }
  if (isEmpty() && (commands.length === 0 || operators.pop() !== ';')) return undefined
  if (!isEmpty() && command.words.length === 0) return undefined
  return { commands: isEmpty() ? commands : [...commands, command], operators }
}

/** Adds a word. Returns false if a shell could read it as something else. */
function addWord({ assignments, words }: Growing, { word, source, next }: WordToken): boolean {
  // A number before `<` or `>` is a descriptor or a word, depending on its length and the shell.
  if (/^\d+$/.test(source) && /[<>]/.test(next)) return false
  if (words.length === 0 && /^[A-Za-z_]\w*=/.test(source)) {
    if (word.glob !== undefined || /(?<!\\)~/.test(source)) return false
    const split = word.value.indexOf('=')
    assignments.push([word.value.slice(0, split), word.value.slice(split + 1)])
    return true
  }
  if (words.length === 0 && (source !== word.value || !isName(word.value))) return false
  words.push(word)
  return true
}

/** Whether it can only be the name of a program. */
export function isName(value: string): boolean {
  return value === '[' || (/^[\w./][\w.+@:/-]*$/.test(value) && !keywords.has(value))
}

import { resolve } from 'node:path'
import type { ParsedScript } from 'unbash'
import { parse } from 'unbash'
import type { Reading, SeenAccess } from './commands-reading.ts'
import { opaqueRun } from './commands-reading.ts'
import { readCommand } from './commands-run.ts'
import { variables } from './commands-variables.ts'
import { readScript } from './commands-walk.ts'
import { literalWord, readWord, textOf } from './commands-words.ts'

/** Where a command runs, as absolute real paths. */
export interface Place {
  readonly root: string
  readonly cwd: string
  /** The shell that reads the line; bash if absent. */
  readonly shell?: 'bash' | 'sh'
}

const longestLine = 32_768
const mostOpenings = 100
const deepestLine = 8
const mostAccesses = 1_000
const longestCommand = 8_192
const longestShown = 500

/**
 * What a line of shell would touch: every simple command in it, every file or host that a redirection opens, and the
 * files that well-known commands are given. What cannot be told is opaque. Does not look at the file system, and never throws.
 */
export function commandAccess(line: string, place: Place): SeenAccess[] {
  return reading(line, place, (start) => start.line(line, { shell: place.shell ?? 'bash', elsewhere: false }))
}

/** The same for a command that comes as words and runs without a shell. */
export function argvAccess(argv: readonly string[], place: Place): SeenAccess[] {
  const words = argv.map(literalWord)
  const text = textOf(words)
  return reading(text, place, (start) => readCommand(words, [], start))
}

function reading(
  text: string,
  { root, cwd, shell = 'bash' }: Place,
  read: (start: Reading) => void,
): SeenAccess[] {
  const whole = bounded(opaqueRun(text))
  // A NUL ends the text for whoever starts the program.
  if (text.length > longestLine || text.includes('\0')) return [whole]
  const found: (() => SeenAccess | undefined)[] = []
  const known = variables()
  let folder: string | undefined = cwd
  let moves = 0
  let plainGlobs = true
  let depth = 0
  const readLine = (inner: string, options: { shell: 'bash' | 'sh'; elsewhere: boolean }) => {
    if (depth >= deepestLine) return void found.push(() => opaqueRun(inner))
    if (isMaze(inner)) return void found.push(() => opaqueRun(inner))
    const script = parse(inner)
    const entered = depth === 0 && !options.elsewhere ? enteredFolder(script) : undefined
    if (entered !== undefined) {
      folder = resolve(cwd, entered)
      moves--
    }
    depth++
    readScript(script, inner, within(options))
    depth--
  }
  const within = (options: { shell: 'bash' | 'sh'; elsewhere: boolean }): Reading => ({
    ...options,
    root,
    cwd,
    variables: known,
    found(access) {
      if (found.push(access) > mostAccesses) throw new Error('too much for anybody to judge')
    },
    moves: () => void moves++,
    folder: () => (moves > 0 ? undefined : folder),
    widens() {
      plainGlobs = false
    },
    plainGlobs: () => plainGlobs,
    line: (inner, { shell: reader = options.shell, elsewhere }) =>
      readLine(inner, { shell: reader, elsewhere }),
  })
  try {
    read(within({ shell, elsewhere: false }))
    return distinct(found.flatMap((access) => access() ?? []).map(bounded))
  } catch {
    // The parser's own stack has an end, too.
    return [whole]
  }
}

/** The parser reads nested text again for every level, and a word again for every brace in it. */
function isMaze(line: string): boolean {
  const openings = line.match(/[$<>(]\(|<<|`|\$[{[]/g)?.length ?? 0
  return openings > mostOpenings || line.split(/\s/).some((word) => word.split('{').length > mostOpenings)
}

/** Of `cd folder && …` and nothing else: that folder. After `;` or `||` it could have failed. */
function enteredFolder({ commands: [only, ...more] }: ParsedScript): string | undefined {
  if (more.length > 0 || only?.command.type !== 'AndOr') return undefined
  const { commands, operators } = only.command
  const [first] = commands
  if (first?.type !== 'Command' || !operators.every((operator) => operator === '&&')) return undefined
  const { name, args, prefix, redirects } = first
  const [folder] = args
  if (name?.text !== 'cd' || args.length !== 1 || prefix.length > 0 || redirects.length > 0) return undefined
  if (folder?.type !== 'Word') return undefined
  const { value } = readWord(folder)
  return value && !value.startsWith('-') ? value : undefined
}

/** What nobody can read through is not shown whole, and so no rule may let it pass. */
function bounded(access: SeenAccess): SeenAccess {
  if (access.kind !== 'run' || access.command.length <= (access.opaque ? longestShown : longestCommand))
    return access
  const short = (text: string) => (text.length > longestShown ? `${text.slice(0, longestShown)}…` : text)
  return {
    kind: 'run',
    command: short(access.command),
    ...(access.also && { also: access.also.map(short) }),
    opaque: true,
  }
}

function distinct(accesses: readonly SeenAccess[]): SeenAccess[] {
  return [...new Map(accesses.map((access) => [JSON.stringify(access), access])).values()]
}

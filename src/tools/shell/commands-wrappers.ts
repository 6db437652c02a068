import type { OptionSpec } from './commands-options.ts'
import { afterOptions } from './commands-options.ts'
import type { ShellWord } from './commands-words.ts'
import { filledWord, valuesOf } from './commands-words.ts'

/** What a command hands on to. */
export interface HandedOn {
  /** `hidden`: it adds nothing of its own. `opaque`: what it runs is not to be seen here. */
  readonly itself: 'hidden' | 'shown' | 'opaque'
  readonly commands?: readonly InnerCommand[]
  /** Text that a shell reads. */
  readonly lines?: readonly InnerLine[]
}

interface InnerCommand {
  /** `NAME=value` words that `env` and `sudo` take before the command. */
  readonly assignments?: readonly ShellWord[]
  readonly words: readonly ShellWord[]
}

interface InnerLine {
  readonly text: string
  /** Which shell reads it; the one that runs the command if absent. */
  readonly shell?: 'bash' | 'sh'
  /** In another folder, or on another machine: its paths are not those of here. */
  readonly elsewhere: boolean
}

type Wrapper = (words: readonly ShellWord[]) => HandedOn

const opaque: HandedOn = { itself: 'opaque' }

function wrapper(spec: OptionSpec, itself: 'hidden' | 'shown', alone: 'shown' | 'opaque' = 'shown'): Wrapper {
  return (words) => {
    const next = afterOptions(words, spec)
    if (next === undefined) return opaque
    if (next >= words.length) return { itself: alone }
    return { itself, commands: [{ words: words.slice(next) }] }
  }
}

function withAssignments(spec: OptionSpec): Wrapper {
  return (words) => {
    const next = afterOptions(words, spec)
    if (next === undefined) return opaque
    let command = words[next]?.value === '-' ? next + 1 : next
    const first = command
    while (words[command]?.value?.includes('=') || /^\w+=/.test(words[command]?.start ?? '')) command++
    const assignments = words.slice(first, command)
    if (assignments.some(({ many }) => many)) return opaque
    if (command >= words.length) return { itself: 'shown' }
    return { itself: 'shown', commands: [{ assignments, words: words.slice(command) }] }
  }
}

/** Joins its words with spaces and gives the line to a shell of its own. */
function joining(spec: OptionSpec): Wrapper {
  return (words) => {
    const next = afterOptions(words, spec)
    const values = next === undefined ? undefined : valuesOf(words.slice(next))
    // Without a line it is a shell that reads what it is sent; ssh takes options behind the host, too.
    if (!values?.[0] || values[0].startsWith('-')) return opaque
    return { itself: 'shown', lines: [{ text: values.join(' '), shell: 'sh', elsewhere: true }] }
  }
}

const evaluate: Wrapper = (words) => {
  const values = valuesOf(words.slice(1))
  if (!values || values[0]?.startsWith('-')) return opaque
  return { itself: 'hidden', lines: [{ text: values.join(' '), elsewhere: false }] }
}

/** Takes a line behind `-c`, anywhere among its words. */
const lineOption: Wrapper = (words) => {
  const values = valuesOf(words)
  if (!values) return opaque
  const [at = 0, ...more] = values.flatMap((value, index) =>
    /^(?:-[a-zA-Z]*c|--command)$/.test(value) ? [index] : [],
  )
  const text = at ? values[at + 1] : undefined
  // Without one it starts a shell that reads what it is sent.
  if (text === undefined || more.length > 0 || values.some((value) => /^--[a-z-]+=/.test(value)))
    return opaque
  return { itself: 'shown', lines: [{ text, shell: 'sh', elsewhere: true }] }
}

const xargs: Wrapper = (words) => {
  const next = afterOptions(words, {
    flags: '0rtpxo',
    values: 'adEILnPs',
    longFlags: ['null', 'no-run-if-empty', 'verbose', 'interactive', 'exit', 'open-tty'],
    longValues: ['arg-file', 'delimiter', 'max-args', 'max-procs', 'max-chars'],
  })
  if (next === undefined) return opaque
  if (next >= words.length) return { itself: 'shown' }
  const marks = replacedBy(words.slice(1, next))
  const inner = words.slice(next)
  if (marks.length === 0) return { itself: 'shown', commands: [{ words: [...inner, filledWord('…', true)] }] }
  return { itself: 'shown', commands: [{ words: inner.map((word) => filledIn(word, marks, false)) }] }
}

function replacedBy(options: readonly ShellWord[]): readonly string[] {
  return options.flatMap(({ value }, index) => {
    if (!value?.startsWith('-') || !value.includes('I')) return []
    // In a cluster (`-rI{}`) or apart; either reading of an unclear one is taken as a mark.
    const rest = value.slice(value.indexOf('I') + 1)
    return rest ? [rest] : [options[index + 1]?.value ?? '']
  })
}

function filledIn(word: ShellWord, marks: readonly string[], splits: boolean): ShellWord {
  const { value, text } = word
  if (value === undefined) return word
  return marks.some((mark) => value.includes(mark)) ? filledWord(text, splits && value === '{}') : word
}

const find: Wrapper = (words) => {
  const commands: InnerCommand[] = []
  for (let at = 1; at < words.length; at++) {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(words[at]?.value ?? '')) continue
    const end = words.findIndex(
      ({ value }, index) =>
        index > at && (value === ';' || (value === '+' && words[index - 1]?.value === '{}')),
    )
    if (end < 0) return opaque
    const plus = words[end]?.value === '+'
    commands.push({ words: words.slice(at + 1, end).map((word) => filledIn(word, ['{}'], plus)) })
  }
  return { itself: 'shown', commands }
}

const fd: Wrapper = (words) => {
  const at = words.findIndex(({ value }) => /^(?:-[a-zA-Z]*[xX]|--exec(?:-batch)?)$/.test(value ?? ''))
  if (words.some(({ value }) => /^(?:-[a-zA-Z]*[xX].+|--exec(?:-batch)?=.*)$/.test(value ?? '')))
    return opaque
  if (at < 0) return { itself: 'shown' }
  const inner = words.slice(at + 1)
  if (inner.some(({ value }) => value === ';')) return opaque
  const filled = inner.map((word) => filledIn(word, ['{'], false))
  const none = filled.every((word, index) => word === inner[index])
  return { itself: 'shown', commands: [{ words: none ? [...inner, filledWord('…', true)] : filled }] }
}

const sudoValues = {
  longFlags: ['non-interactive', 'preserve-env', 'set-home', 'background', 'stdin'],
  longValues: ['user', 'group', 'host', 'prompt', 'chdir', 'chroot'],
}

/** By the name of the program. What is not here runs nothing but itself, as far as is known. */
export const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  [
    'timeout',
    wrapper(
      {
        flags: 'vfp',
        values: 'ks',
        longFlags: ['verbose', 'foreground', 'preserve-status'],
        longValues: ['kill-after', 'signal'],
        operands: 1,
      },
      'hidden',
    ),
  ],
  ['time', wrapper({ flags: 'pv', values: 'f', longFlags: ['portability', 'verbose'] }, 'hidden')],
  ['nice', wrapper({ flags: '0123456789', values: 'n', longValues: ['adjustment'] }, 'hidden')],
  ['nohup', wrapper({}, 'hidden')],
  ['stdbuf', wrapper({ values: 'ioe', longValues: ['input', 'output', 'error'] }, 'hidden')],
  ['ionice', wrapper({ flags: 't', values: 'cn', longValues: ['class', 'classdata'] }, 'hidden')],
  ['chrt', wrapper({ flags: 'bfiorv', operands: 1 }, 'hidden')],
  ['builtin', wrapper({}, 'hidden')],
  [
    'command',
    (words) =>
      /^-p*[vV]/.test(words[1]?.value ?? '') ? { itself: 'shown' } : wrapper({ flags: 'p' }, 'hidden')(words),
  ],
  ['exec', wrapper({ flags: 'cl', values: 'a' }, 'shown')],
  ['setsid', wrapper({ flags: 'cfw', longFlags: ['ctty', 'fork', 'wait'] }, 'shown')],
  [
    'env',
    withAssignments({
      flags: 'i0v',
      values: 'uC',
      longFlags: ['ignore-environment', 'null', 'debug'],
      longValues: ['unset', 'chdir'],
    }),
  ],
  ['sudo', withAssignments({ flags: 'AbEHkKnPS', values: 'CDghpRTtrUu', ...sudoValues })],
  ['doas', withAssignments({ flags: 'n', values: 'Cua' })],
  ['xargs', xargs],
  ['find', find],
  ['fd', fd],
  ['fdfind', fd],
  ['busybox', wrapper({}, 'shown')],
  ['toybox', wrapper({}, 'shown')],
  ['unshare', wrapper({ flags: 'imnpuUCTfrc', values: 'RwSG' }, 'shown', 'opaque')],
  [
    'chroot',
    wrapper(
      { longFlags: ['skip-chdir'], longValues: ['userspec', 'groups'], operands: 1 },
      'shown',
      'opaque',
    ),
  ],
  ['su', lineOption],
  ['runuser', lineOption],
  ['script', lineOption],
  ['eval', evaluate],
  ['watch', joining({ flags: 'bcdegpt', values: 'nq', longValues: ['interval'] })],
  ['ssh', joining({ flags: '46AaCfGgKkNnqTtVvXxYy', values: 'bcilmp', operands: 1 })],
  ...[
    'parallel',
    'nsenter',
    'bwrap',
    'firejail',
    'flock',
    'strace',
    'ltrace',
    'gdb',
    'expect',
    'at',
    'batch',
  ].map((name) => [name, () => opaque] as const),
])

import { afterOptions } from './commands-options.ts'
import type { ShellWord } from './commands-words.ts'
import type { HandedOn } from './commands-wrappers.ts'

const shells: ReadonlyMap<string, 'bash' | 'sh' | 'other'> = new Map([
  ['bash', 'bash'],
  ['rbash', 'bash'],
  ['sh', 'sh'],
  ['dash', 'sh'],
  ['ash', 'sh'],
  ...[
    'zsh',
    'ksh',
    'ksh93',
    'mksh',
    'oksh',
    'yash',
    'fish',
    'csh',
    'tcsh',
    'nu',
    'pwsh',
    'elvish',
    'xonsh',
  ].map((name) => [name, 'other'] as const),
])

/** What a shell that is started as a command would run; undefined if it is no shell. */
export function shellStarted(name: string, words: readonly ShellWord[]): HandedOn | undefined {
  const kind = shells.get(name)
  if (!kind) return undefined
  if (words.length === 2 && /^--(?:version|help)$/.test(words[1]?.value ?? '')) return { itself: 'shown' }
  const next = afterOptions(words, {
    flags: 'celuxv',
    values: 'o',
    longFlags: ['login', 'norc', 'noprofile'],
  })
  // Without words it reads its standard input; with options such as -i files that are not named here.
  const first = next === undefined ? undefined : words[next]
  if (next === undefined || first?.value === undefined || /^(?:-$|\+)/.test(first.value))
    return { itself: 'opaque' }
  const readsLine = words.slice(1, next).some(({ value }) => /^-\w*c/.test(value ?? ''))
  if (!readsLine) return { itself: kind === 'other' ? 'opaque' : 'shown' }
  const line = { text: first.value, shell: kind === 'bash' ? 'bash' : 'sh', elsewhere: false } as const
  // zsh runs code in glob qualifiers, csh and fish have a grammar of their own: such a line is read for deny rules only.
  return { itself: kind === 'other' ? 'opaque' : 'hidden', lines: [line] }
}

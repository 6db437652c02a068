import { steersOthers } from './commands-variables.ts'
import type { ShellWord } from './commands-words.ts'
import { showsOptions, valuesOf } from './commands-words.ts'
import type { HandedOn } from './commands-wrappers.ts'

const opaque: HandedOn = { itself: 'opaque' }
const harmless: HandedOn & { readonly readOnly: true } = { itself: 'shown', readOnly: true }

/** Of a builtin that changes the shell itself: what it does to the commands behind it. */
export interface Builtin extends HandedOn {
  readonly readOnly?: boolean
  /** The variables it sets to text. */
  readonly sets?: readonly string[]
  /** What it evaluates, or takes so many words of that any could be evaluated. */
  readonly arithmetic?: readonly string[]
}

/** Undefined if it is not one of them. */
export function builtin(name: string, words: readonly ShellWord[]): Builtin | undefined {
  const args = words.slice(1)
  switch (name) {
    case ':':
    case 'break':
    case 'continue':
    case 'exit':
    case 'return':
    case 'shift':
    case 'times':
    case 'popd':
    case 'pushd':
      return harmless
    case 'declare':
    case 'typeset':
    case 'local':
    case 'readonly':
    case 'export':
    case 'read':
    case 'mapfile':
    case 'readarray':
    case 'getopts':
    case 'let':
      return setter(name, args)
    case 'unset':
      // Of a variable alone: without -v it may bring back the command that a function stood for.
      return args[0]?.value === '-v' ? setter(name, args) : opaque
    case 'printf':
      return args[0]?.value?.startsWith('-v')
        ? setter(name, args)
        : args.slice(0, 1).every(showsOptions)
          ? harmless
          : opaque
    case 'test':
    case '[':
      return tested(args)
    case 'wait':
      return args.every(({ value, text }) => /^-[nf]$|^%?\d+$|^"?\$/.test(value ?? text))
        ? { ...harmless, arithmetic: args.map(({ value, text }) => (value === undefined ? text : '')) }
        : opaque
    case 'set':
      return options(args)
    case 'shopt':
      return known(
        args,
        /^(?:-[squ]+|nullglob|failglob|dotglob|globstar|nocaseglob|lastpipe|inherit_errexit)$/,
      )
    case 'trap':
      return trap(args)
    case 'alias':
      return known(args, /^(?:-p|[\w.-]+)$/)
    case 'hash':
      return known(args, /^-[rlt]$/)
    // Loads code, calls functions by name, or runs what its words say.
    case 'enable':
    case 'bind':
    case 'complete':
    case 'compgen':
    case 'compopt':
    case 'fc':
      return opaque
    case 'jobs':
      return known(args, /^-[lnprs]+$|^%\w+$/)
    default:
      return undefined
  }
}

function known(args: readonly ShellWord[], pattern: RegExp): Builtin {
  return args.every(({ value }) => value !== undefined && pattern.test(value)) ? harmless : opaque
}

/** A subscript in a name is evaluated, so that `unset 'a[$(rm x)]'` runs rm. */
function setter(name: string, args: readonly ShellWord[]): Builtin {
  const targets = args.map(({ value, start }) => value ?? (/^\w+=/.test(start) ? start : undefined))
  const options = targets.filter((target) => target?.startsWith('-'))
  // -n: another name for a variable; -i: arithmetic from now on; -C: a command for every so many lines.
  if (options.some((option) => /^-\w*[niC]/.test(option ?? '') && !/^(?:read|export|readonly)$/.test(name)))
    return opaque
  // A name in the same word: -vPATH of printf, -aPATH of read.
  if (options.some((option) => /^-\w*[va]./.test(option ?? '') && /^(?:read|printf)$/.test(name)))
    return opaque
  for (const target of targets) {
    if (target === undefined) return opaque
    const variable = /^[^=+[]*/.exec(target)?.[0] ?? ''
    const assigned = target.slice(variable.length)
    if (assigned.startsWith('[') || (name === 'let' && /[$`[\\]/.test(target))) return opaque
    if (/^[A-Za-z_]\w*$/.test(variable) && steersOthers(variable)) return opaque
  }
  const sets = targets.flatMap((target) => /^[A-Za-z_]\w*/.exec(target ?? '')?.[0] ?? [])
  if (name === 'let') return { ...harmless, arithmetic: targets.map((target) => target ?? '') }
  return { ...harmless, sets }
}

/** `-v` evaluates a subscript, too; a word that is not known may turn out to be that. */
function tested(args: readonly ShellWord[]): Builtin {
  const subscripted = args.some(({ value }, index) => {
    const before = args[index - 1]
    const mayFollow = before && (before.value === undefined || /^-[vR]$/.test(before.value))
    return mayFollow && (value === undefined || value.includes('['))
  })
  // A file may have any name, but seldom one that `*.txt` finds.
  const anyName = args.some(({ text, many, splits }) => many && !splits && /^(?:-|[*?]+$)/.test(text))
  if (subscripted || anyName) return opaque
  return { ...harmless, arithmetic: args.filter(({ splits }) => splits).map(({ text }) => text) }
}

/** -a exports every variable from then on, -k takes assignments anywhere, -H brings history expansion. */
function options(args: readonly ShellWord[]): Builtin {
  const values = valuesOf(args)
  if (!values) return args[0]?.value === '--' ? harmless : opaque
  const end = values.indexOf('--')
  const given = end < 0 ? values : values.slice(0, end)
  return given.every((value) =>
    /^(?:[-+][euxvfCET]*o?|pipefail|errexit|nounset|noglob|noclobber|xtrace)$/.test(value),
  )
    ? harmless
    : opaque
}

function trap(args: readonly ShellWord[]): Builtin {
  const [first] = args
  if (!first) return harmless
  const { value } = first
  if (value === undefined || value === '--') return opaque
  if (/^-[lp]*$/.test(value) || value === '' || /^\d+$/.test(value) || args.length === 1) return harmless
  return { itself: 'hidden', lines: [{ text: value, elsewhere: true }] }
}

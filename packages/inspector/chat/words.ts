import { oneLine } from '../json/visible.ts'
import { codeSpan } from './code-spans.ts'

/** `look_up_order` and `lookUpOrder` become `Look up order`. */
export function humanize(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])(?=[a-z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`)
    .replace(/[_\-.\s]+/g, ' ')
    .trim()
  return words ? (words[0] ?? '').toUpperCase() + words.slice(1) : name
}

/** `Look up order ×3` and `Track parcel`, for the tools of several calls. */
export function countedNames(names: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, count]) => (count === 1 ? humanize(name) : `${humanize(name)} ×${count}`))
}

const maxShort = 48

/** Whether a value fits in a line: a number, or short text without a line break. */
function isShort(value: unknown): value is string | number {
  if (typeof value === 'number') return true
  return typeof value === 'string' && value.trim() !== '' && value.length <= maxShort && !/[\r\n]/.test(value)
}

/** `Look up order ORD-45`: the tool and its first short argument, or the beginning of its first text. */
export function callTitle(name: string, input: unknown): string {
  const values: unknown[] = input instanceof Object && !Array.isArray(input) ? Object.values(input) : []
  const main = values.find(isShort) ?? values.find((value) => typeof value === 'string' && value.trim())
  if (main === undefined) return humanize(name)
  return `${humanize(name)} ${isShort(main) ? main : oneLine(`${main}`.trim(), maxShort)}`
}

const codeKeys = /^(?:code|command|cmd|script|sql|query_sql|patch|diff|source)$/i

/** Whether an argument is shown as code, with its line breaks, and not as JSON. */
export function isCode(key: string, value: unknown): value is string {
  return typeof value === 'string' && value !== '' && (codeKeys.test(key) || value.includes('\n'))
}

const actions: Readonly<Record<string, string>> = {
  run: 'running',
  read: 'reading',
  write: 'writing',
  fetch: 'fetching from',
}

/** A rule in words: `run(git *)` becomes ``running `git *` ``. */
function ruleText(rule: string): string {
  const [, kind = '', pattern = ''] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? []
  // The part after `#` identifies the definition of the tool.
  if (!kind) return `calling ${codeSpan(rule.replace(/#.*/s, ''))}`
  return `${actions[kind] ?? `calling ${codeSpan(kind)} with`} ${codeSpan(pattern)}`
}

/** What is allowed without asking from now on. */
export function rulesText(rules: readonly string[], how: 'thread' | 'always'): string {
  const what = new Intl.ListFormat('en-US').format(rules.map(ruleText))
  return how === 'always' ? `Always allow ${what}.` : `Allow ${what} in this thread without asking again.`
}

import { basename, dirname, relative } from 'node:path'
import type { Access } from 'millrace'
import { matcherOf } from './matcher.ts'
import { kindNamed, readRule } from './rule.ts'
import type { Subject } from './subject.ts'

/** The rule that allows exactly this access and nothing else; undefined if no rule can. */
export function exactRule(tool: string, subject: Subject): string | undefined {
  const { access, unclear, fingerprint } = subject
  // A tool named `read` has no such rule: the rule `read` allows every read.
  if (!access && kindNamed(tool)) return undefined
  if (!access) return fingerprint ? `${tool}#${fingerprint}` : tool
  const [line] = subject.exact
  if (access.kind === 'run' ? line === undefined : unclear) return undefined
  const { rule } = readRule(
    `${access.kind}(${patternFor(access.kind === 'run' ? { kind: 'run', command: line ?? '' } : access)})`,
  )
  return rule && matcherOf(rule, { strict: false }).matches(tool, subject) ? rule.text : undefined
}

function patternFor(access: Access): string {
  switch (access.kind) {
    case 'run':
      return escaped(access.command, /[\\*()]|^\s|\s$/g)
    case 'fetch':
      return access.host
    default:
      // A trailing `/` would match everything below. So `/` itself has no exact rule.
      return escaped(access.path, /[\\*?[\]{}()]|^[!~\s]|\s$/g).replace(/\/+$/, '')
  }
}

/**
 * Rules that match a file whatever workspace its path is relative to: by absolute path, by path from
 * the current directory, and by name and parent folder.
 */
export function rulesForFile(file: string): string[] {
  const fromHere = relative(process.cwd(), file)
  const last = `${basename(dirname(file))}/${basename(file)}`
  const pattern = (path: string) => patternFor({ kind: 'write', path })
  return [
    pattern(file),
    `**/${pattern(last)}`,
    ...(fromHere.startsWith('..') ? [] : [pattern(fromHere)]),
  ].map((one) => `write(${one})`)
}

function escaped(text: string, special: RegExp): string {
  return text.replace(special, '\\$&')
}

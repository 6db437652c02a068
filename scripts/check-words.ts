import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Keeps the language of the project plain: one word for one thing, American spelling, prose within 100 columns. The words below
// are the ones that crept in before; docs/architecture.md has the glossary.
const root = fileURLToPath(new URL('..', import.meta.url))

/** Each pattern with what to write instead. */
const words: readonly (readonly [RegExp, string])[] = [
  [/\bwho(?:m?ever)\b/i, 'name the subject: the caller, the client, the user'],
  [/\b(?:some|any|every|no)body\b/i, 'name the subject, or write anyone, everyone, no one'],
  [/\b(?:told|untold|tellable)\b/i, 'notified, called with, reported, emitted'],
  [/\b(?:gone|goes|going|went) on\b|\bto go on\b/, 'continue'],
  [/(?<!there )\b(?:is|are|was|were) none\b/i, 'say what does not exist'],
  [/\bbeside\b(?!s)/i, 'next to, in addition to, compared with'],
  [/\b(?:onlooker|bystander|hushe?[ds]?|unheard(?!-of)|anew|thereof)\b/i, 'a word of today'],
  [/\b(?:decline[ds]?|declining)\b/i, 'deny'],
  [/\b\w*(?:colour|behaviour|honour|favour|neighbour|flavour|labour)\w*\b/i, 'American spelling: -or'],
  [/\b\w+(?:ognis|thesis|alis|imis|oris|ganis|aris)(?:e[ds]?|ing|ation)\b/i, 'American spelling: -ize'],
  [/\b(?:cancell|modell|labell|travell|signall|dialll?)(?:ed|ing)\b/i, 'American spelling: one l'],
  [
    /\b(?:programme|judgement|licence|grey|catalogue|artefact|whilst|analys(?:e[ds]?|ing))\b/i,
    'American spelling',
  ],
  [/\btime-outs?\b/, 'timeout'],
]

/** Foreign words: what other protocols and packages call things. */
const foreign = /notifications\/cancelled|'cancelled'|'decline'|promise(?:[ds])?\b/

const skipped =
  /^(?:scripts\/check-words\.ts|packages\/millrace\/src\/protocol\/upgrade\.ts|package-lock\.json|test\/logs\/|packages\/voice\/src\/sentences\/|packages\/[^/]+\/api\/|bench\/(?:results\.json|package-lock\.json))/
const maxColumns = 100

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /\.(?:tsx?|mjs|css|html|md)$/.test(path) && !skipped.test(path))
  .filter((path) => existsSync(join(root, path)))

let problems = 0
for (const path of files) {
  let isCode = false
  for (const [index, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    // Names in code are checked where they are declared; docs also list old ones.
    const text = (path.endsWith('.md') ? line.replace(/`[^`]*`/g, '') : line).replace(foreign, '')
    for (const [pattern, instead] of words) {
      const [word] = pattern.exec(text) ?? []
      if (word !== undefined) report(path, index, `'${word}': ${instead}`)
    }
    if (!path.endsWith('.md')) continue
    // The front matter of a page is YAML.
    if (/^\s*(?:```|~~~)|^---$/.test(line)) isCode = !isCode
    // A table row and a long link cannot be wrapped.
    const isProse = !isCode && !/^\s*\|/.test(line) && !/https?:\S{50}|\]\(\S{40}|^(?: {2})?\w+: /.test(line)
    if (isProse && line.length > maxColumns) report(path, index, `wrap prose at ${maxColumns} columns`)
  }
}
if (problems > 0) process.exitCode = 1

function report(path: string, index: number, problem: string): void {
  problems++
  console.error(`${path}:${index + 1}: ${problem}`)
}

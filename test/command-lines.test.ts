import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readArgs } from '../packages/millrace/src/cli/args.ts'
import { serveSettings } from '../packages/millrace/src/cli/serve-settings.ts'
import { parseMarkdown } from './markdown.ts'
import { root } from './root.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The words of a shell command, as far as the docs use the shell. */
const wordsOf = (text: string) =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|([^\s"']+)/g)].map(([, ...found]) => found.join(''))

/** The arguments of each `millrace` command in the blocks for a shell. */
function commandsIn(source: string) {
  return parseMarkdown(source)
    .blocks.filter(({ info }) => info === 'sh')
    .flatMap(({ code }) => code.replaceAll('\\\n', '').split('\n'))
    .flatMap((line) => {
      const [, args] =
        /(?:^|[|] |[A-Z] |npx )millrace(?:@\w+)?((?: .*)?)$/.exec(line.replace(/ {2,}#.*/, '')) ?? []
      return args === undefined ? [] : [args.replace(/ > .*/, '').trim()]
    })
}

const docs = globSync(['README.md', 'docs/**/*.md', 'examples/*/README.md', 'packages/*/README.md'], {
  cwd: root,
  exclude: ['docs/reference/api/**', 'docs/.vitepress/**'],
})
const commands = docs.flatMap((doc) => commandsIn(read(doc)).map((args) => ({ doc, args })))

test.each(commands)('$doc: millrace $args', ({ args }) => {
  const { command, flags } = readArgs(wordsOf(args))
  if (command === 'serve') serveSettings(flags, { MILLRACE_STORE: 'postgres://db/app' })
})

test('the services of examples/scaling/compose.yaml start with valid settings', () => {
  const compose = read('examples/scaling/compose.yaml')
  const withDefaults = (text = '') => text.replace(/\$\{\w+:-(.*?)\}/g, '$1')
  const env = Object.fromEntries(
    [...compose.matchAll(/^ +(MILLRACE_\w+): (.*)$/gm)].map(([, name, value]) => [name, withDefaults(value)]),
  )
  const settings = [...compose.matchAll(/^ +command: \[(serve, .*)\]$/gm)].map(([, words = '']) =>
    serveSettings(readArgs(words.split(', ')).flags, env),
  )
  const shared = { queue: { redis: 'redis://redis' }, token: 'change-me', port: 8787 }
  expect(settings).toMatchObject([
    { ...shared, role: 'web', host: '0.0.0.0', address: { kind: 'postgres' } },
    { ...shared, role: 'worker', address: { kind: 'postgres' } },
  ])
})
